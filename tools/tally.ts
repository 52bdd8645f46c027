/** The counts so far. */
export const total = { passed: 0, failed: 0, skipped: 0 };

/** Counts one check or suite, and prints its result. */
export function count(failed: number, passed: number, line: string): void {
  total.failed += failed;
  total.passed += passed;
  console.log(`${failed > 0 ? 'FAILED' : 'ok    '}  ${line}`);
}

/** Counts a check that this machine cannot run, with its name and the reason. */
export function note(skipped: string): void {
  total.skipped += 1;
  console.log(`        skipped: ${skipped}`);
}

/** The last lines of a run; a failure also fails the process. */
export function close(): void {
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped, see above` : '';
  console.log(
    `\ntook ${(performance.now() / 1000).toFixed(1)} s${skipped}\n${total.passed} passed, ${total.failed} failed`,
  );
  if (total.failed > 0) process.exitCode = 1;
}

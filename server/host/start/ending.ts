import { withoutSecrets } from '../../foundation/redaction.ts';

export class Ending {
  readonly #steps: (() => unknown)[] = [];
  #run: Promise<void> | undefined;

  /** Adds a function that ends a part. Call it when the part has begun or is about to begin. */
  add(end: () => unknown): void {
    this.#steps.push(end);
  }

  /**
   * Ends all parts, one after the other, in reverse order, because a part may need the parts that began before it. If one fails,
   * the others still end, and then the first error is thrown. Repeated calls share one run.
   */
  run(): Promise<void> {
    this.#run ??= this.#runOnce();
    return this.#run;
  }

  async #runOnce(): Promise<void> {
    const failures: unknown[] = [];
    for (let end = this.#steps.pop(); end !== undefined; end = this.#steps.pop()) {
      try {
        await end();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

/**
 * Stops on the first signal, and ignores further ones. They are normal, because Ctrl-C in a terminal reaches both npm
 * and the service.
 */
export function stopOnSignal(end: (signal: NodeJS.Signals) => Promise<void>): { readonly isStopping: boolean } {
  const state = { isStopping: false };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (state.isStopping) return;
    state.isStopping = true;
    process.stdout.write('\nStopping. Waiting for requests in progress …\n');
    end(signal).then(
      () => {
        process.stdout.write('Stopped.\n');
        process.exit(0);
      },
      (error: unknown) => {
        process.stderr.write(`The service did not stop cleanly: ${withoutSecrets(String(error))}\n`);
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  return state;
}

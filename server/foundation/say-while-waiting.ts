const SAY_EVERY_MILLISECONDS = 5_000;

/**
 * Runs work that the startup or a command waits for, without a time limit. During the wait, calls `say` at intervals with the
 * number of seconds so far, so that it can tell the operator the reason.
 */
export async function sayWhileWaiting<Result>(
  say: (seconds: number) => void,
  work: () => Promise<Result>,
  everyMilliseconds: number = SAY_EVERY_MILLISECONDS,
): Promise<Result> {
  const begun = performance.now();
  const timer = setInterval(() => say(Math.round((performance.now() - begun) / 1000)), everyMilliseconds);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

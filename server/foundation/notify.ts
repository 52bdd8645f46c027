// Invariant: What listens to commits never fails a group that is committed
// Kept by: this file, and no listener inside the `try` of a group
// Tested by: `server/commit/group-commit.test.ts`, `test/simulation`

/**
 * Calls a listener: an observer, a trace, a counter. What it throws becomes a warning of the process and changes nothing
 * else. What is committed must not be taken for what failed, and be committed again, because a listener has a bug.
 */
export function notify(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error));
  }
}

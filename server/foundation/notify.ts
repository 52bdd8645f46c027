// Invariant: A listener never makes a committed group fail
// Kept by: this file, and no listener inside the `try` of a group
// Tested by: `server/commit/group-commit.test.ts`, `test/simulation`

/**
 * Calls a listener: an observer, a trace, a counter. What it throws becomes a warning of the process and changes
 * nothing else: a bug in a listener must not make committed work look failed, so that it is committed again.
 */
export function notify(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error));
  }
}

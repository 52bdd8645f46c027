// Invariant: A listener never makes a committed group fail
// Kept by: this file, and no listener inside the `try` of a group
// Tested by: `server/commit/group-commit.test.ts`, `verification/environments/memory`

/**
 * Calls a listener, such as an observer, a trace or a counter. If the listener throws, the error becomes a warning of
 * the process and has no other effect. A bug in a listener must not make committed work look failed, because it would
 * then be committed again.
 */
export function notify(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error));
  }
}

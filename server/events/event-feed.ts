/** Called with the programs that have new events: inner UUIDs, the nil UUID for the service itself. */
export type OnPositions = (programIds: readonly string[]) => void;

/**
 * Tells those who wait for events in this process what its relay has numbered. That is a hint, for speed: what the relay of
 * another process numbers is not announced here, so whoever waits also polls.
 */
export class EventFeed {
  readonly #listeners = new Set<OnPositions>();

  /** Calls a listener from now on; returns how to stop that. */
  listen(onPositions: OnPositions): () => void {
    this.#listeners.add(onPositions);
    return () => this.#listeners.delete(onPositions);
  }

  announce(programIds: readonly string[]): void {
    for (const onPositions of this.#listeners) onPositions(programIds);
  }
}

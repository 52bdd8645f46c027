import { Turns } from '../operations/turns.ts';

/**
 * How many waits and streams may read at the same time. An event of a busy program wakes many of them at once, and they must
 * leave database connections to requests.
 */
const liveReaders = new Turns(3);

/** Reads for a wait or a stream when it is the card program's turn; operators are one program. */
export function inLiveTurn<Value>(programId: string, read: () => Promise<Value>): Promise<Value> {
  return liveReaders.take(programId, read);
}

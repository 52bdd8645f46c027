import { type TurnCall, Turns } from '../../calls/turns.ts';

/**
 * How many waits and streams may read at the same time. An event of a busy program wakes many of them at once, and they must
 * leave database connections to requests. More cannot wait than there may be waits and streams, of one card program and of all.
 */
const liveReaders = new Turns({ atOnce: 3, waitingOfOne: 128, waitingOfAll: 8192 });

/** Reads for a wait or a stream when it is the card program's turn; operators are one program. */
export function inLiveTurn<Value>(call: TurnCall, read: () => Promise<Value>): Promise<Value> {
  return liveReaders.take(call, read);
}

import type { DomainEvent } from '../../../domain/event.ts';
import { toBreakRecord } from '../../calls/records/processor.ts';
import { transact } from '../../commit/transaction.ts';
import type { Database, Row } from '../../store/connection/database.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import {
  lockNewBreaks,
  markBreaksAnnounced,
  READ_WHETHER_BREAKS_ARE_NEW,
  toBreak,
} from '../../store/processors/break.ts';
import { type RunningJob, startRounds } from '../jobs/rounds.ts';
import type { Connector } from './http-connector.ts';
import type { ReportParts } from './report.ts';

const INTERVAL_MILLISECONDS = 1_000;

/** Maximum number of events in a transaction. After so many, the job pauses for as long as they took. */
const PORTION = 500;

const DEADLINE_MILLISECONDS = 5_000;

// Invariant: A break that opens or reopens has one event break.opened, unless it is closed before its event is written
// Kept by: `announced_at`, which is set in the transaction of the event, under the lock of the break. Closing a break clears it
// Tested by: `test/api/processors/settlement.test.ts`

/** Writes an event break.opened for each new break while the service runs. Several processes may do this at once. */
export function startAnnouncingBreaks(
  _: ReadonlyMap<string, Connector>,
  { database, onFailure }: ReportParts,
): RunningJob {
  return startRounds({
    firstPauseMilliseconds: INTERVAL_MILLISECONDS,
    retryMilliseconds: INTERVAL_MILLISECONDS,
    onFailure,
    run: async () => {
      const startedAt = performance.now();
      const [row] = await database.read(READ_WHETHER_BREAKS_ARE_NEW);
      const isFull = row?.due === true && (await announce(database)) === PORTION;
      return isFull ? performance.now() - startedAt : INTERVAL_MILLISECONDS;
    },
  });
}

async function announce(database: Database): Promise<number> {
  const load = { breaks: lockNewBreaks({ count: PORTION }) };
  const deadline = performance.now() + DEADLINE_MILLISECONDS;
  return transact<number, 'breaks'>(database, deadline, load, ({ breaks }, batchId) => {
    const found = breaks.map(toBreak);
    const [first] = found;
    if (first === undefined) return { result: 0, writes: [], readsOnly: true };
    const events = insertEvents(batchId, breaks.map(toEvent), first.now);
    return {
      result: found.length,
      writes: [events, markBreaksAnnounced({ breakIds: found.map(({ found: { breakId } }) => breakId) })],
    };
  });
}

function toEvent(row: Row): DomainEvent {
  const { found, now } = toBreak(row);
  const record = toBreakRecord(found, now);
  return { type: 'break.opened', programId: null, subjectId: record.break_id, payload: JSON.stringify(record) };
}

import type { DomainEvent } from '../../../domain/event.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { dueAt, ordersDue, type TimeRange } from '../../../domain/processors/settlement.ts';
import { toBreakRecord } from '../../calls/records/processor.ts';
import { transact } from '../../commit/transaction.ts';
import { newId } from '../../foundation/ids.ts';
import type { Database, Row } from '../../store/connection/database.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import {
  lockNewBreaks,
  markBreaksAnnounced,
  READ_WHETHER_BREAKS_ARE_NEW,
  toBreak,
} from '../../store/processors/break.ts';
import {
  closeFoundBreaks,
  insertFileGaps,
  insertFileMissing,
  insertMissingInFile,
  readFileGaps,
  readFilesReceived,
  readMissingOrders,
  readWaitingOrders,
  toFileGap,
  toFilesReceived,
  toMissingOrder,
  toWaitingOrders,
  updateFileGaps,
} from '../../store/processors/unsettled.ts';
import { type RunningJob, startRounds, takeAllSteps } from '../jobs/rounds.ts';
import type { Connector } from './http-connector.ts';
import type { ReportParts } from './report.ts';

/** Orders become due only after hours, so one more minute does not matter. */
const INTERVAL_MILLISECONDS = 60_000;

/** Maximum number of breaks that one transaction inserts or closes. */
const PORTION = 500;

// Invariant: The open breaks about numbered files name each missing number once, except numbers of a break that a person has closed
// Kept by: each round compares the numbers of the files with all breaks, and a connector has at most one break for each last number
// Tested by: `test/api/processors/file-numbers.test.ts`

/**
 * Finds approved orders that no settlement file contains in time (`missing_in_file`), and detects if no file arrives although
 * orders are due, or the numbers of the files have a gap (`file_missing`). Closes these breaks once the missing order or file has
 * arrived. Several processes may do this at once.
 */
export function startFindingMissing(connectors: ReadonlyMap<string, Connector>, parts: ReportParts): RunningJob {
  return startRounds({
    firstPauseMilliseconds: INTERVAL_MILLISECONDS,
    retryMilliseconds: INTERVAL_MILLISECONDS,
    onFailure: parts.onFailure,
    run: async (signal) => {
      const steps = [...connectors.values()].map((connector) => () => findMissing(parts.database, connector, signal));
      await takeAllSteps(steps, signal);
      return INTERVAL_MILLISECONDS;
    },
  });
}

async function findMissing(
  database: Database,
  { connectorId, traits: { settledWithinHours } }: Connector,
  signal: AbortSignal,
): Promise<void> {
  const [row] = await database.read(readFilesReceived({ connectorId }));
  if (row === undefined) return;
  const { newestId, firstAt, newestAt, now } = toFilesReceived(row);
  const newest = newestId === null ? null : toWireId('stl', newestId);
  const closing = closeFoundBreaks({ connectorId, newestId: newest, count: PORTION });
  while (!signal.aborted && (await database.write(closing)).length === PORTION);
  await findGaps(database, connectorId, signal);
  if (settledWithinHours === null || newest === null || firstAt === null || newestAt === null) return;
  const { inFiles, inNext } = ordersDue({ firstAt, newestAt }, settledWithinHours, now);
  await insertMissing(database, connectorId, inFiles, `in no settlement file by ${timeOf(newestAt)}`, signal);
  if (isEmpty(inNext)) return;
  const [waiting] = (await database.read(readWaitingOrders({ connectorId, ...inNext }))).map(toWaitingOrders);
  if (waiting?.oldestAt == null) return;
  await database.write(
    insertFileMissing({
      breakId: newId(),
      connectorId,
      sentAttemptId: newest,
      expected: `a settlement file by ${timeOf(dueAt(waiting.oldestAt, settledWithinHours))}`,
      found: `none since ${newest} of ${timeOf(newestAt)}`,
    }),
  );
}

/** Opens a break for each gap in the numbers of the files. */
async function findGaps(database: Database, connectorId: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const gaps = await database.read(readFileGaps({ connectorId, count: PORTION }));
    if (gaps.length > 0) {
      const sent = gaps.map((gap) => ({ ...toFileGap(gap), breakId: newId() }));
      await database.write(insertFileGaps({ connectorId, sent }));
    }
    if (gaps.length < PORTION) break;
  }
  await database.write(updateFileGaps({ connectorId }));
}

async function insertMissing(
  database: Database,
  connectorId: string,
  due: TimeRange,
  found: string,
  signal: AbortSignal,
): Promise<void> {
  if (isEmpty(due)) return;
  while (!signal.aborted) {
    const orders = await database.read(readMissingOrders({ connectorId, ...due, count: PORTION }));
    if (orders.length === 0) return;
    const sent = orders.map((order) => ({ ...toMissingOrder(order), breakId: newId() }));
    await database.write(insertMissingInFile({ connectorId, found, sent }));
    if (orders.length < PORTION) return;
  }
}

const isEmpty = ({ from, until }: TimeRange): boolean => until <= from;

const timeOf = (milliseconds: number): string => new Date(milliseconds).toISOString();

const ANNOUNCING_MILLISECONDS = 1_000;

/** Maximum number of events in a transaction. After so many, the job pauses for as long as they took. */
const ANNOUNCED_AT_ONCE = 500;

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
    firstPauseMilliseconds: ANNOUNCING_MILLISECONDS,
    retryMilliseconds: ANNOUNCING_MILLISECONDS,
    onFailure,
    run: async () => {
      const startedAt = performance.now();
      const [row] = await database.read(READ_WHETHER_BREAKS_ARE_NEW);
      const isFull = row?.due === true && (await announce(database)) === ANNOUNCED_AT_ONCE;
      return isFull ? performance.now() - startedAt : ANNOUNCING_MILLISECONDS;
    },
  });
}

async function announce(database: Database): Promise<number> {
  const load = { breaks: lockNewBreaks({ count: ANNOUNCED_AT_ONCE }) };
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

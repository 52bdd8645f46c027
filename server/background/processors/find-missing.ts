import { toWireId } from '../../../domain/identifier.ts';
import { dueAt, ordersDue, type TimeRange } from '../../../domain/processors/settlement.ts';
import { newId } from '../../foundation/ids.ts';
import type { Database } from '../../store/connection/database.ts';
import {
  closeFoundBreaks,
  insertFileMissing,
  insertMissingInFile,
  readFilesReceived,
  readMissingOrders,
  readWaitingOrders,
  toFilesReceived,
  toMissingOrder,
  toWaitingOrders,
} from '../../store/processors/unsettled.ts';
import { type RunningJob, startRounds, takeAllSteps } from '../jobs/rounds.ts';
import type { Connector } from './http-connector.ts';
import type { ReportParts } from './report.ts';

/** Orders become due only after hours, so one more minute does not matter. */
const INTERVAL_MILLISECONDS = 60_000;

/** Maximum number of breaks that one transaction inserts or closes. */
const PORTION = 500;

/**
 * Finds approved orders that no settlement file contains in time (`missing_in_file`), and detects if no file arrives although
 * orders are due (`file_missing`). Closes these breaks once the missing order or file has arrived. Several processes may do
 * this at once.
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

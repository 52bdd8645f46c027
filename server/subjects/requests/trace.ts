import { performance } from 'node:perf_hooks';
import { OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import { MAX_SHOWN_OF_REQUEST } from '../../../contract/service/requests.ts';
import { MAX_BATCH_ROWS } from '../../../contract/transfers.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import type { Attempt } from '../../../domain/processors/attempt.ts';
import type { Reversal } from '../../../domain/transfers/reverse-transfer.ts';
import { dependsOnProcessor, type Transfer } from '../../../domain/transfers/transfer.ts';
import type { CallContext } from '../../calls/call.ts';
import { readRows } from '../../calls/read-rows.ts';
import { readInTurn } from '../../calls/turns.ts';
import { type AuditEntry, findAuditEntries, toAuditEntry } from '../../store/audit.ts';
import type { Database, Row, Statement } from '../../store/connection/database.ts';
import { type LoggedError, readError, timeOfId, toLoggedError } from '../../store/error.ts';
import { readLastAttempts, toAttempt } from '../../store/processors/attempt.ts';
import {
  type CausedEvent,
  type CreatedRecord,
  findCreated,
  findEvents,
  readClockMoves,
  type TimeRange,
  toCausedEvent,
  toCreated,
} from '../../store/requests/find-request.ts';
import { readReversal, readTransfersForChange, toReversal, toTransfer } from '../../store/transfers/transfer.ts';

export type RequestTrace = {
  readonly receivedAt: Date;
  readonly error: LoggedError | null;
  readonly entries: readonly AuditEntry[];
  /** The first transfers that the request created or changed. */
  readonly transfers: readonly Transfer[];
  readonly transferCount: number;
  /** The attempts for transfers whose outcome only the processor knows, by the inner UUID of the transfer. */
  readonly attempts: ReadonlyMap<string, Attempt>;
  /** Inner UUIDs of the transfers that the request created. */
  readonly created: ReadonlySet<string>;
  readonly reversals: readonly Reversal[];
  readonly events: readonly CausedEvent[];
  /** Whether the search was completed in time. */
  readonly complete: boolean;
};

/**
 * Ranges of time when the request may have taken effect, in seconds from its start. A request ends after 5 s at most, and
 * clocks may differ by a second. Nearly all effects are in the first range.
 */
const TIME_RANGES = [
  [-1, 1],
  [1, 3],
  [3, 6],
] as const;
const WHOLE = [-1, 6] as const;

/** Time reserved for the work after the search, in milliseconds. */
const RESERVED_MILLISECONDS = 1500;

export type Reach = {
  readonly database: Database;
  /**
   * If set, the search covers only this card program, and skips the audit log, which is for operators. Null searches everything.
   */
  readonly programId: string | null;
  /** The database whose clock a sandbox can move, or undefined if the clock cannot be moved. */
  readonly clock: Database | undefined;
};

/** Reads everything stored about a request, given its inner UUID. Its statements take turns with other long reads. */
export async function traceRequest(
  reach: Reach,
  requestId: string,
  { deadline, isGone }: Pick<CallContext, 'deadline' | 'isGone'>,
): Promise<RequestTrace> {
  const receivedAt = timeOfId(requestId);
  const turn = { programId: reach.programId ?? 'requests', deadline, isGone };
  const readFrom = (database: Database, statement: Statement): Promise<readonly Row[]> =>
    readInTurn(turn, () => readRows(database, statement));
  const read = (statement: Statement): Promise<readonly Row[]> => readFrom(reach.database, statement);
  const whole = rangeOf(receivedAt, WHOLE, 0);
  const [row] = await read(readError(requestId, reach.programId));
  const error = row === undefined ? null : toLoggedError(row);
  const audited =
    reach.programId === null ? await read(findAuditEntries(requestId, whole.from, whole.to, MAX_SHOWN_OF_REQUEST)) : [];
  const entries = audited.map(toAuditEntry);
  const nothing = {
    transfers: [],
    transferCount: 0,
    attempts: new Map<string, Attempt>(),
    created: new Set<string>(),
    reversals: [],
    events: [],
  };
  if (error !== null && !mayHaveTakenEffect(error)) {
    return { receivedAt, error, entries, ...nothing, complete: true };
  }
  const moves = reach.clock === undefined ? [] : await readFrom(reach.clock, readClockMoves(whole));
  const clockOffsets = toClockOffsets(moves, whole);
  const programId =
    reach.programId ?? error?.programId ?? entries.find((entry) => entry.programId !== null)?.programId ?? null;
  const records: CreatedRecord[] = [];
  const events: CausedEvent[] = [];
  let complete = true;
  for (const [ahead, range] of clockOffsets.flatMap((one) => TIME_RANGES.map((seconds) => [one, seconds] as const))) {
    if (performance.now() > deadline - RESERVED_MILLISECONDS) complete = false;
    if (!complete || records.length > MAX_BATCH_ROWS) break;
    const found = await read(findCreated(requestId, programId, rangeOf(receivedAt, range, ahead), MAX_BATCH_ROWS + 1));
    records.push(...found.map(toCreated));
  }
  const subjects = records.map(({ id, isTransfer }) => toWireId(isTransfer ? 'tr' : 'rev', id));
  for (const ahead of complete ? clockOffsets : []) {
    const search = { requestId, programId: reach.programId, subjects };
    const found = await read(findEvents(search, whole, ahead, MAX_BATCH_ROWS));
    events.push(...found.map(toCausedEvent));
  }
  return { receivedAt, error, entries, complete, ...(await readSubjects(read, records, events)) };
}

/** Returns whether a failed request may have taken effect: its commit is ambiguous, or only some rows of a batch were refused. */
function mayHaveTakenEffect(error: LoggedError): boolean {
  // If the operation moves no money, the error does not say whether the outcome is known.
  const isOpen = error.moneyMoved === null ? error.status >= 500 : error.moneyMoved !== 'no';
  return isOfBatch(error) || isOpen;
}

/** Returns whether an error belongs to a batch or to one of its rows. The operation of a row is create_transfer. */
function isOfBatch({ path }: LoggedError): boolean {
  return path === OPERATIONS.create_transfer_batch.path;
}

function rangeOf(receivedAt: Date, [from, to]: readonly [number, number], aheadMilliseconds: number): TimeRange {
  const base = receivedAt.getTime() + aheadMilliseconds;
  return { from: new Date(base + from * 1000), to: new Date(base + to * 1000) };
}

/**
 * Returns how far a sandbox's clock was ahead during a request, in milliseconds. There are several values if the clock was moved
 * during it.
 */
function toClockOffsets(moves: readonly Row[], { from }: TimeRange): readonly number[] {
  const clockOffsets = moves.map(
    (move) => Number((parseJson(String(move.details)) as { readonly seconds_ahead?: unknown }).seconds_ahead) * 1000,
  );
  const isKnown = moves.some((move) => (move.created_at as Date) < from);
  return [...new Set(isKnown ? clockOffsets : [0, ...clockOffsets])].filter(Number.isFinite);
}

/**
 * All events of a group have the same time. Each of its transfers has the time that was read with its program's rules. The time
 * of the events and the times of the transfers differ by less than this.
 */
const SAME_MILLISECONDS = 1000;

type Read = (statement: Statement) => Promise<readonly Row[]>;

/** Reads the transfers and reversals that the request created, and the transfers that its events concern. */
async function readSubjects(read: Read, records: readonly CreatedRecord[], events: readonly CausedEvent[]) {
  const named = new Map<string, { readonly programId: string; readonly transferId: string }>();
  for (const { programId, id, isTransfer } of records) {
    if (isTransfer) named.set(id, { programId, transferId: id });
  }
  const created = new Set(named.keys());
  const reversed = records.filter(({ isTransfer }) => !isTransfer).slice(0, MAX_SHOWN_OF_REQUEST);
  const reversals: Reversal[] = [];
  for (const { programId, id } of reversed)
    reversals.push(...(await read(readReversal(programId, id))).map(toReversal));
  for (const { programId, subjectId, requestId } of events) {
    const transferId = fromWireId('tr', subjectId);
    if (programId !== null && requestId !== null && transferId !== undefined) {
      named.set(transferId, { programId, transferId });
    }
  }
  for (const { programId, transferId } of reversals) named.set(transferId, { programId, transferId });
  const shown = [...named.values()].slice(0, MAX_SHOWN_OF_REQUEST);
  const rows = shown.length === 0 ? [] : await read(readTransfersForChange(shown));
  const transfers = rows.map(toTransfer).sort((one, other) => (one.transferId < other.transferId ? -1 : 1));
  const createdAtOf = new Map(transfers.map(({ transferId, createdAt }) => [toWireId('tr', transferId), createdAt]));
  // If an event has no request id but the same time as a transfer or a reversal, it reports the creation of that record.
  for (const { reversalId, createdAt } of reversals) createdAtOf.set(toWireId('rev', reversalId), createdAt);
  const own = events.filter(({ requestId, subjectId, createdAt }) => {
    const decidedAt = createdAtOf.get(subjectId);
    return (
      requestId !== null || decidedAt === undefined || Math.abs(decidedAt - createdAt.getTime()) < SAME_MILLISECONDS
    );
  });
  return {
    transfers,
    transferCount: named.size,
    attempts: await readAttempts(read, transfers),
    created,
    reversals,
    events: own,
  };
}

/** Reads the attempts for transfers whose outcome only the processor knows, by the inner UUID of the transfer. */
async function readAttempts(read: Read, transfers: readonly Transfer[]): Promise<ReadonlyMap<string, Attempt>> {
  const asked = transfers.filter(dependsOnProcessor);
  const rows = asked.length === 0 ? [] : await read(readLastAttempts(asked));
  return new Map(rows.map(toAttempt).map((attempt) => [attempt.transferId, attempt]));
}

/** The operations of card programs that can be identified by a type of event. */
const OPERATION_OF_EVENT: Readonly<Record<string, OperationId>> = {
  'case.opened': 'create_case',
  'case.replied': 'reply_to_case',
  'card.erased': 'erase_card_holder',
  'card.updated': 'update_card',
  'card.created': 'create_card',
  'transfer.updated': 'update_transfer',
  'transfer.canceled': 'cancel_transfer',
  'transfer.completed': 'capture_transfer',
};

/** Returns the operation of a request, or null if no stored data identifies it. */
export function operationOf({
  error,
  entries,
  transfers,
  created,
  reversals,
  events,
}: RequestTrace): OperationId | null {
  if (error !== null && isOfBatch(error)) return 'create_transfer_batch';
  if (error !== null && error.operation !== null) return toOperation(error.operation);
  const [entry] = entries;
  if (entry !== undefined && created.size <= 1) return toOperation(entry.action);
  if (reversals.length > 0) return 'reverse_transfer';
  const types = new Set(events.map(({ type }) => type));
  // Closing a card can also create a transfer, so this check comes first.
  if (types.has('card.updated')) return 'update_card';
  if (created.size > 1) return 'create_transfer_batch';
  if (created.size === 1) return 'create_transfer';
  // If the capture was not manual, the service itself ended the transfer: when it was due, or when the processor answered.
  if (types.has('transfer.completed') && transfers.every(({ capture }) => capture === 'automatic')) return null;
  const known = Object.keys(OPERATION_OF_EVENT).find((type) => types.has(type));
  return known === undefined ? null : (OPERATION_OF_EVENT[known] ?? null);
}

function toOperation(text: string): OperationId | null {
  return Object.hasOwn(OPERATIONS, text) ? (text as OperationId) : null;
}

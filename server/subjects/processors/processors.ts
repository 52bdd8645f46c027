import type { ConnectorRecord } from '../../../contract/processors/connectors.ts';
import { readsAsCardNumber, redactCardNumbers } from '../../../domain/cards/card-number.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { SIMULATOR_ID } from '../../../domain/sandbox.ts';
import { allAtConnector } from '../../../domain/switch.ts';
import { type Call, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { DEFAULT_LIMIT, readCursor, readFiltered, readPage } from '../../calls/page.ts';
import type { ConnectorStatus } from '../../calls/processors.ts';
import { readProgramFilter, transferMissing } from '../../calls/program.ts';
import { confirmReplicated, readRows, writeRows } from '../../calls/read-rows.ts';
import { toAttemptRecord, toBreakRecord, toOperatorAttemptRecord } from '../../calls/records/processor.ts';
import { toSwitchRecord } from '../../calls/records/switch.ts';
import { newId } from '../../foundation/ids.ts';
import type { Database } from '../../store/connection/database.ts';
import { listBreaks as listBreaksStatement, toBreak } from '../../store/processors/break.ts';
import { insertBreak, insertBreakOfUnknown } from '../../store/processors/contradiction.ts';
import { insertNotice, readNotice, saidBy, toNotice } from '../../store/processors/notices.ts';
import {
  type AttemptFilter,
  COUNT_OPEN_ATTEMPTS,
  isAttemptFiltered,
  listAttempts as listAttemptsStatement,
  searchAttempts as searchStatement,
  searchUnsettledAttempts,
  toAttemptChunk,
  toOpenCount,
  toShownAttempt,
} from '../../store/processors/read-attempts.ts';
import { READ_WHOLE_SWITCH, type SwitchReading, toSwitchReading } from '../../store/switch.ts';
import { readTransfer } from '../../store/transfers/transfer.ts';

type OpenCount = ReturnType<typeof toOpenCount>;

const OPEN = ['ready', 'sent', 'unknown', 'pending', 'reversing', 'attention'] as const;

/**
 * list_connectors: returns the connectors by name, with their waiting work in all card programs, and the reasons why they are
 * disabled.
 */
export async function listConnectors(
  { database, processors }: Service,
  _call: Call<'list_connectors'>,
): Promise<Reply<'list_connectors'>> {
  const [open, switches] = await Promise.all([
    readRows(database, COUNT_OPEN_ATTEMPTS),
    readRows(database, READ_WHOLE_SWITCH),
  ]);
  const counts = open.map(toOpenCount);
  const reading = toSwitchReading(switches);
  const statuses = [...processors.statuses()].sort((left, right) => (left.connectorId < right.connectorId ? -1 : 1));
  return { record: { data: statuses.map((status) => toConnectorRecord(status, counts, reading)) } };
}

function toConnectorRecord(
  status: ConnectorStatus,
  counts: readonly OpenCount[],
  { settings, now }: SwitchReading,
): ConnectorRecord {
  const { connectorId, state, since, reason, inFlight } = status;
  const own = counts.filter((count) => count.connectorId === connectorId);
  const open = OPEN.map((name) => [name, own.find((count) => count.status === name)?.count ?? 0] as const);
  const unknown = own.flatMap(({ oldestUnknownSince }) => (oldestUnknownSince === null ? [] : [oldestUnknownSince]));
  return {
    connector_id: connectorId,
    kind: connectorId === SIMULATOR_ID ? 'simulator' : 'http',
    state: state === 'up' ? 'up' : 'down',
    since: since === null ? null : new Date(since).toISOString(),
    reason,
    disabled_by: allAtConnector(settings, connectorId, now).map((setting) => toSwitchRecord(setting, now)),
    in_flight: inFlight,
    open: Object.fromEntries(open) as ConnectorRecord['open'],
    oldest_unknown_since: unknown.length === 0 ? null : new Date(Math.min(...unknown)).toISOString(),
  };
}

/** list_attempts: returns the attempts of a transfer, newest first, or throws `transfer_not_found`. */
export async function listAttempts(service: Service, call: Call<'list_attempts'>): Promise<Reply<'list_attempts'>> {
  const { programId } = call;
  const { transfer_id: sentId } = call.params;
  const transferId = fromWireId('tr', sentId);
  if (transferId === undefined) throw transferMissing(sentId);
  const rows = await readRows(service.database, listAttemptsStatement(programId, transferId));
  // Checks the transfer only if it has no attempts, because an attempt proves that its transfer exists.
  if (rows.length === 0 && (await readRows(service.database, readTransfer(programId, transferId))).length === 0) {
    throw transferMissing(sentId);
  }
  await confirmReplicated(service.database, call.deadline, rows);
  return { record: { data: rows.map(toShownAttempt).map(toAttemptRecord) } };
}

/**
 * search_attempts: returns open attempts, oldest first, or ended ones, newest first. A page can be short and still have a cursor.
 */
export async function searchAttempts(
  service: Service,
  call: Call<'search_attempts'>,
): Promise<Reply<'search_attempts'>> {
  const { limit = DEFAULT_LIMIT, cursor, status = 'open', connector_id: connectorId = null } = call.query;
  const { program_id: programId } = call.query;
  const filter = { status, connectorId, programId: readProgramFilter(call, programId) };
  if (call.query.unsettled_at !== undefined) return searchUnsettled(service, call, filter, call.query.unsettled_at);
  const { items, next } = await readFiltered({
    call,
    limit,
    after: readCursor(call, 'pat', cursor),
    isFiltered: isAttemptFiltered(filter),
    read: async (after, count, maxExamined) => {
      const chunk = { after, count, maxExamined };
      return toAttemptChunk(await readRows(service.database, searchStatement(filter, chunk)), chunk);
    },
    idOf: ({ attempt }) => attempt.attemptId,
  });
  const record = {
    data: items.map(toOperatorAttemptRecord),
    next_cursor: next === null ? null : toWireId('pat', next),
  };
  return { record };
}

/** Returns the approved attempts of a program that no settlement file or break had at a time, newest first. */
async function searchUnsettled(
  service: Service,
  call: Call<'search_attempts'>,
  { connectorId, programId }: Pick<AttemptFilter, 'connectorId' | 'programId'>,
  time: string,
): Promise<Reply<'search_attempts'>> {
  if (programId === null) {
    const message = "'unsettled_at' can only be sent with 'program_id'.";
    throw schemaRefusal(call, message, '/program_id');
  }
  const { status = 'approved' } = call.query;
  // Only approved attempts are ever settled.
  if (status !== 'approved') return { record: { data: [], next_cursor: null } };
  const filter = { connectorId, programId, at: new Date(time) };
  const record = await readPage(service, call, {
    prefix: 'pat',
    statement: (after, count) => searchUnsettledAttempts(filter, after, count),
    read: toShownAttempt,
    idOf: ({ attempt }) => attempt.attemptId,
    show: toOperatorAttemptRecord,
  });
  return { record };
}

/** list_breaks: returns the open breaks, oldest first, or the closed ones, newest first. */
export async function listBreaks(service: Service, call: Call<'list_breaks'>): Promise<Reply<'list_breaks'>> {
  const { status = 'open', kind = null, connector_id: connectorId = null, program_id: programId } = call.query;
  const { settlement_file_id: file = null } = call.query;
  if (file !== null && fromWireId('stl', file) === undefined) {
    const message = `'settlement_file_id' is '${file}', but it must be stl_ and 32 hex digits.`;
    throw schemaRefusal(call, message, '/settlement_file_id');
  }
  const filter = {
    ...{ isClosed: status === 'closed', kind, connectorId, file },
    programId: readProgramFilter(call, programId),
  };
  const record = await readPage(service, call, {
    prefix: 'brk',
    statement: (after, count) => listBreaksStatement(filter, after, count),
    read: toBreak,
    idOf: ({ found }) => found.breakId,
    show: ({ found, now }) => toBreakRecord(found, now),
  });
  return { record };
}

/**
 * receive_notice: stores a message that the processor sends without being asked. Its signature is already verified. A job handles
 * it later, so the adapter does not have to wait. A notice may come before the answer that it repeats. Repeating a notice changes
 * nothing. A different notice with the same id is refused, and recorded as a break for an operator. A notice about an attempt
 * that this connector does not have is also stored.
 */
export async function receiveNotice(
  { database, processors }: Service,
  call: Call<'receive_notice'>,
): Promise<Reply<'receive_notice'>> {
  const { connector_id: connectorId } = call.params;
  const { notice_id: noticeId, ...sent } = call.body;
  refuseCardNumber('notice_id', noticeId);
  refuseCardNumber('attempt_id', sent.attempt_id);
  const body = {
    ...sent,
    processor_reference: withoutCardNumbers(sent.processor_reference),
    code: withoutCardNumbers(sent.code),
  };
  const sentAttemptId = fromWireId('pat', sent.attempt_id) ?? null;
  const added = await writeRows(database, insertNotice({ connectorId, noticeId, sentAttemptId, body }));
  if (added.length > 0) processors.wake();
  else await refuseOther(database, { connectorId, noticeId, sentAttemptId, body });
  return { record: { received: true } };
}

/** Refuses a notice that has the id of an earlier notice but different content, and records the break. */
async function refuseOther(database: Database, sent: Parameters<typeof readNotice>[0]): Promise<void> {
  const [stored] = (await readRows(database, readNotice(sent))).map(toNotice);
  if (stored === undefined || stored.isSame) return;
  const { connectorId, noticeId, body } = sent;
  const found = {
    ...{ breakId: newId(), kind: 'reused_notice_id' as const, connectorId, createdAt: stored.now },
    ...{ expected: saidBy(stored.body), found: `${saidBy(body)} (notice ${noticeId})`, statedAmount: null },
  };
  const { attempt } = stored;
  if (attempt === undefined) {
    const { attempt_id: sentAttemptId, amount, currency } = body;
    await writeRows(database, insertBreakOfUnknown({ ...found, sentAttemptId, amount: BigInt(amount), currency }));
  } else {
    const { programId, attemptId, transferId, amount, currency } = attempt;
    await writeRows(database, insertBreak({ ...found, programId, attemptId, transferId, amount, currency }));
  }
  const message = `An earlier notice has the notice_id '${noticeId}' and different contents. Give each notice its own id.`;
  throw new Refusal('notice_id_reused', message, { field: '/notice_id' });
}

function refuseCardNumber(name: 'notice_id' | 'attempt_id', value: string): void {
  if (!readsAsCardNumber(value)) return;
  const message = `'${name}' looks like a card number, which the service does not accept.`;
  throw new Refusal('card_number_refused', message, { field: `/${name}` });
}

/**
 * Redacts a reference that happens to look like a card number. If it were refused, the processor's message would be lost forever.
 */
function withoutCardNumbers(text: string | null): string | null {
  return text === null ? null : redactCardNumbers(text);
}

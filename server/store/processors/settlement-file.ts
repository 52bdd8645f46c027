import { REDACTED } from '../../../domain/cards/card-number.ts';
import type { Attempt } from '../../../domain/processors/attempt.ts';
import type { OrderKind } from '../../../domain/processors/order.ts';
import type { BatchOrder, LineOutcome, LineStatus, SettlementLine } from '../../../domain/processors/settlement.ts';
import type { Row, Statement } from '../connection/database.ts';
import {
  BIGINT,
  BOOLEAN,
  CURRENCY,
  columns,
  HEX,
  INTEGER,
  insertRow,
  json,
  many,
  nullable,
  type RowOf,
  rows,
  statement,
  statementVariants,
  TEXT,
  TIME,
  UUID,
  word,
} from '../sql.ts';
import { ATTEMPT_COLUMNS, toAttempt } from './attempt.ts';
import { MAX_FOUND_CHARACTERS } from './contradiction.ts';
import { closedByService } from './unsettled.ts';

export type FileStatus = 'receiving' | 'matching' | 'matched' | 'withdrawing' | 'withdrawn';

/** Sums of lines by currency. Strings of digits in minor units, because a JSON number could not hold every sum exactly. */
export type FileTotals = Readonly<Record<string, Readonly<Record<'pushed' | 'pulled' | 'reversed' | 'fees', string>>>>;

const FILE = columns({
  fileId: UUID,
  connectorId: TEXT,
  name: TEXT,
  sha256: HEX,
  /** The running number that the processor has given to the file. */
  sequenceNumber: nullable(INTEGER),
  status: word<FileStatus>(),
  lineCount: INTEGER,
  linesReceived: INTEGER,
  /** Number of lines that the job has compared, or has undone after a withdrawal. */
  linesExamined: INTEGER,
  matched: INTEGER,
  reported: INTEGER,
  differs: INTEGER,
  duplicate: INTEGER,
  missingInLedger: INTEGER,
  totals: json<FileTotals>(),
  createdAt: TIME,
  createdBy: TEXT,
  matchedAt: nullable(TIME),
  withdrawnAt: nullable(TIME),
  withdrawnBy: nullable(TEXT),
  withdrawalNote: nullable(TEXT),
});

/** A processor's file about the orders that it has settled. Ids are inner UUIDs. */
export type SettlementFile = RowOf<typeof FILE.columns>;

const SELECT = `select ${FILE.names} from settlement_file`;

export const toSettlementFile: (row: Row) => SettlementFile = FILE.read;

/**
 * Inserts a file. If the connector already has a file with the same contents or number that was not withdrawn, the transaction
 * fails (23505).
 */
export const insertSettlementFile = insertRow('insert_settlement_file', 'settlement_file', FILE);

export const readSettlementFile = statement(
  'read_settlement_file',
  { fileId: UUID },
  `${SELECT} where file_id = :fileId`,
);

export const lockSettlementFile = statement(
  'lock_settlement_file',
  { fileId: UUID },
  `select ${FILE.names}, service_now() as now from settlement_file where file_id = :fileId for no key update`,
);

/** Reads the file of a connector with these contents that was not withdrawn: one row, or none. */
export const findSettlementFile = statement(
  'find_settlement_file',
  { connectorId: TEXT, sha256: HEX },
  `${SELECT} where connector_id = :connectorId and sha256 = :sha256 and status not in ('withdrawing', 'withdrawn')`,
);

/** Reads the file of a connector with this number that was not withdrawn: one row, or none. */
export const findNumberedFile = statement(
  'find_numbered_settlement_file',
  { connectorId: TEXT, sequenceNumber: INTEGER },
  `${SELECT} where connector_id = :connectorId and sequence_number = :sequenceNumber
    and status not in ('withdrawing', 'withdrawn')`,
);

const LIST = statementVariants({ connectorId: nullable(TEXT), after: nullable(UUID), count: INTEGER });

/** Reads a page of files, newest first, after the file with the inner UUID `after`. */
export function listSettlementFiles(connectorId: string | null, after: string | null, count: number): Statement {
  const conditions = [
    ...(connectorId === null ? [] : ['connector_id = :connectorId']),
    ...(after === null ? [] : ['file_id < :after']),
  ];
  const name = `list_settlement_files${connectorId === null ? '' : '_of_connector'}${after === null ? '' : '_after'}`;
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  return LIST(name, () => `${SELECT} ${where} order by file_id desc limit :count`, { connectorId, after, count });
}

/** Stores the progress of a file. */
export const updateSettlementFile = statement(
  'update_settlement_file',
  FILE.pick('fileId', 'status', 'linesReceived', 'linesExamined', 'totals', 'matchedAt').columns,
  `update settlement_file
    set status = :status, lines_received = :linesReceived, lines_examined = :linesExamined, claimed_until = null,
      totals = :totals, matched_at = :matchedAt
    where file_id = :fileId`,
);

export const markFileWithdrawn = statement(
  'mark_settlement_file_withdrawn',
  FILE.pick('fileId', 'status', 'linesExamined', 'withdrawnAt', 'withdrawnBy', 'withdrawalNote').columns,
  `update settlement_file
    set status = :status, lines_examined = :linesExamined, withdrawn_at = :withdrawnAt, withdrawn_by = :withdrawnBy,
      withdrawal_note = :withdrawalNote
    where file_id = :fileId`,
);

const NEW_LINE = columns({
  lineNumber: INTEGER,
  /** The attempt's id, if the line names it by our id. Otherwise set when the attempt has been found. */
  attemptId: nullable(UUID),
  sentAttemptId: nullable(TEXT),
  processorReference: nullable(TEXT),
  kind: word<OrderKind>(),
  amount: BIGINT,
  currency: CURRENCY,
  fee: BIGINT,
  status: word<LineStatus>(),
  /** A day, such as 2026-01-31. */
  settledOn: TEXT,
});

export type NewLine = RowOf<typeof NEW_LINE.columns>;

export const insertSettlementLines = statement(
  'insert_settlement_lines',
  { fileId: UUID, sent: rows(NEW_LINE) },
  `insert into settlement_line (file_id, ${NEW_LINE.names})
    select :fileId, ${NEW_LINE.omit('settledOn').names}, settled_on::date from :sent`,
);

/**
 * Reads, for each connector, the oldest file that must be compared or undone, unless a process is working on that file. Files of a
 * connector are handled in order.
 */
export const readOpenFiles = statement(
  'read_open_settlement_files',
  { connectorIds: many(TEXT) },
  `select file.* from unnest(:connectorIds) as wanted (connector_id)
    cross join lateral (
      select ${FILE.names}, claimed_until from settlement_file
      where settlement_file.connector_id = wanted.connector_id and status in ('matching', 'withdrawing')
      order by file_id limit 1
    ) as file
    where claimed_until is null or claimed_until <= clock_timestamp()`,
);

/**
 * Claims a file for one process, unless the file has changed since it was read. The claim expires by the real clock. Returns the end
 * of the claim, or no row if the file is not claimed.
 */
export const claimSettlementFile = statement(
  'claim_settlement_file',
  { fileId: UUID, linesExamined: INTEGER, seconds: INTEGER },
  `update settlement_file set claimed_until = date_trunc('milliseconds', clock_timestamp()) + :seconds * interval '1 second'
    where file_id = :fileId and status = 'matching' and lines_examined = :linesExamined
      and (claimed_until is null or claimed_until <= clock_timestamp())
    returning claimed_until`,
);

/** Ends a claim, unless another process has claimed the file since then. */
export const releaseSettlementFile = statement(
  'release_settlement_file',
  { fileId: UUID, claimedUntil: TIME },
  'update settlement_file set claimed_until = null where file_id = :fileId and claimed_until = :claimedUntil',
);

export const toClaim = columns({ claimedUntil: TIME }).read;

const COMPARED = columns({
  lineNumber: INTEGER,
  sentAttemptId: nullable(TEXT),
  lineReference: nullable(TEXT),
  lineKind: word<OrderKind>(),
  lineAmount: BIGINT,
  lineCurrency: CURRENCY,
  lineFee: BIGINT,
  lineStatus: word<LineStatus>(),
  outcome: nullable(word<LineOutcome>()),
  /** Whether the line is compared with all attempts that have its reference. */
  isBatch: BOOLEAN,
  /** Whether these attempts are stored with the outcome of the line. */
  isStored: BOOLEAN,
  /** The file that has already settled the attempt. */
  settledBy: nullable(UUID),
  now: TIME,
});

/** A line, as the job compares it. */
export type ComparedLine = SettlementLine & {
  readonly lineNumber: number;
  /** The name of the order in the line, for people. */
  readonly reference: string;
  /** The processor's fee, in minor units. */
  readonly fee: bigint;
  readonly attempt: Attempt | undefined;
  readonly isBatch: boolean;
  /** Whether the attempts of a batch are stored with the outcome of the line. */
  readonly isStored: boolean;
  /** The result of the first comparison. Null if the line was never compared. */
  readonly outcome: LineOutcome | null;
  readonly settledBy: string | null;
  /** When it was read, by the database's clock. */
  readonly now: number;
};

/**
 * Reads the lines of a file after a line number, in order, with their attempts. A line names its attempt by our id, or otherwise by
 * the processor's reference. A line with a stored outcome keeps the attempts that were stored with it. If several attempts have the
 * reference, or one with a different amount, {@link readBatchOrders} reads them. A reference that was redacted names none.
 */
export const readSettlementLines = statement(
  'read_settlement_lines',
  { fileId: UUID, connectorId: TEXT, after: INTEGER, count: INTEGER },
  `select line.line_number, line.sent_attempt_id, line.processor_reference as line_reference, line.kind as line_kind,
      line.amount as line_amount, line.currency as line_currency, line.fee as line_fee,
      line.status as line_status, line.outcome, line.attempt_ids is not null or coalesce(named.is_batch, false) as is_batch,
      line.attempt_ids is not null as is_stored,
      processor_attempt.settlement_file_id as settled_by, ${ATTEMPT_COLUMNS}, service_now() as now
    from (
      select * from settlement_line where file_id = :fileId and line_number > :after order by line_number limit :count
    ) as line
    left join lateral (
      select 1 as rank, ours.program_id, ours.attempt_id, false as is_batch from processor_attempt as ours
        where ours.attempt_id = line.attempt_id and ours.connector_id = :connectorId
      union all
      select 2 as rank, theirs.program_id, theirs.attempt_id, theirs.is_batch from (
        select program_id, attempt_id, count(*) over () > 1
            or line.amount not in (amount, amount + corrected_amount) and line.outcome is null as is_batch from (
          select program_id, attempt_id, amount, corrected_amount from processor_attempt
          where connector_id = :connectorId and processor_reference = line.processor_reference
            and strpos(line.processor_reference, '${REDACTED}') = 0
          limit 2
        ) as those
      ) as theirs
      order by rank limit 1
    ) as named on true
    left join processor_attempt on line.attempt_ids is null and not named.is_batch
      and processor_attempt.program_id = named.program_id
      and processor_attempt.attempt_id = named.attempt_id
    order by line.line_number`,
);

export function toComparedLine(row: Row): ComparedLine {
  const { lineNumber, sentAttemptId, lineReference, settledBy, now, outcome, ...line } = COMPARED.read(row);
  return {
    ...{ lineNumber, settledBy, now, reference: (line.isBatch ? null : sentAttemptId) ?? lineReference ?? '' },
    ...{ kind: line.lineKind, amount: line.lineAmount, currency: line.lineCurrency, status: line.lineStatus },
    ...{ fee: line.lineFee, isBatch: line.isBatch, isStored: line.isStored },
    attempt: row.attempt_id === null ? undefined : toAttempt(row),
    outcome,
  };
}

const BATCH_ORDER = columns({
  programId: UUID,
  attemptId: UUID,
  kind: word<OrderKind>(),
  amount: BIGINT,
  currency: CURRENCY,
  status: word<Attempt['status']>(),
  lateApprovalAt: nullable(TIME),
  correctedAmount: BIGINT,
  contradictedAt: nullable(TIME),
  contradictionSettledAt: nullable(TIME),
  isSettled: BOOLEAN,
});

const ORDERS = `${BATCH_ORDER.omit('isSettled').of('processor_attempt')}, settlement_file_id is not null as is_settled`;

/**
 * Reads the orders that have the reference of a line, at most `count`, in order. Once the outcome of the line
 * is stored, these are the orders that it was about.
 */
export const readBatchOrders = statement(
  'read_batch_orders',
  { fileId: UUID, connectorId: TEXT, lineNumber: INTEGER, count: INTEGER },
  `select orders.* from settlement_line as line cross join lateral (
      select * from (
        select ${ORDERS} from processor_attempt where line.attempt_ids is null and connector_id = :connectorId
          and processor_reference = line.processor_reference limit :count
      ) as named
      union all
      select ${ORDERS} from processor_attempt where attempt_id = any (line.attempt_ids)
    ) as orders
    where line.file_id = :fileId and line.line_number = :lineNumber order by orders.attempt_id`,
);

/** Locks and reads the orders of a connector that a person names for a line, in order. */
export const lockBatchOrders = statement(
  'lock_batch_orders',
  { connectorId: TEXT, attemptIds: many(UUID) },
  `select ${ORDERS} from processor_attempt where connector_id = :connectorId and attempt_id = any (:attemptIds)
    order by attempt_id for no key update`,
);

export const toBatchOrder: (row: Row) => BatchOrder = BATCH_ORDER.read;

/** Stores the attempts that a line settles. Null if it settles none. */
export const writeBatch = statement(
  'write_settlement_batch',
  { fileId: UUID, lineNumber: INTEGER, attemptIds: nullable(many(UUID)) },
  'update settlement_line set attempt_ids = :attemptIds where file_id = :fileId and line_number = :lineNumber',
);

/**
 * Stores the outcome of a line that changes the books, with its attempts, unless it is stored already. Returns a row if it did.
 */
export const beginBatch = statement(
  'begin_settlement_batch',
  { fileId: UUID, lineNumber: INTEGER, outcome: word<LineOutcome>(), attemptIds: many(UUID) },
  `update settlement_line set outcome = :outcome, attempt_ids = :attemptIds
    where file_id = :fileId and line_number = :lineNumber and outcome is null
    returning line_number`,
);

const OUTCOME = columns({ lineNumber: INTEGER, attemptId: nullable(UUID), outcome: word<LineOutcome>() });

/**
 * Stores the outcomes of lines that change the books, each with its attempt, unless they are stored already. Otherwise, an order that
 * gets the reference of a line later could take the place of its attempt. Returns the rows of the lines.
 */
export const beginLines = statement(
  'begin_settlement_lines',
  { fileId: UUID, sent: rows(OUTCOME) },
  `update settlement_line set outcome = sent.outcome, attempt_id = sent.attempt_id from :sent
    where file_id = :fileId and settlement_line.line_number = sent.line_number and settlement_line.outcome is null
    returning settlement_line.line_number`,
);

/** Stores the outcomes of lines, and adds them to the counts of their file. */
export const writeLineOutcomes = statement(
  'write_line_outcomes',
  { fileId: UUID, sent: rows(OUTCOME) },
  `with sent as materialized (select * from :sent), compared as (
      update settlement_line set outcome = sent.outcome, attempt_id = coalesce(sent.attempt_id, settlement_line.attempt_id)
      from sent where file_id = :fileId and settlement_line.line_number = sent.line_number
    )
    update settlement_file set
      matched = matched + (select count(*) from sent where outcome = 'matched'),
      reported = reported + (select count(*) from sent where outcome = 'reported'),
      differs = differs + (select count(*) from sent where outcome = 'differs'),
      duplicate = duplicate + (select count(*) from sent where outcome = 'duplicate'),
      missing_in_ledger = missing_in_ledger + (select count(*) from sent where outcome = 'missing_in_ledger')
    where file_id = :fileId`,
);

const SETTLED = columns({ programId: UUID, attemptId: UUID, fee: BIGINT });

/** Locks the breaks of attempts, in the order in which bookings lock: breaks before attempts. */
export const lockBreaksOfAttempts = statement(
  'lock_breaks_of_attempts',
  { connectorId: TEXT, attemptIds: many(UUID) },
  `select break_id from processor_break where connector_id = :connectorId and attempt_id = any (:attemptIds)
    order by break_id for no key update`,
);

const LOCKED = columns({
  attemptId: UUID,
  settlementFileId: nullable(UUID),
  correctedAmount: BIGINT,
  status: word<Attempt['status']>(),
  contradictedAt: nullable(TIME),
  contradictionSettledAt: nullable(TIME),
});

export const toLocked = LOCKED.read;

/** Locks attempts and reads everything about them that a comparison depends on and that others change. */
export const lockComparedAttempts = statement(
  'lock_compared_attempts',
  { attemptIds: many(UUID) },
  `select ${LOCKED.names} from processor_attempt where attempt_id = any (:attemptIds)
    order by attempt_id for no key update`,
);

/**
 * Closes the open breaks of attempts that were missing in the files and are now in one. Nothing is left to book in these breaks, or in those
 * that were closed without a booking, because the file says that the processor has moved the amount.
 */
export const settleMissing = statement(
  'settle_breaks_missing_in_file',
  { connectorId: TEXT, attemptIds: many(UUID) },
  `update processor_break set stated_amount = amount, ${closedByService("'A settlement file has the order.'")}
    where connector_id = :connectorId and attempt_id = any (:attemptIds) and kind = 'missing_in_file'`,
);

/**
 * Notes on locked attempts that a file has settled them, with the fee of the line that did, in minor units. `acceptedAt` is null
 * unless a person named the attempts.
 */
export const markSettled = statement(
  'mark_attempts_settled',
  { fileId: UUID, acceptedAt: nullable(TIME), sent: rows(SETTLED) },
  `update processor_attempt set settlement_file_id = :fileId, settlement_fee = sent.fee, accepted_at = :acceptedAt from :sent
    where processor_attempt.program_id = sent.program_id and processor_attempt.attempt_id = sent.attempt_id
      and settlement_file_id is null`,
);

/** Reads the last of at most `lines` lines that together have at most `orders` orders, or one more line. No row if none is left. */
export const readPortionEnd = statement(
  'read_settlement_portion_end',
  { fileId: UUID, after: INTEGER, lines: INTEGER, orders: INTEGER },
  `select coalesce(max(line_number) filter (where orders <= :orders), min(line_number)) as until from (
      select line_number, sum(coalesce(cardinality(attempt_ids), 1)) over (order by line_number) as orders from (
        select line_number, attempt_ids from settlement_line
        where file_id = :fileId and line_number > :after order by line_number limit :lines
      ) as portion
    ) as counted having count(*) > 0`,
);

export const toPortionEnd = columns({ until: INTEGER }).read;

/** Removes the attempts of batches between two lines of a withdrawn file. The first number is exclusive, the last inclusive. */
export const clearBatches = statement(
  'clear_settlement_batches',
  { fileId: UUID, after: INTEGER, until: INTEGER },
  `update settlement_line set attempt_ids = null
    where file_id = :fileId and line_number > :after and line_number <= :until and attempt_ids is not null`,
);

/**
 * Removes the notes that the lines between two numbers have left on at most `count` attempts, and resets their breaks to say that
 * the processor has moved nothing. The first number is exclusive, the last inclusive. Returns the rows of the attempts.
 */
export const unmarkSettled = statement(
  'unmark_attempts_settled',
  { fileId: UUID, after: INTEGER, until: INTEGER, count: INTEGER },
  `with ordered as materialized (
      select program_id, attempt_id, connector_id from processor_attempt
      where attempt_id in (
          select unnest(coalesce(attempt_ids, array[attempt_id])) from settlement_line
          where file_id = :fileId and line_number > :after and line_number <= :until
        )
        and settlement_file_id = :fileId
      order by attempt_id limit :count for no key update
    ), restated as (
      update processor_break set stated_amount = 0 from ordered
      where processor_break.connector_id = ordered.connector_id and processor_break.attempt_id = ordered.attempt_id
        and processor_break.kind = 'missing_in_file'
    )
    update processor_attempt set settlement_file_id = null, settlement_fee = null, accepted_at = null from ordered
    where processor_attempt.program_id = ordered.program_id and processor_attempt.attempt_id = ordered.attempt_id
    returning processor_attempt.attempt_id`,
);

const LINE_BREAK = columns({
  breakId: UUID,
  programId: nullable(UUID),
  attemptId: nullable(UUID),
  transferId: nullable(UUID),
  sentAttemptId: nullable(TEXT),
  /** The amount of the first line, in minor units. */
  amount: BIGINT,
  currency: CURRENCY,
  expected: TEXT,
  found: TEXT,
});

export type LineBreak = RowOf<typeof LINE_BREAK.columns>;

/** SQL: whether a new break replaces the texts of the existing break, because a person has closed the existing one. */
const IS_CLOSED = 'known.closed_at is not null and known.kind = excluded.kind';

/**
 * Inserts breaks of one kind. If the same break is open, the lines are added to its text. If it was closed, it reopens with only
 * these lines. If another file or a notice has also caused a break, it stays open when this file is withdrawn.
 */
const insertLineBreaks = (kind: 'duplicate' | 'missing_in_ledger', key: string) =>
  statement(
    `insert_breaks_${kind}`,
    { fileId: UUID, connectorId: TEXT, sent: rows(LINE_BREAK) },
    `insert into processor_break as known (
        break_id, kind, connector_id, program_id, attempt_id, transfer_id, sent_attempt_id, amount, currency, expected, found,
        settlement_file_id, created_at
      )
      select break_id, '${kind}', :connectorId, program_id, attempt_id, transfer_id, sent_attempt_id, amount, currency, expected,
        found, :fileId, service_now()
      from :sent
      on conflict ${key} do update set
        found = case
          when ${IS_CLOSED} then excluded.found
          when char_length(known.found) < ${MAX_FOUND_CHARACTERS} then known.found || ', ' || excluded.found
          else known.found
        end,
        expected = case when ${IS_CLOSED} then excluded.expected else known.expected end,
        amount = case when ${IS_CLOSED} then excluded.amount else known.amount end,
        currency = case when ${IS_CLOSED} then excluded.currency else known.currency end,
        settlement_file_id = case
          when ${IS_CLOSED} then excluded.settlement_file_id
          when known.settlement_file_id = excluded.settlement_file_id then known.settlement_file_id
        end,
        closed_at = null, closed_by = null, resolution = null`,
  );

export const insertDuplicates = insertLineBreaks(
  'duplicate',
  '(connector_id, attempt_id, kind) where attempt_id is not null',
);

export const insertMissing = insertLineBreaks(
  'missing_in_ledger',
  '(connector_id, sent_attempt_id) where sent_attempt_id is not null',
);

/** Closes open breaks that only a withdrawn file caused, at most `count`. Returns their rows. */
export const closeBreaksOfFile = statement(
  'close_breaks_of_file',
  { fileId: UUID, closedBy: TEXT, note: TEXT, count: INTEGER },
  `with ordered as materialized (
      select break_id from processor_break where settlement_file_id = :fileId and closed_at is null
      order by break_id limit :count for no key update
    )
    update processor_break set closed_at = service_now(), closed_by = :closedBy, resolution = :note, announced_at = null
    from ordered where processor_break.break_id = ordered.break_id
    returning processor_break.break_id`,
);

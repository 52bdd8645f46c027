import type { AttemptKind, AttemptStatus } from '../../../domain/processors/attempt.ts';
import type { BookAgainst, BreakKind, Difference } from '../../../domain/processors/break.ts';
import type { OrderKind } from '../../../domain/processors/order.ts';
import { type LineStatus, MAX_PROPOSALS, PROPOSAL_DAYS } from '../../../domain/processors/settlement.ts';
import type { Row, Statement } from '../connection/database.ts';
import { ACCOUNT } from '../ledger/account.ts';
import {
  BIGINT,
  CURRENCY,
  columns,
  INTEGER,
  json,
  many,
  NUMBER,
  nullable,
  type RowOf,
  statement,
  statementVariants,
  TEXT,
  TIME,
  UUID,
  word,
} from '../sql.ts';
import { MAX_NOTICE_FAILURES } from './notices.ts';

const BREAK = columns({
  breakId: UUID,
  kind: word<BreakKind>(),
  connectorId: TEXT,
  programId: nullable(UUID),
  attemptId: nullable(UUID),
  transferId: nullable(UUID),
  /** Minor units. */
  amount: nullable(BIGINT),
  currency: nullable(CURRENCY),
  /** The state in the books. */
  expected: TEXT,
  /** The processor's answer. */
  found: TEXT,
  createdAt: TIME,
  closedAt: nullable(TIME),
  /** The operator, as named in the audit log. */
  closedBy: nullable(TEXT),
  resolution: nullable(TEXT),
  /** The amount that the processor says it has moved, in minor units. Null if that is unknown. */
  statedAmount: nullable(BIGINT),
  /** The account that the difference was last booked against. */
  bookedAgainst: nullable(word<BookAgainst>()),
});

/** The columns of an attempt that the bookings of its break depend on. */
const OF_ATTEMPT = columns({
  attemptKind: word<AttemptKind>(),
  attemptStatus: word<AttemptStatus>(),
  attemptAmount: BIGINT,
  lateApprovalAt: nullable(TIME),
  correctedAmount: BIGINT,
});

/** A line of a settlement file, with its amounts as digits, because a JSON number could not hold every amount exactly. */
export type BreakLine = {
  /** The id of the API. */
  readonly file: string;
  readonly number: number;
  readonly sentAttemptId: string | null;
  readonly processorReference: string | null;
  readonly kind: OrderKind;
  readonly amount: string;
  readonly currency: string;
  readonly fee: string;
  readonly status: LineStatus;
  readonly settledOn: string;
  /** The attempts that a person has accepted as settled by the line, in order. Null if there are none. */
  readonly attemptIds: readonly string[] | null;
};

const LINES = columns({
  lines: json<readonly BreakLine[]>('json'),
  /** Approved attempts that the only line could be about. */
  proposedIds: json<readonly string[]>('json'),
});

/** SQL: the lines that the text `found` of a break names, as `inFile` writes them. */
const LINES_OF_FOUND = `select coalesce(json_agg(json_build_object(
      'file', 'stl_' || named.parts[2], 'number', line_number, 'sentAttemptId', sent_attempt_id,
      'processorReference', processor_reference, 'kind', kind, 'amount', amount::text, 'currency', currency, 'fee', fee::text,
      'status', status, 'settledOn', settled_on,
      'attemptIds', case when outcome = 'missing_in_ledger' then attempt_ids end
    ) order by named.at), '[]') as lines
    from regexp_matches(processor_break.found, '\\(line ([0-9]{1,8}) of stl_([0-9a-f]{32})\\)', 'g')
      with ordinality as named (parts, at)
    join settlement_line on file_id = named.parts[2]::uuid and line_number = named.parts[1]::integer`;

/** SQL: the newest attempts with the connector, direction and amount of an open break's only line, approved in the days before. */
const PROPOSED = `select coalesce(json_agg(attempt_id), '[]') as proposed_ids from (
      select attempt_id from processor_attempt
      where processor_break.kind = 'missing_in_ledger' and closed_at is null and json_array_length(lines) = 1
        and lines -> 0 ->> 'status' = 'settled' and lines -> 0 ->> 'attemptIds' is null
        and processor_attempt.connector_id = processor_break.connector_id and processor_attempt.currency = processor_break.currency
        and processor_attempt.kind = lines -> 0 ->> 'kind' and processor_attempt.amount = processor_break.amount
        and status = 'approved' and settlement_file_id is null
        and updated_at >= ((lines -> 0 ->> 'settledOn')::date - ${PROPOSAL_DAYS})::timestamp at time zone 'UTC'
        and updated_at < ((lines -> 0 ->> 'settledOn')::date + 1)::timestamp at time zone 'UTC'
        and corrected_amount = 0 and (contradicted_at is null or contradiction_settled_at is not null)
      order by updated_at desc, attempt_id limit ${MAX_PROPOSALS}
    ) as near`;

const SELECT = `select ${BREAK.of('processor_break')}, service_now() as now, attempt.*, lines, proposed_ids
    from processor_break left join lateral (
      select kind as attempt_kind, status as attempt_status, amount as attempt_amount, late_approval_at, corrected_amount
      from processor_attempt
      where processor_attempt.program_id = processor_break.program_id and processor_attempt.attempt_id = processor_break.attempt_id
      limit 1
    ) as attempt on true
    cross join lateral (${LINES_OF_FOUND}) as said cross join lateral (${PROPOSED}) as proposal`;

/** A difference between a processor and the books. Ids are inner UUIDs. */
export type Break = RowOf<typeof BREAK.columns> & Pick<Difference, 'attempt'> & RowOf<typeof LINES.columns>;

/** The conditions of a list of breaks. Null for no condition. */
export type BreakFilter = {
  readonly isClosed: boolean;
  readonly kind: BreakKind | null;
  readonly connectorId: string | null;
  readonly programId: string | null;
  /** The id of the API, as it is in the text `found`. */
  readonly file: string | null;
};

const LIST_BREAKS = statementVariants({
  kind: nullable(word<BreakKind>()),
  connectorId: nullable(TEXT),
  programId: nullable(UUID),
  file: nullable(TEXT),
  after: nullable(UUID),
  count: INTEGER,
});

const CONDITIONS = [
  ['kind', 'kind = :kind'],
  ['connectorId', 'connector_id = :connectorId'],
  ['programId', 'program_id = :programId'],
  ['file', 'strpos(found, :file) > 0'],
] as const;

/** Reads a page of breaks after the break with the inner UUID `after`: open breaks oldest first, closed ones newest first. */
export function listBreaks(filter: BreakFilter, after: string | null, count: number): Statement {
  const { isClosed } = filter;
  const used = CONDITIONS.filter(([name]) => filter[name] !== null);
  const state = isClosed ? 'closed' : 'open';
  const name = ['list_breaks', state, ...used.map(([one]) => one), ...(after === null ? [] : ['after'])].join('_');
  const text = (): string => {
    const conditions = [
      `closed_at is ${isClosed ? 'not null' : 'null'}`,
      ...used.map(([, condition]) => condition),
      ...(after === null ? [] : [`break_id ${isClosed ? '<' : '>'} :after`]),
    ];
    return `${SELECT} where ${conditions.join(' and ')}
      order by break_id${isClosed ? ' desc' : ''} limit :count`;
  };
  return LIST_BREAKS(name, text, { ...filter, after, count });
}

export const readBreak = statement('read_break', { breakId: UUID }, `${SELECT} where break_id = :breakId`);

export const lockBreak = statement(
  'lock_break',
  { breakId: UUID },
  `${SELECT} where break_id = :breakId for no key update of processor_break`,
);

/** SQL: whether a break is open and its event has not been written yet. */
const IS_NEW = 'closed_at is null and announced_at is null';

/** Reads, as `due`, whether there is an open break whose event has not been written yet. */
export const READ_WHETHER_BREAKS_ARE_NEW: Statement = {
  name: 'read_whether_breaks_are_new',
  // With an order, because the planner would otherwise scan a large table: it does not know that breaks which are null in
  // both columns are rare.
  text: `select count(*) > 0 as due from (select from processor_break where ${IS_NEW} order by break_id limit 1) as one`,
  values: [],
};

/**
 * Locks and reads open breaks whose event has not been written yet, oldest first. Skips breaks that another process has locked.
 */
export const lockNewBreaks = statement(
  'lock_new_breaks',
  { count: INTEGER },
  `${SELECT} where ${IS_NEW} order by break_id limit :count for no key update of processor_break skip locked`,
);

export const markBreaksAnnounced = statement(
  'mark_breaks_announced',
  { breakIds: many(UUID) },
  'update processor_break set announced_at = service_now() where break_id = any (:breakIds)',
);

/**
 * Locks and reads the accounts that the difference of a break can be booked between: the card program's accounts in that currency,
 * and the card's account.
 */
export const lockAccountsOfBreak = statement(
  'lock_accounts_of_break',
  { programId: UUID, attemptId: UUID, currency: CURRENCY },
  `select ${ACCOUNT.names} from account
    where program_id = :programId and currency = :currency and account_id in (
      select account_id from account
        where owner_id = :programId and kind in ('funding', 'suspense', 'loss') and currency = :currency
      union all select card.account_id from processor_attempt join card using (program_id, card_id)
        where processor_attempt.program_id = :programId and processor_attempt.attempt_id = :attemptId
    )
    order by account_id for no key update`,
);

/** Creates a program's account for the operator's losses in one currency. If the account exists, the transaction fails (23505). */
export const createLossAccount = statement(
  'create_loss_account',
  { programId: UUID, accountId: UUID, currency: CURRENCY, floor: nullable(BIGINT) },
  `insert into account (program_id, account_id, kind, owner_id, currency, floor, created_at)
    values (:programId, :accountId, 'loss', :programId, :currency, :floor, service_now())`,
);

const CLOSE = statement(
  'close_break',
  {
    ...BREAK.pick('breakId', 'closedAt', 'closedBy', 'resolution', 'bookedAgainst').columns,
    correction: BIGINT,
    maxFailures: NUMBER,
  },
  `with closed as (
      update processor_break set closed_at = :closedAt, closed_by = :closedBy, resolution = :resolution,
        booked_against = :bookedAgainst, announced_at = null
      where break_id = :breakId
      returning *
    ), settled as (
      update processor_notice set handled_at = closed.closed_at
      from closed
      where closed.kind = 'unhandled_notice' and processor_notice.connector_id = closed.connector_id
        and processor_notice.attempt_id = closed.attempt_id and processor_notice.handled_at is null
        and processor_notice.tries >= :maxFailures
    )
    update processor_attempt set
      corrected_amount = corrected_amount + :correction,
      contradiction_settled_at = case when contradiction_break_id = closed.break_id then closed.closed_at
        else contradiction_settled_at end,
      late_approval_settled_at = case when processor_attempt.break_id = closed.break_id then closed.closed_at
        else late_approval_settled_at end
    from closed
    where processor_attempt.program_id = closed.program_id and processor_attempt.attempt_id = closed.attempt_id
      and (closed.break_id in (processor_attempt.break_id, contradiction_break_id) or :correction <> 0)`,
);

/**
 * Closes a locked break, marks its contradiction or late approval as settled on the attempt, and ends the retries of its notices.
 * `correction` is the amount that a booking adds to the total that the processor has moved according to the books.
 */
export function closeBreak(closed: Break, correction: bigint): Statement {
  return CLOSE({ ...closed, correction, maxFailures: MAX_NOTICE_FAILURES });
}

/** Reads a break from a row of {@link listBreaks} or {@link lockBreak}, with the time when it was read, by the database's clock. */
export function toBreak(row: Row): { readonly found: Break; readonly now: number } {
  const attempt = row.attempt_kind === null ? null : toAttempt(row);
  return { found: { ...BREAK.read(row), ...LINES.read(row), attempt }, now: (row.now as Date).getTime() };
}

function toAttempt(row: Row): Break['attempt'] {
  const { attemptKind: kind, attemptStatus: status, attemptAmount: amount, ...rest } = OF_ATTEMPT.read(row);
  return { kind, status, amount, ...rest };
}

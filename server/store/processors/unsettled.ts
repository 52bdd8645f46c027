import { REDACTED } from '../../../domain/cards/card-number.ts';
import type { OrderKind } from '../../../domain/processors/order.ts';
import {
  CURRENCY,
  columns,
  INTEGER,
  nullable,
  type RowOf,
  rows,
  SUM,
  statement,
  TEXT,
  TIME,
  UUID,
  word,
} from '../sql.ts';

const RECEIVED = columns({ newestId: nullable(UUID), firstAt: nullable(TIME), newestAt: nullable(TIME), now: TIME });

/**
 * Reads the arrival times of a connector's first and newest file, without withdrawn files. Returns no row while a file is being
 * compared or undone, because an order that is missing now may be found in a moment.
 */
export const readFilesReceived = statement(
  'read_files_received',
  { connectorId: TEXT },
  `select (array_agg(file_id order by created_at desc, file_id desc))[1] as newest_id, min(created_at) as first_at,
      max(created_at) as newest_at, service_now() as now
    from settlement_file where connector_id = :connectorId and status in ('matching', 'withdrawing', 'matched')
    having count(*) filter (where status <> 'matched') = 0`,
);

export const toFilesReceived = RECEIVED.read;

/** The author of breaks that the service closes automatically. */
const SERVICE = 'service';

/** SQL: closes breaks, unless they are closed already. */
export const closedByService = (
  resolution: string,
): string => `closed_at = coalesce(closed_at, service_now()), announced_at = null,
      resolution = case when closed_at is null then ${resolution} else resolution end,
      closed_by = coalesce(closed_by, '${SERVICE}')`;

/** SQL: whether a break is a contradiction that is open, or that had a difference until it was booked. */
const isContradiction = (name: string): string =>
  `${name}.kind = 'contradiction' and (${name}.closed_at is null or ${name}.stated_amount is distinct from ${name}.amount)`;

/** SQL: whether another break covers the difference of an attempt, or covered it until it was booked. */
const IS_CONTRADICTED = `exists (
        select from processor_break as contradiction
        where contradiction.connector_id = processor_attempt.connector_id
          and contradiction.attempt_id = processor_attempt.attempt_id and ${isContradiction('contradiction')}
      )`;

/** SQL: whether a line with the attempt's reference has an open break, so that a person must first say what the line pays. */
const IS_NAMED = `exists (
        select from processor_break as refused
        where refused.connector_id = processor_attempt.connector_id
          and refused.sent_attempt_id = processor_attempt.processor_reference and refused.kind = 'missing_in_ledger'
          and refused.closed_at is null and strpos(processor_attempt.processor_reference, '${REDACTED}') = 0
      )`;

/** SQL: whether an approved attempt is in no settlement file. */
const IS_UNSETTLED = "processor_attempt.status = 'approved' and processor_attempt.settlement_file_id is null";

const ORDER = columns({ programId: UUID, attemptId: UUID });

/** SQL: a program's attempts that were approved in a range of times, and are in no settlement file and no other break. */
const DUE = `processor_attempt
      where processor_attempt.program_id = program.program_id and connector_id = :connectorId and ${IS_UNSETTLED}
        and updated_at > :from and updated_at <= :until and not ${IS_CONTRADICTED} and not ${IS_NAMED}`;

/** Reads approved attempts that are in no settlement file and have no break that reports this. */
export const readMissingOrders = statement(
  'read_missing_orders',
  { connectorId: TEXT, from: TIME, until: TIME, count: INTEGER },
  `select due.* from program cross join lateral (
      select ${ORDER.of('processor_attempt')} from ${DUE}
        and not exists (
          select from processor_break as known
          where known.connector_id = processor_attempt.connector_id and known.attempt_id = processor_attempt.attempt_id
            and known.kind = 'missing_in_file' and known.closed_by is distinct from '${SERVICE}'
        )
      limit :count
    ) as due limit :count`,
);

export const toMissingOrder = ORDER.read;

const MISSING = columns({ breakId: UUID, programId: UUID, attemptId: UUID });

/**
 * Inserts breaks of orders that are missing, unless a file has them by now. A break that the service has closed reopens. A break
 * that a person has closed stays closed.
 */
export const insertMissingInFile = statement(
  'insert_breaks_missing_in_file',
  { connectorId: TEXT, found: TEXT, sent: rows(MISSING) },
  `insert into processor_break as known (
      break_id, kind, connector_id, program_id, attempt_id, transfer_id, amount, currency, expected, found, stated_amount,
      created_at
    )
    select sent.break_id, 'missing_in_file', :connectorId, program_id, attempt_id, transfer_id, amount, currency, status, :found, 0,
      service_now()
    from :sent join processor_attempt using (program_id, attempt_id) where ${IS_UNSETTLED}
    -- Waits for a file that is settling the attempt at this moment.
    for share of processor_attempt
    on conflict (connector_id, attempt_id, kind) where attempt_id is not null do update
      set found = excluded.found, stated_amount = 0, closed_at = null, closed_by = null, resolution = null
      where known.closed_by = '${SERVICE}'`,
);

const WAITING = columns({ oldestAt: nullable(TIME) });

/** Reads when the oldest approved attempt without a settlement file was approved. Always one row. */
export const readWaitingOrders = statement(
  'read_waiting_orders',
  { connectorId: TEXT, from: TIME, until: TIME },
  `select min(oldest.updated_at) as oldest_at from program cross join lateral (
      select updated_at from ${DUE} order by updated_at limit 1
    ) as oldest`,
);

export const toWaitingOrders = WAITING.read;

const FILE_MISSING = columns({ breakId: UUID, connectorId: TEXT, sentAttemptId: TEXT, expected: TEXT, found: TEXT });

export type FileMissing = RowOf<typeof FILE_MISSING.columns>;

/**
 * Inserts the break of a file that has not arrived, unless the break exists. `sentAttemptId` contains the id of the newest file,
 * which is the key of the break. If the service has closed the break because of a file that was withdrawn later, it reopens.
 */
export const insertFileMissing = statement(
  'insert_break_file_missing',
  FILE_MISSING.columns,
  `insert into processor_break as known (${FILE_MISSING.names}, kind, created_at)
    values (:breakId, :connectorId, :sentAttemptId, :expected, :found, 'file_missing', service_now())
    on conflict (connector_id, sent_attempt_id) where sent_attempt_id is not null do update
      set closed_at = null, closed_by = null, resolution = null
      where known.closed_by = '${SERVICE}'`,
);

/** SQL: `numbered`, the numbers of the files of a connector, and `missing`, the numbers between them that no file has. */
const NUMBERS = `numbered as (
      select sequence_number as number, lag(sequence_number) over (order by sequence_number) as before
      from settlement_file where connector_id = :connectorId and sequence_number is not null and status = 'matched'
    ), missing as materialized (
      select coalesce(range_agg(int4range(before + 1, number)) filter (where number > before + 1), '{}') as numbers from numbered
    )`;

/** SQL: the numbers that a break covers. */
const COVERED = "int4range(missing_from, missing_until, '[]')";

/** SQL: numbers of files as a set. `from` is the rest of the query that selects them. */
const asSet = (number: string, from: string): string =>
  `coalesce((select range_agg(int4range(${number}, ${number}, '[]')) ${from}), '{}')`;

/**
 * SQL: {@link NUMBERS}, and `gaps`, the missing numbers that have no break. A number has a break if an open break covers it, or if a
 * person has closed that break, and since then no file with the number has been created, or has ceased to count.
 */
const GAPS = `${NUMBERS}, absent as materialized (
      select sequence_number as number, greatest(created_at, case when matched_at is not null then withdrawn_at end) as since
      from settlement_file where connector_id = :connectorId and sequence_number is not null and status <> 'matched'
    ), known as (
      select coalesce(range_agg(int4multirange(${COVERED}) - ${asSet(
        'number',
        'from absent where number between missing_from and missing_until and since > closed_at',
      )}), '{}') as numbers
      from processor_break
      where connector_id = :connectorId and missing_until is not null and closed_by is distinct from '${SERVICE}'
    ), gaps as materialized (
      select missing.numbers - known.numbers as numbers from missing cross join known
    )`;

/** SQL: files in words, such as `files 12 to 14`. */
const inWords = (from: string, until: string): string =>
  `case when ${from} = ${until} then 'file ' || ${from} else 'files ' || ${from} || ' to ' || ${until} end`;

/**
 * SQL: the next file after the numbers that a break covers, or otherwise the last file, in words. The second condition on the status
 * is that of the index.
 */
const NEXT_FILE = `'file ' || coalesce((
        select min(sequence_number) from settlement_file
        where connector_id = :connectorId and sequence_number > missing_until and status = 'matched'
          and status not in ('withdrawing', 'withdrawn')
      ), (select max(number) from numbered))`;

const GAP = columns({ missingFrom: INTEGER, missingUntil: INTEGER });

/**
 * Reads the numbers that are missing between two files of a connector and have no break, as ranges. A file that is being imported has
 * a day to become complete. At most `count`.
 */
export const readFileGaps = statement(
  'read_file_gaps',
  { connectorId: TEXT, count: INTEGER },
  `with ${GAPS}
    select lower(gap) as missing_from, upper(gap) - 1 as missing_until
    from gaps cross join lateral unnest(gaps.numbers - ${asSet(
      'sequence_number',
      `from settlement_file where connector_id = :connectorId
        and (status = 'matching' or status = 'receiving' and created_at > service_now() - interval '1 day')`,
    )}) as gap
    order by gap limit :count`,
);

export const toFileGap = GAP.read;

const NEW_GAP = columns({ breakId: UUID, missingFrom: INTEGER, missingUntil: INTEGER });

/**
 * Inserts breaks of missing numbers, unless one of the numbers has a file or a break by now. A break that was closed and ends with
 * the same number reopens, and covers only these numbers.
 */
export const insertFileGaps = statement(
  'insert_breaks_file_gaps',
  { connectorId: TEXT, sent: rows(NEW_GAP) },
  `with ${GAPS}
    insert into processor_break as known (
      break_id, kind, connector_id, missing_from, missing_until, expected, found, created_at
    )
    select break_id, 'file_missing', :connectorId, missing_from, missing_until, ${inWords('missing_from', 'missing_until')},
      ${NEXT_FILE}, service_now()
    from :sent cross join gaps where ${COVERED} <@ gaps.numbers
    on conflict (connector_id, missing_until) where missing_until is not null do update
      set missing_from = excluded.missing_from, expected = excluded.expected, found = excluded.found,
        closed_at = null, closed_by = null, resolution = null
      where known.closed_at is not null`,
);

/** The number of ranges that the text of a break names. */
const MAX_NAMED_RANGES = 50;

/** Corrects the texts of open breaks of missing numbers after some of their files have arrived. */
export const updateFileGaps = statement(
  'update_breaks_file_gaps',
  { connectorId: TEXT },
  `with ${NUMBERS}, changed as materialized (
      select break_id, now.expected, now.found
      from processor_break cross join missing cross join lateral (
        select ${NEXT_FILE} as found, case when ${COVERED} <@ missing.numbers then ${inWords('missing_from', 'missing_until')}
          else (select string_agg(
          case when place <= ${MAX_NAMED_RANGES} then ${inWords('lower(files)', '(upper(files) - 1)')}
            when place = ${MAX_NAMED_RANGES + 1} then '…' end,
          ', ' order by place
        ) from unnest(missing.numbers * int4multirange(${COVERED})) with ordinality as part (files, place)) end as expected
      ) as now
      where connector_id = :connectorId and missing_until is not null and closed_at is null
        and ${COVERED} && missing.numbers
        and (now.expected <> processor_break.expected or now.found <> processor_break.found)
      order by break_id for no key update of processor_break
    )
    update processor_break set expected = changed.expected, found = changed.found
    from changed where processor_break.break_id = changed.break_id`,
);

/**
 * Closes open breaks about orders that are no longer missing because they have another break or are no longer approved, about files
 * before the newest one, and about numbers that are no longer missing. At most `count`. Returns their rows.
 */
export const closeFoundBreaks = statement(
  'close_found_breaks',
  { connectorId: TEXT, newestId: nullable(TEXT), count: INTEGER },
  `with ${NUMBERS}, found as materialized (
      select processor_break.break_id
      from missing cross join processor_break left join processor_attempt using (program_id, attempt_id)
      where processor_break.connector_id = :connectorId and closed_at is null and (
        processor_break.kind = 'missing_in_file' and (not (${IS_UNSETTLED}) or ${IS_CONTRADICTED} or ${IS_NAMED})
        or processor_break.kind = 'file_missing' and sent_attempt_id <> :newestId
        or missing_until is not null and not ${COVERED} && missing.numbers
      )
      order by processor_break.break_id limit :count for no key update of processor_break
    )
    update processor_break set stated_amount = null, ${closedByService(
      `case
        when missing_until is not null then 'The missing files have arrived, or no later file is left.'
        when kind = 'file_missing' then 'A settlement file has arrived.'
        else 'The order has another break, or is no longer approved.'
      end`,
    )}
    from found where processor_break.break_id = found.break_id
    returning processor_break.break_id`,
);

const SETTLEMENT = columns({
  connectorId: TEXT,
  currency: CURRENCY,
  kind: word<OrderKind>(),
  opening: SUM,
  approved: SUM,
  settled: SUM,
  resolved: SUM,
  closing: SUM,
  fees: SUM,
});

/**
 * The approved orders of a program in one direction at a connector, as amounts in minor units: open when the day began; approved,
 * settled by a file or resolved by a break on the day; and open when it ended. `fees` is the sum of the fees of the lines that
 * settled orders on the day, whatever the status of the orders is now.
 */
export type SettlementOfDay = RowOf<typeof SETTLEMENT.columns>;

export const toSettlementOfDay = SETTLEMENT.read;

/** SQL: the time when another break took over an order, or when the order was booked as missing. */
const RESOLVED = `select min(case resolving.kind when 'contradiction' then resolving.created_at else resolving.closed_at end) as resolved_at
      from processor_break as resolving
      where resolving.connector_id = processor_attempt.connector_id and resolving.attempt_id = processor_attempt.attempt_id
        and (
          ${isContradiction('resolving')}
          or resolving.kind = 'missing_in_file' and resolving.booked_against is not null
        )`;

/**
 * SQL: `dated`, the orders of a program that were open at some time between `:beginsAt` and `:endsAt`, and when they were approved,
 * settled and resolved. {@link readSettlementsOfDay} says which orders count.
 */
export const DATED_ORDERS = `received as materialized (
      select connector_id, min(created_at) as first_at from settlement_file where status <> 'withdrawn' group by connector_id
    ), orders as (
      select processor_attempt.*, null::timestamptz as settled_at, null::bigint as fee
      from received join processor_attempt using (connector_id)
      where program_id = :programId and ${IS_UNSETTLED} and updated_at > first_at and updated_at < :endsAt
      union all
      select processor_attempt.*, null, null
      from received join processor_attempt using (connector_id)
      where program_id = :programId and ${IS_UNSETTLED} and updated_at <= first_at and updated_at < :endsAt
        and contradicted_at >= :beginsAt and ${IS_CONTRADICTED}
      union all
      select processor_attempt.*, case when matched_at is not null then greatest(matched_at, updated_at) end,
        case when matched_at < :endsAt then settlement_fee end
      from settlement_file join processor_attempt on settlement_file_id = file_id
      where program_id = :programId and accepted_at is null and (matched_at is null or matched_at >= :beginsAt)
        and (processor_attempt.status = 'approved' and updated_at < :endsAt or matched_at < :endsAt)
      union all
      select processor_attempt.*, updated_at, null
      from processor_attempt join settlement_file on file_id = settlement_file_id
      where program_id = :programId and processor_attempt.status = 'approved' and updated_at >= :beginsAt and updated_at < :endsAt
        and accepted_at is null and matched_at < :beginsAt
      union all
      select processor_attempt.*, accepted_at, case when accepted_at < :endsAt then settlement_fee end
      from processor_attempt where program_id = :programId and accepted_at >= :beginsAt and updated_at < :endsAt
    ), dated as (
      -- Other orders have only a fee.
      select attempt_id, connector_id, currency, kind, case when status = 'approved' and updated_at < :endsAt then amount end as amount, fee,
        updated_at as approved_at, settled_at, resolved_at, least(settled_at, resolved_at) as ended_at
      from orders as processor_attempt cross join lateral (${RESOLVED}) as resolution
    )`;

/** SQL: whether an order of {@link DATED_ORDERS} was open at `:endsAt`. */
export const IS_OPEN_AT_END = 'coalesce(ended_at >= :endsAt, true)';

/**
 * Reads the orders of a program over a day, for connectors that have at least one file. A file settles its orders when it has
 * been compared, or when a person has accepted them, so a day that is over does not change. An order whose approval came after
 * its file is settled when it is approved. Orders from before the first file count only if a file settles them, or if the
 * processor contradicts them.
 */
export const readSettlementsOfDay = statement(
  'read_settlements_of_day',
  { programId: UUID, beginsAt: TIME, endsAt: TIME },
  `with ${DATED_ORDERS}
    select connector_id, currency, kind,
      coalesce(sum(amount) filter (where approved_at < :beginsAt and coalesce(ended_at >= :beginsAt, true)), 0) as opening,
      coalesce(sum(amount) filter (where approved_at >= :beginsAt), 0) as approved,
      coalesce(sum(amount) filter (where ended_at = settled_at and ended_at >= :beginsAt and ended_at < :endsAt), 0) as settled,
      coalesce(sum(amount) filter (
        where ended_at is distinct from settled_at and ended_at >= :beginsAt and ended_at < :endsAt
      ), 0) as resolved,
      coalesce(sum(amount) filter (where ${IS_OPEN_AT_END}), 0) as closing,
      coalesce(sum(fee), 0) as fees
    from dated group by connector_id, currency, kind order by connector_id, currency, kind desc`,
);

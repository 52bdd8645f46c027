import type { MoneyMoved } from '../../domain/refusal.ts';
import type { Cause, Json } from '../foundation/redaction.ts';
import type { Row, Statement } from './connection/database.ts';
import {
  columns,
  DATE,
  INTEGER,
  json,
  many,
  NUMBER,
  nullable,
  type RowOf,
  rows,
  SMALLINT,
  statement,
  statementOfRows,
  statementVariants,
  TEXT,
  TIME,
  UUID,
  word,
  wordList,
} from './sql.ts';

/** The columns of an error in a list. They do not include causes. */
const LISTED_ERROR = columns({
  /** Inner UUID (version 7) of the request. The time of the error is in this id. */
  requestId: UUID,
  programId: nullable(UUID),
  caller: nullable(TEXT),
  /** Inner UUID of the API key. Null if there was none, and for errors of earlier versions. */
  keyId: nullable(UUID),
  operation: nullable(TEXT),
  /** Plain text, because earlier versions may have used other codes. */
  code: TEXT,
  status: SMALLINT,
  type: TEXT,
  message: TEXT,
  method: nullable(TEXT),
  path: nullable(TEXT),
  field: nullable(TEXT),
  idempotencyKey: nullable(TEXT),
  cardName: nullable(TEXT),
  /** Inner UUID. */
  transferId: nullable(UUID),
  moneyMoved: nullable(word<MoneyMoved>()),
  request: json<Json>('json'),
  checks: json<Json>('json'),
  traceparent: nullable(TEXT),
});

const ERROR = columns({ ...LISTED_ERROR.columns, causes: json<readonly Cause[]>('json') });

export type LoggedError = RowOf<typeof ERROR.columns>;

export const DROP_REASONS = ['queue_full', 'spool_full', 'spool_torn', 'row_refused', 'unauthenticated'] as const;

export type DropReason = (typeof DROP_REASONS)[number];

const DROP = columns({ dropId: UUID, reason: word<DropReason>(), count: NUMBER, since: TIME, until: TIME });

/** Error responses that were not recorded. Times are in milliseconds since 1970. */
export type Drop = RowOf<typeof DROP.columns>;

/** Returns the time inside a UUIDv7. Any other UUID always gives the same arbitrary time, so that its error is found again. */
export function timeOfId(uuid: string): Date {
  return new Date(Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16));
}

const STORED = columns({ ...ERROR.columns, createdAt: DATE });

// Invariant: error.recorded counts every stored Server and Process Error once
// Kept by: the statement that stores errors
// Tested by: `test/errors/reports.test.ts`

/** Events report errors of these types. For other errors, the response already tells the caller everything. */
export const REPORTED_TYPES: readonly string[] = ['Server Error', 'Process Error'];

/** The time between two events for one code and program. Errors that are stored in between are only counted. */
const INTERVAL = "interval '1 minute'";

/**
 * SQL: part of the statement that stores errors. It counts the rows of `stored` for the next event, in sorted order, so that two
 * processes that count the same errors never deadlock.
 */
const REPORT_STORED = `reported as (
      insert into error_report (program_id, code, count, since, last_at, request_id, status, type, message)
      select program_id, code, count(*), min(created_at), max(created_at),
        (array_agg(request_id order by created_at desc, request_id desc))[1],
        (array_agg(status order by created_at desc, request_id desc))[1],
        (array_agg(type order by created_at desc, request_id desc))[1],
        (array_agg(message order by created_at desc, request_id desc))[1]
      from stored where type in (${wordList(REPORTED_TYPES)})
      group by program_id, code order by program_id, code
      on conflict (program_id, code) do update set
        count = error_report.count + excluded.count,
        since = least(error_report.since, excluded.since),
        (last_at, request_id, status, type, message) = (
          select last_at, request_id, status, type, message from (values
            (error_report.last_at, error_report.request_id, error_report.status, error_report.type, error_report.message),
            (excluded.last_at, excluded.request_id, excluded.status, excluded.type, excluded.message)
          ) as both_of (last_at, request_id, status, type, message)
          order by last_at desc nulls last limit 1
        )
    )`;

const INSERT_ERRORS = statement(
  'insert_errors',
  { errors: rows(STORED) },
  `with stored as (
      insert into error (${STORED.names}) select ${STORED.names} from :errors
      on conflict do nothing returning created_at, request_id, program_id, code, status, type, message
    ),
    ${REPORT_STORED}
    insert into error_count (hour, program_id, code, count)
    select date_trunc('hour', created_at, 'UTC') as hour, program_id, code, count(*) from stored
    group by 1, 2, 3
    -- Always in the same order, so that two processes that count the same errors never deadlock.
    order by 1, 2, 3
    on conflict (hour, program_id, code) do update set count = error_count.count + excluded.count`,
);

/**
 * Inserts errors and counts them in one statement, both for the chart and for the events that report them. An error that is already
 * stored is not changed and not counted again, so a batch can be sent repeatedly.
 */
export function insertErrors(errors: readonly LoggedError[]): Statement {
  return INSERT_ERRORS({ errors: errors.map((error) => ({ ...error, createdAt: timeOfId(error.requestId) })) });
}

/** Inserts counts of dropped errors. A count that is already stored is not counted again. */
export const insertDrops = statementOfRows(
  'insert_error_drops',
  DROP,
  `insert into error_drop (${DROP.names}) select ${DROP.names} from :sent on conflict do nothing`,
);

const READ_ERROR = statementVariants({ requestId: UUID, createdAt: DATE, programId: nullable(UUID) });

/**
 * Reads the error of a request with one look-up in one partition. If `programId` is given, the error must belong to that program.
 */
export function readError(requestId: string, programId: string | null): Statement {
  const name = programId === null ? 'read_error' : 'read_error_of_program';
  const own = programId === null ? '' : ' and program_id = :programId';
  const text = () => `select ${ERROR.names} from error where request_id = :requestId and created_at = :createdAt${own}`;
  return READ_ERROR(name, text, { requestId, createdAt: timeOfId(requestId), programId });
}

/** The conditions of a list of errors. Null means no condition. */
export type ErrorFilter = {
  /** The last error of the previous page (inner UUID of its request). */
  readonly after: string | null;
  readonly count: number;
  readonly programId: string | null;
  readonly codes: readonly string[] | null;
  readonly operation: string | null;
  readonly cardName: string | null;
  /** The start of the period (inclusive). */
  readonly from: Date | null;
  /** The end of the period (exclusive). */
  readonly to: Date | null;
};

const CONDITIONS: readonly (readonly [name: keyof ErrorFilter, condition: string])[] = [
  ['programId', 'program_id = :programId'],
  ['operation', 'operation = :operation'],
  ['cardName', 'card_name = :cardName'],
  ['from', 'created_at >= :from'],
  ['to', 'created_at < :to'],
  ['after', '(created_at, request_id) < (:afterTime::timestamptz, :after::uuid)'],
];

const LIST_ERRORS = statementVariants({
  ...LISTED_ERROR.pick('programId', 'operation', 'cardName').columns,
  from: nullable(DATE),
  to: nullable(DATE),
  after: nullable(UUID),
  afterTime: nullable(DATE),
  codes: many(TEXT),
  count: NUMBER,
});

/**
 * Reads a page of errors, newest first. The SQL contains only the conditions in use, so that each combination has its own plan.
 * Codes are looked up one by one, each for at most one page. For "any of these codes, sorted by time", PostgreSQL would read and
 * sort all errors of these codes.
 */
export function listErrors(filter: ErrorFilter): Statement {
  const used = CONDITIONS.filter(([name]) => filter[name] !== null);
  const verb = filter.codes === null ? 'list_errors' : 'list_errors_of_codes';
  const text = (): string => {
    const conditions = used.map(([, condition]) => condition);
    const all = filter.codes === null ? conditions : ['error.code = wanted.code', ...conditions];
    const where = all.length === 0 ? '' : `where ${all.join(' and ')}`;
    const page = `select ${LISTED_ERROR.names}, created_at from error ${where}
      order by created_at desc, request_id desc limit :count`;
    if (filter.codes === null) return page;
    return `select found.* from unnest(:codes) as wanted(code)
      cross join lateral (${page}) as found order by found.created_at desc, found.request_id desc limit :count`;
  };
  return LIST_ERRORS([verb, ...used.map(([name]) => name)].join('_by_'), text, {
    ...filter,
    codes: filter.codes ?? [],
    afterTime: filter.after === null ? null : timeOfId(filter.after),
  });
}

/** Returns an error from a row of {@link readError} or {@link listErrors}. Errors of a list have no causes. */
export function toLoggedError(row: Row): LoggedError {
  return 'causes' in row ? ERROR.read(row) : { ...LISTED_ERROR.read(row), causes: [] };
}

const COUNT = columns({ start: TIME, code: TEXT, count: NUMBER });

/** The number of errors of a code in an interval. `start` is in milliseconds since 1970. */
export type ErrorCount = RowOf<typeof COUNT.columns>;

const COUNT_ERRORS = statement(
  'count_errors',
  { interval: TEXT, from: DATE, to: DATE, programId: nullable(UUID), code: nullable(TEXT) },
  `select date_trunc(:interval, hour, 'UTC') as start, code, sum(count)::bigint as count from error_count
    where hour >= :from and hour < :to and (:programId::uuid is null or program_id = :programId)
      and (:code::text is null or code = :code)
    group by 1, 2 order by 1, 2`,
);

/** Counts errors by hour or day (UTC) and code, between two full hours. The oldest interval comes first. */
export function countErrors(
  interval: 'hour' | 'day',
  from: Date,
  to: Date,
  programId: string | null,
  code: string | null,
): Statement {
  return COUNT_ERRORS({ interval, from, to, programId, code });
}

export function toErrorCount(row: Row): ErrorCount {
  return COUNT.read(row);
}

const COUNT_DROPS = statement(
  'count_error_drops',
  { from: nullable(DATE), to: nullable(DATE) },
  `select coalesce(sum(count), 0)::bigint as count from error_drop
    where until >= coalesce(:from::timestamptz, '-infinity') and since < coalesce(:to::timestamptz, 'infinity')`,
);

/** Counts the errors that were dropped between two times, as `count`. Null means no bound. */
export function countDrops(from: Date | null, to: Date | null): Statement {
  return COUNT_DROPS({ from, to });
}

const REPORT = columns({
  programId: nullable(UUID),
  code: TEXT,
  count: NUMBER,
  since: TIME,
  requestId: UUID,
  status: SMALLINT,
  type: TEXT,
  message: TEXT,
});

/** The errors of one code and program that no event has reported yet, with the message and the ids of the latest error. */
export type ErrorReport = ReturnType<typeof REPORT.read>;

/**
 * SQL: whether an event is due. Uses the real clock, because a sandbox's clock can be moved. A report with a future time is from
 * before the clock was set back.
 */
const IS_DUE = `count > 0 and (reported_at is null
    or reported_at not between statement_timestamp() - ${INTERVAL} and statement_timestamp())`;

/** Reads, as `due`, whether an event must be written now. */
export const READ_WHETHER_ERRORS_ARE_DUE: Statement = {
  name: 'read_whether_errors_are_due',
  text: `select exists (select from error_report where ${IS_DUE}) as due`,
  values: [],
};

const LOCK_DUE_ERRORS = statement(
  'lock_due_errors',
  { count: INTEGER },
  `select ${REPORT.names}, (extract(epoch from service_now()) * 1000)::bigint as now from error_report where ${IS_DUE}
    order by program_id, code limit :count for no key update skip locked`,
);

/** Locks and reads the errors that an event must report now. Skips errors that another process is about to report. */
export function lockDueErrors(count: number): Statement {
  return LOCK_DUE_ERRORS({ count });
}

/** Returns the reports from the rows of {@link lockDueErrors}, and the service's time in milliseconds since 1970. */
export function toErrorReports(found: readonly Row[]): {
  readonly now: number;
  readonly reports: readonly ErrorReport[];
} {
  return { now: Number(found[0]?.now), reports: found.map(REPORT.read) };
}

const MARK_ERRORS_REPORTED = statement(
  'mark_errors_reported',
  { reports: rows(REPORT.pick('programId', 'code')) },
  `update error_report set count = 0, since = null, last_at = null, request_id = null, status = null, type = null,
      message = null, reported_at = statement_timestamp()
    from :reports
    where error_report.program_id is not distinct from reports.program_id and error_report.code = reports.code`,
);

export function markErrorsReported(reports: readonly ErrorReport[]): Statement {
  return MARK_ERRORS_REPORTED({ reports: reports.map(({ programId, code }) => ({ programId, code })) });
}

/**
 * Deletes at most `count` reports that are no longer needed for the next error of their code. Returns their number as `forgotten`.
 */
export const forgetErrorReports = (count: number): Statement => FORGET_ERROR_REPORTS({ count });

const FORGET_ERROR_REPORTS = statement(
  'forget_error_reports',
  { count: INTEGER },
  `with forgotten as (
      delete from error_report where ctid = any (array(
        select ctid from error_report
        where count = 0 and reported_at not between statement_timestamp() - ${INTERVAL} and statement_timestamp()
        limit :count for update skip locked
      )) and count = 0 returning 1
    )
    select count(*) as forgotten from forgotten`,
);

/** SQL: at most `maxExamined` errors from one end of an index, and whether each is about the transfer. */
const examined = (from: string, where: string, order: 'asc' | 'desc'): string => `
  select ${from}, request_id, created_at,
    program_id = :programId and (transfer_id = :transferId or idempotency_key = :key::text) as matches
  from (
    select * from error where ${where} and created_at >= :since
    order by created_at ${order}, request_id ${order} limit :maxExamined
  ) as error`;

const OF_CARD = 'card_name = :cardName';
const OF_OPERATION = 'program_id = :programId and operation = wanted.operation';

const READ_ERRORS_ABOUT = statement(
  'read_errors_about_transfer',
  {
    programId: UUID,
    transferId: UUID,
    cardName: TEXT,
    key: nullable(TEXT),
    operations: many(TEXT),
    since: DATE,
    maxExamined: NUMBER,
    count: NUMBER,
  },
  // Errors have no index by transfer or key, so this searches the errors near the transfer and the latest errors, which people
  // usually ask about.
  `with examined as materialized (
      (${examined("'card, first' as part", OF_CARD, 'asc')})
      union all (${examined("'card, last' as part", OF_CARD, 'desc')})
      union all select found.* from unnest(:operations) as wanted (operation) cross join lateral (
        (${examined("wanted.operation || ', first' as part", OF_OPERATION, 'asc')})
        union all (${examined("wanted.operation || ', last'", OF_OPERATION, 'desc')})
      ) as found
    ), found as materialized (
      select distinct created_at, request_id from examined where matches
      order by created_at, request_id limit :count
    )
    select error.*, walk.examined
    from (
      select coalesce(max(count), 0) as examined from (select count(*) from examined group by part) as counted
    ) as walk
    left join found on true
    left join lateral (
      select ${LISTED_ERROR.names} from error
      where error.request_id = found.request_id and error.created_at = found.created_at limit 1
    ) as error on true
    order by found.created_at, found.request_id`,
);

type ErrorsAbout = {
  readonly programId: string;
  /** Inner UUID. */
  readonly transferId: string;
  /** The wire id of the transfer's card. */
  readonly cardName: string;
  /** The idempotency key of the transfer's request, or null if it had none. */
  readonly key: string | null;
  /** Operations whose errors name only the transfer, and no card. */
  readonly operations: readonly string[];
  readonly since: Date;
  /** Maximum number of errors that are compared from either end, for the card and for each operation. */
  readonly maxExamined: number;
  readonly count: number;
};

/** Reads errors that are about a transfer or have its idempotency key, oldest first. */
export function readErrorsAbout(about: ErrorsAbout): Statement {
  return READ_ERRORS_ABOUT(about);
}

/** Returns the errors from the rows of {@link readErrorsAbout}, and whether there were more errors than could be compared. */
export function toErrorsAbout(
  rows: readonly Row[],
  { maxExamined }: Pick<ErrorsAbout, 'maxExamined'>,
): { readonly errors: readonly LoggedError[]; readonly isCutShort: boolean } {
  const errors = rows.filter((row) => row.request_id !== null).map(toLoggedError);
  return { errors, isCutShort: Number(rows[0]?.examined) >= maxExamined };
}

import type { MoneyMoved } from '../../domain/refusal.ts';
import type { Cause, Json } from '../foundation/redaction.ts';
import type { Row, Statement } from './connection/database.ts';
import { REPORT_STORED } from './error-report.ts';
import {
  columns,
  DATE,
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
} from './sql.ts';

/** The columns of an error in a list. They do not include causes. */
export const LISTED_ERROR = columns({
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

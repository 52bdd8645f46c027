import type { ErrorType, MoneyMoved } from '../../domain/catalogue-entry.ts';
import type { Row, Statement } from './connection/database.ts';

/** A value that goes into a `json` column. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** One link of the chain of causes, the outermost first. `stack` has the frames only. */
export type Cause = { readonly name: string; readonly message: string; readonly stack: string | null };

/** An error answer as the error log keeps it. Codes are plain text: older versions may have had others. */
export type LoggedError = {
  /** Inner UUID (version 7) of the request; its time is the time of the error. */
  readonly requestId: string;
  readonly programId: string | null;
  readonly caller: string | null;
  readonly operation: string | null;
  readonly code: string;
  readonly status: number;
  readonly type: ErrorType;
  readonly message: string;
  readonly method: string | null;
  readonly path: string | null;
  readonly field: string | null;
  readonly idempotencyKey: string | null;
  readonly cardName: string | null;
  /** Inner UUID. */
  readonly transferId: string | null;
  readonly moneyMoved: MoneyMoved | null;
  readonly request: Json;
  readonly checks: Json;
  readonly causes: readonly Cause[];
};

/** Why errors were answered and not recorded. */
export type DropReason = 'queue_full' | 'spool_full' | 'spool_torn' | 'row_refused' | 'strangers';

/** Errors that were answered and not recorded; times in milliseconds since 1970. */
export type Drop = {
  readonly dropId: string;
  readonly reason: DropReason;
  readonly count: number;
  readonly since: number;
  readonly until: number;
};

/** The time inside a UUIDv7. Any other UUID gives some time, and always the same, so that it is found again. */
export function timeOfId(uuid: string): Date {
  return new Date(Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16));
}

/**
 * Stores errors and counts them, in one statement. An error that is stored already is left as it is and not counted
 * again, so that a batch can be sent as often as it takes.
 */
export function insertErrors(errors: readonly LoggedError[]): Statement {
  const column = <Value>(read: (error: LoggedError) => Value): Value[] => errors.map(read);
  return {
    name: 'insert_errors',
    text: `with stored as (
        insert into error (request_id, created_at, program_id, caller, operation, code, status, type, message, method,
          path, field, idempotency_key, card_name, transfer_id, money_moved, request, checks, causes)
        select * from unnest($1::uuid[], $2::timestamptz[], $3::uuid[], $4::text[], $5::text[], $6::text[],
          $7::smallint[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[],
          $15::uuid[], $16::text[], $17::json[], $18::json[], $19::json[])
        on conflict do nothing returning created_at, program_id, code
      )
      insert into error_count (hour, program_id, code, count)
      select date_trunc('hour', created_at, 'UTC') as hour, program_id, code, count(*) from stored
      group by 1, 2, 3
      -- In one order, so that two processes that count the same never wait for each other in a circle.
      order by 1, 2, 3
      on conflict (hour, program_id, code) do update set count = error_count.count + excluded.count`,
    values: [
      column((error) => error.requestId),
      column((error) => timeOfId(error.requestId)),
      column((error) => error.programId),
      column((error) => error.caller),
      column((error) => error.operation),
      column((error) => error.code),
      column((error) => error.status),
      column((error) => error.type),
      column((error) => error.message),
      column((error) => error.method),
      column((error) => error.path),
      column((error) => error.field),
      column((error) => error.idempotencyKey),
      column((error) => error.cardName),
      column((error) => error.transferId),
      column((error) => error.moneyMoved),
      column((error) => toJson(error.request)),
      column((error) => toJson(error.checks)),
      column((error) => JSON.stringify(error.causes)),
    ],
  };
}

function toJson(value: Json): string | null {
  return value === null ? null : JSON.stringify(value);
}

/** Stores what was dropped; a drop that is stored already is not counted again. */
export function insertDrops(drops: readonly Drop[]): Statement {
  return {
    name: 'insert_error_drops',
    text: `insert into error_drop (drop_id, reason, count, since, until)
      select * from unnest($1::uuid[], $2::text[], $3::bigint[], $4::timestamptz[], $5::timestamptz[])
      on conflict do nothing`,
    values: [
      drops.map((drop) => drop.dropId),
      drops.map((drop) => drop.reason),
      drops.map((drop) => drop.count),
      drops.map((drop) => new Date(drop.since)),
      drops.map((drop) => new Date(drop.until)),
    ],
  };
}

const LISTED = `request_id, program_id, caller, operation, code, status, type, message, method, path, field,
  idempotency_key, card_name, transfer_id, money_moved, request, checks`;

/** Reads the error of a request: one probe of one partition. With a `programId` only if it is that program's. */
export function readError(requestId: string, programId: string | null): Statement {
  const own = programId === null ? '' : ' and program_id = $3';
  return {
    name: programId === null ? 'read_error' : 'read_error_of_program',
    text: `select ${LISTED}, causes from error where request_id = $1 and created_at = $2${own}`,
    values: [requestId, timeOfId(requestId), ...(programId === null ? [] : [programId])],
  };
}

/** What a list of errors is narrowed to; null where it is not. */
export type ErrorFilter = {
  /** The last error of the page before (inner UUID of its request). */
  readonly after: string | null;
  readonly count: number;
  readonly programId: string | null;
  /** Errors with one of these codes. */
  readonly codes: readonly string[] | null;
  readonly operation: string | null;
  readonly cardName: string | null;
  /** First moment, included. */
  readonly from: Date | null;
  /** Last moment, not included. */
  readonly to: Date | null;
};

const CONDITIONS: readonly (readonly [name: keyof ErrorFilter, condition: (place: string) => string])[] = [
  ['programId', (place) => `program_id = ${place}`],
  ['operation', (place) => `operation = ${place}`],
  ['cardName', (place) => `card_name = ${place}`],
  ['from', (place) => `created_at >= ${place}`],
  ['to', (place) => `created_at < ${place}`],
];

/**
 * Reads a page of errors, newest first. The text has only the conditions that are asked for, so that each has the plan
 * that suits it. Codes are probed one by one, each for one page at most: "any of these codes, sorted by time" would
 * have PostgreSQL read and sort them all.
 */
export function listErrors(filter: ErrorFilter): Statement {
  const values: unknown[] = [filter.count];
  const place = (value: unknown): string => `$${values.push(value)}`;
  const used = CONDITIONS.filter(([name]) => filter[name] !== null);
  const conditions = used.map(([name, condition]) => condition(place(filter[name])));
  const names = used.map(([name]) => name as string);
  if (filter.after !== null) {
    const [time, id] = [place(timeOfId(filter.after)), place(filter.after)];
    conditions.push(`(created_at, request_id) < (${time}::timestamptz, ${id}::uuid)`);
    names.push('after');
  }
  const probed = filter.codes === null ? conditions : ['error.code = asked.code', ...conditions];
  const where = probed.length === 0 ? '' : `where ${probed.join(' and ')}`;
  const page = `select ${LISTED}, created_at from error ${where} order by created_at desc, request_id desc limit $1`;
  if (filter.codes === null) return { name: ['list_errors', ...names].join('_by_'), text: page, values };
  return {
    name: ['list_errors_of_codes', ...names].join('_by_'),
    text: `select found.* from unnest(${place(filter.codes)}::text[]) as asked(code)
      cross join lateral (${page}) as found order by found.created_at desc, found.request_id desc limit $1`,
    values,
  };
}

/** An error from a row of {@link readError} or {@link listErrors}; a list has no causes. */
export function toLoggedError(row: Row): LoggedError {
  return {
    requestId: row.request_id as string,
    programId: row.program_id as string | null,
    caller: row.caller as string | null,
    operation: row.operation as string | null,
    code: row.code as string,
    status: row.status as number,
    type: row.type as ErrorType,
    message: row.message as string,
    method: row.method as string | null,
    path: row.path as string | null,
    field: row.field as string | null,
    idempotencyKey: row.idempotency_key as string | null,
    cardName: row.card_name as string | null,
    transferId: row.transfer_id as string | null,
    moneyMoved: row.money_moved as MoneyMoved | null,
    request: row.request as Json,
    checks: row.checks as Json,
    causes: (row.causes as readonly Cause[] | undefined) ?? [],
  };
}

/** How many errors an interval had of a code; `start` in milliseconds since 1970. */
export type ErrorCount = { readonly start: number; readonly code: string; readonly count: number };

/** Counts errors by hour or day (UTC) and code, between two moments that begin an hour. Oldest first. */
export function countErrors(
  interval: 'hour' | 'day',
  from: Date,
  to: Date,
  programId: string | null,
  code: string | null,
): Statement {
  return {
    name: 'count_errors',
    text: `select date_trunc($1, hour, 'UTC') as start, code, sum(count)::bigint as count from error_count
      where hour >= $2 and hour < $3 and ($4::uuid is null or program_id = $4) and ($5::text is null or code = $5)
      group by 1, 2 order by 1, 2`,
    values: [interval, from, to, programId, code],
  };
}

/** A count from a row of {@link countErrors}. */
export function toErrorCount(row: Row): ErrorCount {
  return { start: (row.start as Date).getTime(), code: row.code as string, count: Number(row.count) };
}

/** How many errors were dropped between two moments, as column `count`; null where there is no bound. */
export function countDrops(from: Date | null, to: Date | null): Statement {
  return {
    name: 'count_error_drops',
    text: `select coalesce(sum(count), 0)::bigint as count from error_drop
      where until >= coalesce($1::timestamptz, '-infinity') and since < coalesce($2::timestamptz, 'infinity')`,
    values: [from, to],
  };
}

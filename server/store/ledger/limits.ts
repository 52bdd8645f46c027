import {
  type CountedDay,
  type CounterChange,
  type Direction,
  type DirectionLimits,
  type LimitName,
  type Limits,
  LONGEST_DAYS,
  limitsNothing,
  namesIn,
} from '../../../domain/ledger/limits.ts';
import { MAX_HOLD_MILLISECONDS } from '../../../domain/transfers/transfer.ts';
import type { Statement } from '../connection/database.ts';
import {
  BIGINT,
  type Column,
  columns,
  ctidOf,
  json,
  NUMBER,
  statement,
  statementOfRows,
  TIME,
  UUID,
  word,
} from '../sql.ts';

// Invariant: A limit counter is kept as long as it can be read or changed
// Tested by: `test/store/old-counters.test.ts`

/** Limits in their stored form: whole numbers, with the field names of the contract. */
export type StoredLimits = {
  readonly in?: Readonly<Partial<Record<LimitName, number>>>;
  readonly out?: Readonly<Partial<Record<LimitName, number>>>;
  readonly maximum_balance?: number;
};

export function toLimits(stored: unknown): Limits | null {
  if (stored === null || stored === undefined) return null;
  const { in: incoming, out, maximum_balance: most } = stored as StoredLimits;
  const maximumBalance = most === undefined ? null : BigInt(most);
  return { in: toDirection(incoming), out: toDirection(out), maximumBalance };
}

export function fromLimits(limits: Limits | null): StoredLimits | null {
  if (limits === null || limitsNothing(limits)) return null;
  return {
    ...(Object.keys(limits.in).length === 0 ? {} : { in: fromDirection(limits.in) }),
    ...(Object.keys(limits.out).length === 0 ? {} : { out: fromDirection(limits.out) }),
    ...(limits.maximumBalance === null ? {} : { maximum_balance: Number(limits.maximumBalance) }),
  };
}

/** Restores the order of the contract, because `jsonb` does not keep it. Limits from a newer version come last. */
function toDirection(stored: StoredLimits['in'] = {}): DirectionLimits {
  const limits: { [Name in LimitName]?: bigint } = {};
  for (const name of namesIn(stored)) {
    const value = stored[name];
    if (value !== undefined) limits[name] = BigInt(value);
  }
  return limits;
}

function fromDirection(limits: DirectionLimits): Partial<Record<LimitName, number>> {
  return Object.fromEntries(Object.entries(limits).map(([name, value]) => [name, Number(value)]));
}

export const LIMITS: Column<Limits | null> = {
  ...json<Limits | null>(),
  read: toLimits,
  write: (limits) => {
    const stored = fromLimits(limits);
    return stored === null ? null : JSON.stringify(stored);
  },
};

export type CounterChangeOf = CounterChange & { readonly programId: string };

/** Number of days that can count in a current period. The extra days allow for time zones and for wrong clocks of services. */
export const READ_DAYS = Math.max(...Object.values(LONGEST_DAYS)) + 9;

const DAY = 24 * 60 * 60 * 1000;

/** Longest time from the start of the day that counts a hold to the end of the hold, in days. A day has up to 25 hours. */
export const HELD_DAYS = MAX_HOLD_MILLISECONDS / DAY + 2;

/**
 * Counters are stored for this many days. That is longer than any read goes back, and longer than the longest hold: when a hold
 * ends, its amount is subtracted from the day that counted it. The extra days are for holds that end late because the service was
 * down.
 */
export const KEPT_COUNTER_DAYS = Math.max(HELD_DAYS, READ_DAYS) + 8;

/**
 * SQL: the counted days of an account that a current period can contain, as JSON. The parameters are columns. The clock is read in
 * a subquery, so that the planner can use it as an index condition instead of reading the whole history.
 */
export function countedDays(program: string, account: string): string {
  return `(
    select coalesce(
        json_agg(json_build_array(direction, (extract(epoch from day_start) * 1000)::bigint, amount::text, count::text)),
        '[]'
      )
    from limit_counter
    where limit_counter.program_id = ${program} and limit_counter.account_id = ${account}
      and direction in ('in', 'out') and day_start > (select service_now()) - interval '${READ_DAYS} days'
  )`;
}

export type CountedDays = { readonly [Way in Direction]: readonly CountedDay[] };

/** Returns the result of {@link countedDays}, or null if it was not requested. */
export function toCountedDays(found: unknown): CountedDays | null {
  if (found === null || found === undefined) return null;
  const rows = found as readonly (readonly [string, number, string, string])[];
  const days = rows.map(([direction, dayStart, amount, count]) => ({
    direction,
    day: { dayStart, amount: BigInt(amount), count: BigInt(count) },
  }));
  const of = (wanted: string): readonly CountedDay[] =>
    days.flatMap(({ direction, day }) => (direction === wanted ? [day] : []));
  return { in: of('in'), out: of('out') };
}

const COUNTER = columns({
  programId: UUID,
  accountId: UUID,
  direction: word<Direction>(),
  dayStart: TIME,
  amount: BIGINT,
  count: BIGINT,
});

const COUNTER_KEY = ['program_id', 'account_id', 'direction', 'day_start'];

/** Returns one change for each counter, because one statement cannot change a row twice. */
export function sumChanges(changes: readonly CounterChangeOf[]): readonly CounterChangeOf[] {
  const sums = new Map<string, CounterChangeOf>();
  for (const change of changes) {
    const key = `${change.accountId} ${change.direction} ${change.dayStart}`;
    const known = sums.get(key);
    const sum =
      known === undefined
        ? change
        : { ...known, amount: known.amount + change.amount, count: known.count + change.count };
    sums.set(key, sum);
  }
  return [...sums.values()];
}

/** Adds to existing counters. A negative change subtracts. Subtracting too much would violate a CHECK. */
export const updateCounters = statementOfRows(
  'update_counters',
  COUNTER,
  `update limit_counter set amount = limit_counter.amount + sent.amount, count = limit_counter.count + sent.count
    from :sent cross join lateral (${ctidOf('limit_counter', COUNTER_KEY)}) as found
    where limit_counter.ctid = found.ctid`,
);

/**
 * Inserts the counters that do not exist yet. It is merged into one statement with {@link updateCounters}. Both see the
 * tables as they were before the statement, so exactly one of them makes each change. An insert with ON CONFLICT could
 * do both. But it writes a lock to the WAL for each row that it updates, and nearly every counter already exists.
 */
export const insertCounters = statementOfRows(
  'insert_counters',
  COUNTER,
  `with missing as materialized (
      select ${COUNTER.names} from :sent where (${ctidOf('limit_counter', COUNTER_KEY)}) is null
    )
    insert into limit_counter (${COUNTER.names}) select ${COUNTER.names} from missing`,
);

/** The number of the lock for deleting counters. No other lock of this kind has it. */
const FORGET_LOCK = { space: 7201, number: 2 };

const FORGET_COUNTERS = statement(
  'forget_counters',
  { count: NUMBER },
  `with turn as materialized (
      select pg_try_advisory_xact_lock(${FORGET_LOCK.space}, ${FORGET_LOCK.number}) as is_ours
    ), overdue as materialized (
      select program_id, day_start from hold
      where expires_at < statement_timestamp() - interval '${KEPT_COUNTER_DAYS - HELD_DAYS} days'
    ), old as (
      select ctid from limit_counter
      where (day_start at time zone 'UTC')::date
          < (statement_timestamp() at time zone 'UTC')::date - ${KEPT_COUNTER_DAYS}
        and (select is_ours from turn) and not exists (
          select from overdue
          where overdue.program_id = limit_counter.program_id and overdue.day_start = limit_counter.day_start
        )
      order by (day_start at time zone 'UTC')::date limit :count
    ), gone as (delete from limit_counter where ctid in (select ctid from old) returning 1)
    select count(*) as forgotten from gone`,
);

/**
 * Deletes at most `count` counters that are older than {@link KEPT_COUNTER_DAYS}. Returns their number as `forgotten`.
 *
 * It locks no account, because no transaction can need these rows. They are not read: reads go back {@link READ_DAYS}
 * days, by a clock that is never behind the database's own clock, which this statement uses. Nothing is added to them,
 * because transfers add to the current day. Nothing is subtracted from them, because the counters for the day of an
 * open hold are kept, even if the hold ends late. There are few such old holds, because they should already have ended.
 * Only one process at a time deletes. The others do nothing instead of waiting.
 */
export function forgetCounters(count: number): Statement {
  return FORGET_COUNTERS({ count });
}

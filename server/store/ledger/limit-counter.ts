import type { CountedDay, CounterChange } from '../../../domain/ledger/limits.ts';
import { LONGEST_HOLD } from '../../../domain/transfers/hold.ts';
import type { Statement } from '../connection/database.ts';
import { plainArray } from '../texts.ts';

/** A change of a counter within its program. */
export type CounterChangeOf = CounterChange & { readonly programId: string };

/** Days that can be counted in a running period: a month's, and those of a week that began in the month before. */
const READ_DAYS = 40;

const DAY = 24 * 60 * 60 * 1000;

/** From the start of the day on which a hold is counted to its end, in days: a day has up to 25 hours. */
const HELD_DAYS = LONGEST_HOLD / DAY + 2;

/**
 * How long counters are kept, in days. Longer than they are read, and longer than the longest hold, whose end gives back
 * to the day it was counted on; the days beyond are for holds that end late, because the service did not run.
 */
export const KEPT_COUNTER_DAYS = HELD_DAYS + 8;

/**
 * SQL for the counted days of an account that any running period can hold, as JSON. `account` names a column. The clock is read by a subquery, once: read for each row, it
 * could not be looked for in the index, and every day of the history would be read.
 */
export function countedDays(program: string, account: string): string {
  return `(
    select json_agg(json_build_array(direction, (extract(epoch from day_start) * 1000)::bigint, amount::text, count::text))
    from limit_counter
    where limit_counter.program_id = ${program} and limit_counter.account_id = ${account}
      and direction in ('in', 'out') and day_start > (select service_now()) - interval '${READ_DAYS} days'
  )`;
}

/** What {@link countedDays} found, by direction. */
export function toCountedDays(found: unknown): {
  readonly in: readonly CountedDay[];
  readonly out: readonly CountedDay[];
} {
  const rows = (found ?? []) as readonly (readonly [string, number, string, string])[];
  const days = rows.map(([direction, dayStart, amount, count]) => ({
    direction,
    day: { dayStart, amount: BigInt(amount), count: BigInt(count) },
  }));
  const of = (wanted: string): readonly CountedDay[] =>
    days.flatMap(({ direction, day }) => (direction === wanted ? [day] : []));
  return { in: of('in'), out: of('out') };
}

const CHANGED = `unnest($1::uuid[], $2::uuid[], $3::text[], $4::timestamptz[], $5::bigint[], $6::bigint[])
  as changed(program_id, account_id, direction, day_start, amount, count)`;

/** Adds to counters; those that are not there yet begin with what is added. */
export function addToCounters(changes: readonly CounterChangeOf[]): Statement {
  return {
    name: 'add_to_counters',
    text: `insert into limit_counter (program_id, account_id, direction, day_start, amount, count)
      select * from ${CHANGED}
      on conflict (program_id, account_id, direction, day_start) do update
        set amount = limit_counter.amount + excluded.amount, count = limit_counter.count + excluded.count`,
    values: valuesOf(changes),
  };
}

/** Gives back to counters that are there: changes that take away. One that took too much would break a CHECK. */
export function giveBackToCounters(changes: readonly CounterChangeOf[]): Statement {
  return {
    name: 'give_back_to_counters',
    text: `update limit_counter set amount = limit_counter.amount + changed.amount,
        count = limit_counter.count + changed.count
      from ${CHANGED}
      where limit_counter.program_id = changed.program_id and limit_counter.account_id = changed.account_id
        and limit_counter.direction = changed.direction and limit_counter.day_start = changed.day_start`,
    values: valuesOf(changes),
  };
}

/** Any number that no other lock of this kind has: whoever holds it is the one that removes counters. */
const FORGET_LOCK = { space: 7201, number: 2 };

/**
 * Removes counters that are older than {@link KEPT_COUNTER_DAYS}, at most `count` at a time; gives their number as
 * `forgotten`.
 *
 * No transaction can want one of these rows, so no account has to be locked for it. They are not read: reads go back
 * {@link READ_DAYS} by a clock that is never behind the database's own, which alone decides here. They are not added to:
 * transfers add to the current day. And they are not given back to: a day on which a hold was counted that is still open
 * stays, however late that hold ends. Holds that are open and that old are few, for they are past their end; they are
 * found by it. One process at a time removes, and the others find nothing to do rather than wait.
 */
export function forgetCounters(count: number): Statement {
  return {
    name: 'forget_counters',
    text: `with turn as materialized (
        select pg_try_advisory_xact_lock(${FORGET_LOCK.space}, ${FORGET_LOCK.number}) as is_ours
      ), overdue as materialized (
        select program_id, day_start from hold
        where expires_at < (select clock_timestamp()) - interval '${KEPT_COUNTER_DAYS - HELD_DAYS} days'
      ), old as (
        select ctid from limit_counter
        where (day_start at time zone 'UTC')::date
            < ((select clock_timestamp()) at time zone 'UTC')::date - ${KEPT_COUNTER_DAYS}
          and (select is_ours from turn) and not exists (
            select from overdue
            where overdue.program_id = limit_counter.program_id and overdue.day_start = limit_counter.day_start
          )
        order by (day_start at time zone 'UTC')::date limit $1
      ), gone as (delete from limit_counter where ctid in (select ctid from old) returning 1)
      select count(*) as forgotten from gone`,
    values: [count],
  };
}

function valuesOf(changes: readonly CounterChangeOf[]): readonly unknown[] {
  return [
    plainArray(changes.map((change) => change.programId)),
    plainArray(changes.map((change) => change.accountId)),
    plainArray(changes.map((change) => change.direction)),
    changes.map((change) => new Date(change.dayStart)),
    plainArray(changes.map((change) => change.amount)),
    plainArray(changes.map((change) => change.count)),
  ];
}

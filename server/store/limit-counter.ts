import type { CountedDay, CounterChange } from '../../domain/limits.ts';
import type { Statement } from './database.ts';
import { plainArray } from './texts.ts';

/** A change of a counter within its program. */
export type CounterChangeOf = CounterChange & { readonly programId: string };

/**
 * SQL for the counted days of an account that any running period can hold, as JSON: a month's days, and those of a week
 * that began in the month before. `account` names a column. The clock is read by a subquery, once: read for each row, it
 * could not be looked for in the index, and every day of the history would be read.
 */
export function countedDays(program: string, account: string): string {
  return `(
    select json_agg(json_build_array(direction, (extract(epoch from day_start) * 1000)::bigint, amount::text, count::text))
    from limit_counter
    where limit_counter.program_id = ${program} and limit_counter.account_id = ${account}
      and direction in ('in', 'out') and day_start > (select service_now()) - interval '40 days'
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

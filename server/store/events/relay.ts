import { EVERY_PROGRAM } from '../../../domain/event.ts';
import type { Row, Statement } from '../connection/database.ts';
import { columns, INTEGER, many, nullable, statement, UUID } from '../sql.ts';

// Invariant: Every committed event has exactly one position, without a gap, and uncommitted events have none. If one
//   transaction could see the commit of another, its events come after the other's
// Kept by: the relay: its lock, then a new snapshot; marks and positions in one transaction
// Tested by: `test/store/events/order.test.ts`, `test/store/events/concurrency.test.ts`, `verification/mutants/relay.ts`

/**
 * The lock that allows only one process at a time to number events. Advisory locks belong to the whole database, so the key
 * includes a table of the schema, as for the switch. Only a later statement may read the events to number, because only that
 * statement sees the commits of the lock's previous holder.
 */
export const HOLD_RELAY: Statement = {
  name: 'hold_relay',
  text: "select pg_advisory_xact_lock(7202, 'event_head'::regclass::oid::int)",
  values: [],
};

/** How many transactions are numbered at once. The number is small, so that other processes wait only a few milliseconds. */
export const MAX_RELAYED = 200;

const RELAYED = columns({ found: INTEGER, programIds: many(UUID) });

export type Relayed = {
  /** The number of transactions that were found. If it is {@link MAX_RELAYED}, more may be waiting. */
  readonly found: number;
  /** The programs that have new positions. The nil UUID stands for the service itself. */
  readonly programIds: readonly string[];
};

const RELAY_EVENTS = statement(
  'relay_events',
  { withinSeconds: nullable(INTEGER), everyProgram: UUID, count: INTEGER },
  `with waiting as materialized (
      select batch_id, created_at, events_at, event_programs, event_counts from write_batch
      where not relayed and not abandoned
        and created_at >= coalesce(statement_timestamp() - make_interval(secs => :withinSeconds), '-infinity')
      order by created_at, batch_id limit :count
    ), sent as (
      select batch_id, created_at, events_at, program_id, count, coalesce(sum(count)
          filter (where program_id <> :everyProgram)
          over (order by created_at, batch_id, program_id rows between unbounded preceding and 1 preceding), 0) as numbered
      from waiting cross join lateral unnest(event_programs, event_counts) as own (program_id, count)
    ), placed as (
      select own_or_shared.*, coalesce(sum(count)
          over (partition by program_id order by created_at, batch_id, is_shared
            rows between unbounded preceding and 1 preceding), 0) as before
      from (
        select batch_id, created_at, events_at, program_id, count, numbered, false as is_shared from sent
        where program_id <> :everyProgram
        union all
        select batch_id, sent.created_at, events_at, program.program_id, count, numbered, true from sent cross join program
        where sent.program_id = :everyProgram
      ) as own_or_shared
    ), added as (
      select program_id, sum(count) as count from placed group by program_id
      union all
      select :everyProgram::uuid, coalesce(sum(count) filter (where not is_shared), 0) from placed having count(*) > 0
    ), head as (
      insert into event_head as stored (program_id, position) select program_id, count from added order by program_id
      on conflict (program_id) do update set position = stored.position + excluded.position
      returning program_id, position
    ), numbers as (
      select position - count as last from head join added using (program_id) where program_id = :everyProgram
    ), written as (
      insert into event_position (program_id, position, count, batch_id, events_at, number, is_shared, relayed_at)
      select placed.program_id, head.position - added.count + before + 1, placed.count, batch_id, events_at,
        numbers.last + numbered + case when is_shared then 0 else 1 end, is_shared, clock_timestamp()
      from placed join added using (program_id) join head using (program_id) cross join numbers
      returning events_at, number, count, is_shared
    ), day as (
      insert into event_day as stored (day, last_number)
      select (events_at at time zone 'UTC')::date, max(number + case when is_shared then 0 else count - 1 end)
      from written group by 1
      on conflict (day) do update set last_number = greatest(stored.last_number, excluded.last_number)
    ), marked as (
      update write_batch set relayed = true where batch_id = any (array(select batch_id from waiting))
    )
    select (select count(*)::integer from waiting) as found,
      array(select program_id from added where program_id <> :everyProgram) as program_ids`,
);

/**
 * Gives positions to the events of up to `count` committed transactions that have none yet. The order is the time of their
 * fences, by the database's clock. A transaction that began after the response to another one comes after it.
 *
 * If a transaction commits after younger ones were numbered, it comes after them. Must follow {@link HOLD_RELAY} in the same
 * transaction.
 *
 * `withinSeconds` limits the search to fences of the last seconds, because numbered fences stay in the index as long as a
 * snapshot can see them. Null means no limit.
 */
export function relayEvents(withinSeconds: number | null, count: number = MAX_RELAYED): Statement {
  return RELAY_EVENTS({ withinSeconds, everyProgram: EVERY_PROGRAM, count });
}

export function toRelayed([row]: readonly Row[]): Relayed {
  if (row === undefined) throw new Error('the relay returned no row');
  return RELAYED.read(row) as Relayed;
}

import type { Database, Row, Statement } from '../connection/database.ts';
import { COMMIT_MILLISECONDS } from '../connection/standby.ts';
import { toQuery } from '../connection/work.ts';
import { BOOLEAN, columns, type RowOf, statement, TEXT, UUID } from '../sql.ts';

// Invariant: The last day of each card program is checked once by one process, and again every hour while it does not add up
// Kept by: an advisory lock, and the row of the result
// Tested by: `test/api/day-checks.test.ts`

/** A day that does not add up is checked again after this time, so that a correction becomes visible. */
const AGAIN_MINUTES = 60;

/** SQL: the time, which {@link YESTERDAY} needs. */
const CLOCK = 'clock as materialized (select service_now() as now)';

/**
 * SQL: common table expressions. `yesterday` has the last day of each card program, in its time zone, with the result of its
 * check. A card program that was created today has none.
 */
export const YESTERDAY = `zone as materialized (
      select time_zone, day, instant_of((day + 1)::timestamp, time_zone) as ends_at
      from (
        select time_zone, ((select now from clock) at time zone time_zone)::date - 1 as day
        from (select distinct time_zone from program) as named
      ) as dated
    ), yesterday as materialized (
      select program.program_id, program.name, zone.*, day_check.adds_up, day_check.checked_at
      from program join zone using (time_zone)
      left join day_check on day_check.program_id = program.program_id and day_check.day = zone.day
      where program.created_at < zone.ends_at
    )`;

const DUE = columns({ programId: UUID, timeZone: TEXT, day: TEXT });

/** A day to check. */
export type DueDay = RowOf<typeof DUE.columns>;

/** Reads the days to check: no posting can be added to them any more, and they have no result, or a bad one that is old. */
export const READ_DUE_DAYS: Statement = {
  name: 'read_due_days',
  text: `with ${CLOCK}, ${YESTERDAY}
    select program_id, time_zone, day::text from yesterday cross join clock
    where ends_at <= now - interval '${COMMIT_MILLISECONDS} milliseconds' and (
      adds_up is null or not adds_up and checked_at not between now - interval '${AGAIN_MINUTES} minutes' and now
    )
    order by program_id`,
  values: [],
};

const STORE_CHECK = statement(
  'store_day_check',
  { programId: UUID, day: TEXT, addsUp: BOOLEAN },
  `insert into day_check (program_id, day, adds_up, checked_at)
    values (:programId, :day::date, :addsUp, service_now())
    on conflict (program_id) do update
      set day = excluded.day, adds_up = excluded.adds_up, checked_at = excluded.checked_at`,
);

/** SQL: as for a verification of the books, see `books-verification.ts`. */
const PREPARE = `select set_config('client_connection_check_interval', '1000', false),
  set_config('max_parallel_workers_per_gather', '0', false),
  pg_try_advisory_lock(7204, 'day_check'::regclass::oid::int) as taken`;

export type Read = (statement: Statement) => Promise<readonly Row[]>;

/**
 * Gives each due day to `check`, one after the other, and stores the results. Uses a separate connection without time limits,
 * because a day can have many postings. Does nothing if another process does this at the moment. A day that cannot be checked does
 * not affect the others: the first failure is thrown at the end. Rejects when the signal aborts.
 */
export function checkDueDays(
  database: Database,
  check: (read: Read, due: DueDay) => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  return database.alone(async (client) => {
    const [prepared] = (await client.query<{ taken: boolean }>(PREPARE)).rows;
    if (prepared?.taken !== true) return;
    let failure: { readonly error: unknown } | undefined;
    const read: Read = async (one) => (await client.query<Row>(toQuery(one))).rows;
    // Read under the lock, because another process may have just checked them.
    for (const row of await read(READ_DUE_DAYS)) {
      const due = DUE.read(row);
      try {
        await read(STORE_CHECK({ ...due, addsUp: await check(read, due) }));
      } catch (error) {
        failure ??= { error };
      }
    }
    if (failure !== undefined) throw failure.error;
  }, signal);
}

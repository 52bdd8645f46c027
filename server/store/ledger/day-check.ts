import type { Database, Row, Statement } from '../connection/database.ts';
import { StoreFailure } from '../connection/failure.ts';
import { COMMIT_MILLISECONDS } from '../connection/standby.ts';
import { toQuery } from '../connection/work.ts';
import { MAX_NAMED_PROGRAMS } from '../figures.ts';
import { BOOLEAN, columns, json, NUMBER, type RowOf, statement, TEXT, UUID } from '../sql.ts';

// Invariant: The last day of each card program is checked by one process, and again every hour while it does not add up
// Kept by: an advisory lock, and the row of the result, which stays until the day adds up or is closed
// Tested by: `test/api/day-checks.test.ts`

/** A day that does not add up is checked again after this time, so that a correction becomes visible. */
const AGAIN_MINUTES = 60;

/** Maximum number of days that are checked again in one round. The others follow in the next round. */
const MAX_AGAIN = 100;

/** A day that has no result this long after its end is late, unless a sandbox's clock has just been moved. */
const LATE_MINUTES = 60;

const SETTLED = `interval '${COMMIT_MILLISECONDS} milliseconds'`;

/**
 * SQL: common table expressions. `yesterday` has the last day of each card program, in its time zone, with the result of its
 * check. A card program that was created today has none. A result from outside the time in which the day can be checked was stored
 * before a clock went back, and does not count. `earlier` has the days before that do not add up and are not closed.
 *
 * If the server does not know a time zone, it cannot compute the end of the day. The day then is the one by UTC, and `ends_at` is
 * null.
 */
const DAYS = `clock as materialized (select service_now() as now),
    named as materialized (select distinct time_zone from program),
    known as materialized (select time_zone, is_time_zone(time_zone) as is_known from named),
    zone as materialized (
      select time_zone, day, case when is_known then instant_of((day + 1)::timestamp, time_zone) end as ends_at
      from (
        select *, ((select now from clock) at time zone case when is_known then time_zone else 'UTC' end)::date - 1 as day
        from known
      ) as dated
    ), yesterday as materialized (
      select program.program_id, program.name, zone.*, day_check.adds_up, day_check.checked_at
      from program join zone using (time_zone)
      left join day_check on day_check.program_id = program.program_id and day_check.day = zone.day
        and checked_at between ends_at + ${SETTLED} and (select now from clock)
      where (program.created_at < zone.ends_at) is not false
    ), earlier as materialized (
      select program.program_id, program.name, program.time_zone, day_check.day, day_check.checked_at
      from day_check join program using (program_id) join zone using (time_zone)
      where not adds_up and day_check.day < zone.day and not exists (
        select from closed_day where closed_day.program_id = day_check.program_id and closed_day.day = day_check.day
      )
    )`;

const DUE = columns({ programId: UUID, timeZone: TEXT, day: TEXT });

/** A day to check. */
export type DueDay = RowOf<typeof DUE.columns>;

/**
 * Reads the days to check: first those without a result to which no posting can be added any more, then those with a bad result
 * that is old. A day in an unknown time zone is among them, so that its check fails and is reported.
 */
export const READ_DUE_DAYS: Statement = {
  name: 'read_due_days',
  text: `with ${DAYS}, bad as (
      select program_id, time_zone, day, checked_at from yesterday where not adds_up
      union all
      select program_id, time_zone, day, checked_at from earlier
    )
    select program_id, time_zone, day::text from (
      select program_id, time_zone, day, null::timestamptz as checked_at from yesterday cross join clock
      where adds_up is null and (ends_at <= now - ${SETTLED}) is not false
      union all
      (
        select bad.* from bad cross join clock
        where checked_at not between now - interval '${AGAIN_MINUTES} minutes' and now
        order by checked_at, program_id, day limit ${MAX_AGAIN}
      )
    ) as due
    order by checked_at nulls first, program_id, day`,
  values: [],
};

/** Some days: their number, and the first {@link MAX_NAMED_PROGRAMS}. Ids are inner UUIDs. */
type NamedDays = {
  readonly count: number;
  readonly named: readonly { readonly programId: string; readonly name: string; readonly day: string }[];
};

const YESTERDAY = columns({
  /** Card programs that existed before their last day ended, and those whose last day was checked. */
  programs: NUMBER,
  checked: NUMBER,
  /** Last days that do not add up, and last days that ended an hour ago and were not checked. By the name of the card program. */
  differing: json<NamedDays>('json'),
  late: json<NamedDays>('json'),
  /** Days before the last one that do not add up. The newest day comes first. */
  earlier: json<NamedDays>('json'),
});

/** The last day of all card programs, each in its time zone, and earlier days that do not add up. */
export type YesterdayFigures = RowOf<typeof YESTERDAY.columns>;

const listed = (days: string, order: string) => `(
      select json_build_object('count', count(*), 'named', coalesce(
        json_agg(json_build_object('programId', program_id, 'name', name, 'day', day) order by rank)
          filter (where rank <= ${MAX_NAMED_PROGRAMS}), '[]'))
      from (select *, row_number() over (order by ${order}) as rank from ${days}) as ranked
    )`;

const READ_YESTERDAY: Statement = {
  name: 'read_yesterday',
  text: `with ${DAYS}, late as (
      select yesterday.* from yesterday cross join clock
      where adds_up is null and (ends_at < now - interval '${LATE_MINUTES} minutes') is not false
        and not exists (select from sandbox_clock where moved_at > clock_timestamp() - interval '1 minute')
    ), differing as (select * from yesterday where not adds_up)
    select (select count(*) from yesterday) as programs, (select count(adds_up) from yesterday) as checked,
      ${listed('differing', 'name, program_id')} as differing, ${listed('late', 'name, program_id')} as late,
      ${listed('earlier', 'day desc, name, program_id')} as earlier`,
  values: [],
};

export async function readYesterday(database: Database): Promise<YesterdayFigures> {
  const [row] = await database.read(READ_YESTERDAY);
  if (row === undefined) throw new Error('the statement returned no row');
  return YESTERDAY.read(row);
}

/** Stores a result, and deletes the program's results that are not needed any more. */
const STORE_CHECK = statement(
  'store_day_check',
  { programId: UUID, day: TEXT, addsUp: BOOLEAN },
  `with old as (
      delete from day_check where program_id = :programId and day <> :day::date and case
        when adds_up then day < :day::date or checked_at > service_now()
        else day < :day::date and exists (
          select from closed_day where closed_day.program_id = day_check.program_id and closed_day.day = day_check.day
        ) end
    )
    insert into day_check (program_id, day, adds_up, checked_at)
    values (:programId, :day::date, :addsUp, service_now())
    on conflict (program_id, day) do update set adds_up = excluded.adds_up, checked_at = excluded.checked_at`,
);

const STILL_CONNECTED: Statement = { name: 'still_connected', text: 'select 1 as one', values: [] };

/** SQL: as for a verification of the books, see `books-verification.ts`. */
const PREPARE = `select set_config('client_connection_check_interval', '1000', false),
  set_config('max_parallel_workers_per_gather', '0', false),
  pg_try_advisory_lock(7204, 'day_check'::regclass::oid::int) as taken`;

export type Read = (statement: Statement) => Promise<readonly Row[]>;

export type DayChecks = {
  /** Returns whether the day adds up. */
  readonly check: (read: Read, due: DueDay) => Promise<boolean>;
  /** Called for each check that fails. `isRepeated` is true if the last check of this day failed, too. */
  readonly onFailure: (due: DueDay, error: unknown, isRepeated: boolean) => void;
  /** The days whose last check failed, the latest failure last. They are checked after all others. */
  readonly failed: Set<string>;
};

/**
 * Checks the due days, one after the other, and stores the results. Uses a separate connection without time limits, because a day
 * can have many postings. A day that cannot be checked does not affect the others, unless the connection is lost or the database
 * cannot write. Returns `taken` if another process does this at the moment. Rejects when the signal aborts.
 */
export function checkDueDays(
  database: Database,
  { check, onFailure, failed }: DayChecks,
  signal: AbortSignal,
): Promise<'taken' | 'checked' | 'failed'> {
  return database.alone(async (client) => {
    const [prepared] = (await client.query<{ taken: boolean }>(PREPARE)).rows;
    if (prepared?.taken !== true) return 'taken';
    const read: Read = async (one) => (await client.query<Row>(toQuery(one))).rows;
    let result: 'checked' | 'failed' = 'checked';
    // Read under the lock, because another process may have just checked them.
    for (const [key, due] of inOrder(await read(READ_DUE_DAYS), failed)) {
      let isStoring = false;
      try {
        const addsUp = await check(read, due);
        isStoring = true;
        await read(STORE_CHECK({ ...due, addsUp }));
        failed.delete(key);
      } catch (error) {
        if (signal.aborted) throw error;
        onFailure(due, error, failed.delete(key));
        failed.add(key);
        result = 'failed';
        const isConnected = await read(STILL_CONNECTED).then(
          () => true,
          () => false,
        );
        if (!isConnected || (isStoring && !new StoreFailure(error).rowAtFault)) break;
      }
    }
    return result;
  }, signal);
}

/** Puts the days whose last check failed after the others, the latest failure last. Forgets failed days that are not due. */
function inOrder(rows: readonly Row[], failed: Set<string>): readonly (readonly [string, DueDay])[] {
  const due = new Map(rows.map(DUE.read).map((day) => [`${day.programId} ${day.day}`, day]));
  for (const key of [...failed]) {
    const day = due.get(key);
    if (day === undefined) failed.delete(key);
    // A map returns its keys in the order in which they were added.
    else if (due.delete(key)) due.set(key, day);
  }
  return [...due];
}

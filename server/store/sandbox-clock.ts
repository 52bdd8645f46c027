import type { Statement } from './connection/database.ts';

/** The real time of day by the database's clock, in milliseconds since 1970, as `now`: never ahead. */
export const READ_TIME_OF_DAY: Statement = {
  name: 'read_time_of_day',
  text: 'select (extract(epoch from clock_timestamp()) * 1000)::bigint as now',
  values: [],
};

/**
 * Sets how far the clock of the sandbox is ahead, and keeps the furthest that it has ever been. Every decision reads
 * the clock, so the switch must be held.
 */
export function setClockAhead(seconds: number): Statement {
  return {
    name: 'set_clock_ahead',
    text: `insert into sandbox_clock (ahead, furthest) values (make_interval(secs => $1), make_interval(secs => $1))
      on conflict (singleton) do update set ahead = excluded.ahead,
        furthest = greatest(sandbox_clock.furthest, excluded.ahead)`,
    values: [seconds],
  };
}

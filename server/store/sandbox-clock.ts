import type { Statement } from './connection/database.ts';
import { NUMBER, statement } from './sql.ts';

/** Reads the real time by the database's clock, as `now`, even in a sandbox whose clock is ahead. */
export const READ_TIME_OF_DAY: Statement = {
  name: 'read_time_of_day',
  text: 'select (extract(epoch from clock_timestamp()) * 1000)::bigint as now',
  values: [],
};

const SET_CLOCK_AHEAD = statement(
  'set_clock_ahead',
  { seconds: NUMBER },
  `insert into sandbox_clock (ahead, furthest, moved_at)
    values (make_interval(secs => :seconds), make_interval(secs => :seconds), clock_timestamp())
    on conflict (singleton) do update set ahead = excluded.ahead, moved_at = excluded.moved_at,
      furthest = greatest(sandbox_clock.furthest, excluded.ahead)`,
);

/**
 * Sets how far the sandbox's clock is ahead, and stores the furthest that it was ever ahead. Every decision reads the clock, so
 * the switch must be locked exclusively.
 */
export function setClockAhead(seconds: number): Statement {
  return SET_CLOCK_AHEAD({ seconds });
}

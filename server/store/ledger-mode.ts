import { administer, type ConnectionSettings } from './connection/connections.ts';
import type { Database, Statement } from './connection/database.ts';
import { NUMBER, statement } from './sql.ts';

// Invariant: A sandbox never becomes a live ledger, and a live ledger never becomes a sandbox
// Kept by: one row has the mode, and each start checks it first
// Tested by: `test/start/ledger-mode.test.ts`

/** The mode of a ledger: for real money (`live`), or for trials (`sandbox`). */
export type LedgerMode = 'sandbox' | 'live';

/** Reads the mode of a ledger. Undefined if no service has started on it yet. */
export function readLedgerMode(settings: ConnectionSettings): Promise<LedgerMode | undefined> {
  return administer(settings, async (client) => {
    const { rows } = await client.query<{ known: boolean }>("select to_regclass('ledger_mode') is not null as known");
    if (rows[0]?.known !== true) return undefined;
    return (await client.query<{ mode: LedgerMode }>('select mode from ledger_mode')).rows[0]?.mode;
  });
}

/**
 * Sets the mode of a ledger, unless it is already set. Returns the mode that is now set, even if several processes set it at the
 * same time.
 */
export async function claimLedger(database: Database, mode: LedgerMode): Promise<LedgerMode> {
  const [row] = await database.writeUnguarded({
    name: 'claim_ledger',
    text: `insert into ledger_mode (mode) values ($1)
      on conflict (singleton) do update set mode = ledger_mode.mode returning mode`,
    values: [mode],
  });
  return row?.mode as LedgerMode;
}

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

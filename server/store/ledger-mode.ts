import { administer, type ConnectionSettings } from './connection/connections.ts';
import type { Database } from './connection/database.ts';

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

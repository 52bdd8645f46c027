import { administer, type ConnectionSettings } from './connection/connections.ts';
import type { Database } from './connection/database.ts';

/** What a ledger is for: real money, or trying things out. */
export type LedgerMode = 'sandbox' | 'live';

/** What a ledger is for, whatever its schema; undefined as long as no service has started on it. */
export function readLedgerMode(settings: ConnectionSettings): Promise<LedgerMode | undefined> {
  return administer(settings, async (client) => {
    const { rows } = await client.query<{ known: boolean }>("select to_regclass('ledger_mode') is not null as known");
    if (rows[0]?.known !== true) return undefined;
    return (await client.query<{ mode: LedgerMode }>('select mode from ledger_mode')).rows[0]?.mode;
  });
}

/** Says what a ledger is for, unless it has been said. What holds from now on, of several that say it at once, too. */
export async function claimLedger(database: Database, mode: LedgerMode): Promise<LedgerMode> {
  const [row] = await database.read({
    name: 'claim_ledger',
    text: `insert into ledger_mode (mode) values ($1)
      on conflict (singleton) do update set mode = ledger_mode.mode returning mode`,
    values: [mode],
  });
  return row?.mode as LedgerMode;
}

import { FIND_DIFFERING_ACCOUNTS, SUM_KINDS } from '../../server/store/ledger/trial-balance.ts';
import type { DatabaseServer } from './server.ts';

/**
 * Computes the trial balance with the service's own statements, but without its time limit, and counts the transfers.
 * Throws when a balance is wrong or an acknowledged transfer is missing.
 */
export async function examineBooks(server: DatabaseServer, database: string, acknowledged: number): Promise<void> {
  const sums = await server.query(database, SUM_KINDS.text);
  const byCurrency = new Map<string, bigint>();
  for (const { currency, balance } of sums.rows) {
    byCurrency.set(currency, (byCurrency.get(currency) ?? 0n) + BigInt(balance));
  }
  for (const [currency, sum] of byCurrency) {
    if (sum !== 0n) throw new Error(`the books of ${database} do not balance: ${sum} minor units of ${currency}`);
  }
  const differing = await server.query(database, FIND_DIFFERING_ACCOUNTS.text);
  if (differing.rows.length > 0) {
    throw new Error(`${differing.rows.length} accounts of ${database} differ from their postings`);
  }
  const stored = await countTransfers(server, database);
  if (stored < acknowledged) {
    throw new Error(`${acknowledged} transfers were acknowledged, but ${database} has ${stored}`);
  }
}

export async function countTransfers(server: DatabaseServer, database: string): Promise<number> {
  const { rows } = await server.query(database, 'select count(*) as count from transfer');
  return Number(rows[0]?.count);
}

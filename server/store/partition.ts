import type { Database } from './database.ts';

/** Tables that are partitioned by the month of their `created_at`, in UTC. */
const PARTITIONED = ['event'] as const;

/** Months ahead for which partitions are kept ready: a service that nobody restarts still finds next month's. */
const MONTHS_AHEAD = 3;

/**
 * Makes the partitions of this month and the next ones where they are missing. Rows that come before their partition
 * does go to the default partition; then the month stays there, which costs order but no data.
 */
export async function preparePartitions(database: Database, now: Date): Promise<void> {
  await database.administer(async (client) => {
    for (const table of PARTITIONED) {
      for (let ahead = 0; ahead <= MONTHS_AHEAD; ahead += 1) {
        const from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1));
        const to = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead + 1, 1));
        const name = `${table}_${from.toISOString().slice(0, 7).replace('-', '_')}`;
        const created = `create table if not exists ${name} partition of ${table}
          for values from ('${from.toISOString()}') to ('${to.toISOString()}')`;
        // 23514: the default partition holds rows of that month already.
        await client.query(created).catch((error: unknown) => ignoreCode(error, '23514'));
      }
    }
  });
}

function ignoreCode(error: unknown, code: string): void {
  if (!(error instanceof Error && 'code' in error && error.code === code)) throw error;
}

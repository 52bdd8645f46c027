import type { Database } from './database.ts';

/** Tables that are partitioned by the month of their `created_at`, in UTC. */
const PARTITIONED = ['event', 'error'] as const;

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

/**
 * Removes errors of the log that are older than `days`, by the database's clock. Partitions go as a whole, so a month
 * stays until its last day is that old; of the default partition, which has no months, single rows go. Gives the
 * names of the partitions that went.
 */
export async function dropOldErrors(database: Database, days: number): Promise<readonly string[]> {
  return database.administer(async (client) => {
    // Whoever looks an error up waits behind us while we wait for the lock: rather try again next time.
    await client.query("set lock_timeout = '500ms'");
    const { rows } = await client.query<{ oldest: Date }>(
      'select clock_timestamp() - make_interval(days => $1) as oldest',
      [days],
    );
    const oldest = rows[0]?.oldest ?? new Date(0);
    const partitions = await client.query<{ name: string }>(
      "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'error'::regclass",
    );
    const dropped: string[] = [];
    for (const { name } of partitions.rows) {
      const [, year, month] = /^error_([0-9]{4})_([0-9]{2})$/.exec(name) ?? [];
      if (year === undefined || Date.UTC(Number(year), Number(month), 1) > oldest.getTime()) continue;
      await client.query(`drop table ${name}`);
      dropped.push(name);
    }
    await client.query('delete from error_default where created_at < $1', [oldest]);
    await client.query('delete from error_count where hour < $1', [oldest]);
    await client.query('delete from error_drop where until < $1', [oldest]);
    return dropped;
  });
}

function ignoreCode(error: unknown, code: string): void {
  if (!(error instanceof Error && 'code' in error && error.code === code)) throw error;
}

import type { Database } from './connection/database.ts';

/** Tables that are partitioned by the month of their `created_at`, in UTC. */
const PARTITIONED = ['event', 'error'] as const;

/** Months ahead for which partitions are created: a service that is not restarted still has those of the next months. */
const MONTHS_AHEAD = 3;

/**
 * Creates the missing partitions of a month (that of `moment`, or the current one by the database's clock) and of the
 * following ones. Rows that are inserted before their partition exists are stored in the default partition, and the month
 * stays there; no data is lost.
 */
export async function preparePartitions(database: Database, moment?: Date): Promise<void> {
  await database.alone(async (client) => {
    const { rows } = await client.query<{ first: Date }>('select coalesce($1, clock_timestamp()) as first', [moment]);
    const first = rows[0]?.first ?? new Date(0);
    for (const table of PARTITIONED) {
      for (let ahead = 0; ahead <= MONTHS_AHEAD; ahead += 1) {
        const month = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + ahead, 1));
        await client.query('select make_month_partition($1, $2)', [table, month.toISOString().slice(0, 10)]);
      }
    }
  });
}

/**
 * Deletes errors of the log that are older than `days`, by the database's clock. Partitions are dropped as a whole, so a
 * month stays until its last day is that old; from the default partition, which has no months, single rows are deleted.
 * Returns the names of the dropped partitions.
 */
export async function dropOldErrors(database: Database, days: number): Promise<readonly string[]> {
  return database.alone(async (client) => {
    const { rows } = await client.query<{ oldest: Date }>(
      'select clock_timestamp() - make_interval(days => $1) as oldest',
      [days],
    );
    const oldest = rows[0]?.oldest ?? new Date(0);
    const dropped = await client.query<{ name: string }>('select drop_error_partitions($1) as name', [oldest]);
    await client.query('delete from error_default where created_at < $1', [oldest]);
    await client.query('delete from error_count where hour < $1', [oldest]);
    await client.query('delete from error_drop where until < $1', [oldest]);
    return dropped.rows.map(({ name }) => name);
  });
}

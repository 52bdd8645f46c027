import type { Database } from './connection/database.ts';

// Invariant: A missing partition never stops a transfer
// Kept by: default partitions
// Tested by: `test/store/events/order.test.ts`

/**
 * Months ahead for which partitions are created: a service that is not restarted still has those of the next months.
 */
const MONTHS_AHEAD = 3;

/** Days ahead, for tables partitioned by day: a job that fails for a week does no harm. */
const DAYS_AHEAD = 7;

const DAY_MILLISECONDS = 86_400_000;

/**
 * Creates the missing partitions of a moment, or of now by the database's clock, and of the following days and months,
 * in UTC. In a sandbox whose clock is ahead, also those of its time, which its events have. Rows inserted before their
 * partition exists go to the default partition, and their day or month stays there; no data is lost.
 */
export async function preparePartitions(database: Database, moment?: Date): Promise<void> {
  await database.alone(async (client) => {
    const { rows } = await client.query<{ real: Date; shown: Date }>(
      'select coalesce($1, clock_timestamp()) as real, coalesce($1, service_now()) as shown',
      [moment],
    );
    const { real, shown } = rows[0] ?? { real: new Date(0), shown: new Date(0) };
    for (const month of monthsFrom(real)) await client.query('select make_month_partition($1, $2)', ['error', month]);
    const wanted = [
      ['write_batch', daysFrom(real)],
      ['event', new Set([...daysFrom(real), ...daysFrom(shown)])],
      ['event_position', monthsFrom(real)],
    ] as const;
    for (const [table, days] of wanted) {
      for (const day of days) await client.query('select make_event_partition($1, $2)', [table, day]);
    }
    for (const day of daysFrom(real)) await client.query('select make_attempt_partition($1)', [day]);
  });
}

/** Creates the partitions for events of a moment and of the days after it, for a sandbox whose clock is moved there. */
export async function prepareEventDays(database: Database, moment: Date): Promise<void> {
  await database.alone(async (client) => {
    for (const day of daysFrom(moment)) await client.query('select make_event_partition($1, $2)', ['event', day]);
  });
}

function monthsFrom(first: Date): readonly string[] {
  return Array.from({ length: MONTHS_AHEAD + 1 }, (_, ahead) =>
    toDay(new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + ahead, 1))),
  );
}

function daysFrom(first: Date): readonly string[] {
  return Array.from({ length: DAYS_AHEAD + 1 }, (_, ahead) =>
    toDay(new Date(first.getTime() + ahead * DAY_MILLISECONDS)),
  );
}

function toDay(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}

/**
 * Deletes errors older than `days` from the log, by the database's clock. Partitions are dropped whole, so a month
 * stays until its last day is that old; single rows are deleted from the default partition, which has no months. The
 * numbers of errors and transfers are deleted after `countDays`. Returns the names of the dropped partitions.
 */
export async function dropOldErrors(
  database: Database,
  days: number,
  countDays: number = days,
): Promise<readonly string[]> {
  return database.alone(async (client) => {
    const { rows } = await client.query<{ oldest: Date; oldest_count: Date }>(
      `select clock_timestamp() - make_interval(days => $1) as oldest,
        clock_timestamp() - make_interval(days => $2) as oldest_count`,
      [days, countDays],
    );
    const { oldest, oldest_count: oldestCount } = rows[0] ?? { oldest: new Date(0), oldest_count: new Date(0) };
    const dropped = await client.query<{ name: string }>('select drop_error_partitions($1) as name', [oldest]);
    await client.query('delete from error_default where created_at < $1', [oldest]);
    await client.query('delete from error_count where hour < $1', [oldestCount]);
    await client.query('delete from transfer_count where hour < $1', [oldestCount]);
    await client.query('delete from error_drop where until < $1', [oldestCount]);
    return dropped.rows.map(({ name }) => name);
  });
}

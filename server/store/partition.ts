import type pg from 'pg';
import { parseJson } from '../../domain/parse-json.ts';
import { codeOf } from '../foundation/startup-problem.ts';
import type { Database } from './connection/database.ts';
import { QUERY_CANCELED } from './connection/failure.ts';
import { isPlacement } from './connection/session-settings.ts';

// Invariant: A missing partition never stops a transfer
// Kept by: default partitions
// Tested by: `test/store/events/order.test.ts`

/** Partitions are created this number of months in advance, so that the job can fail for weeks without harm. */
export const MONTHS_AHEAD = 3;

/** Partitions by day are created this number of days in advance, so that the job can fail for a week without harm. */
export const DAYS_AHEAD = 7;

const DAY_MILLISECONDS = 86_400_000;

/** The maximum duration of a function call on the coordinator of a placement. It is shorter than a request may wait. */
const CALL_MILLISECONDS = 2_000;

/**
 * Creates the missing partitions for a time and for the days and months after it, in UTC. The default is the current time by the
 * database's clock. In a sandbox whose clock is ahead, also creates the partitions for the sandbox's time, because its events
 * have that time. Rows that are inserted before their partition exists go to the default partition, and all rows of their day or
 * month stay there. No data is lost.
 */
export async function preparePartitions(database: Database, moment?: Date): Promise<void> {
  await database.alone(async (client) => {
    const { rows } = await client.query<{ real: Date; shown: Date }>(
      'select coalesce($1, clock_timestamp()) as real, coalesce($1, service_now()) as shown',
      [moment],
    );
    const { real, shown } = rows[0] ?? { real: new Date(0), shown: new Date(0) };
    for (const month of monthsFrom(real)) await changeTables(client, 'make_month_partition', 'error', month);
    const wanted = [
      ['write_batch', daysFrom(real)],
      ['event', new Set([...daysFrom(real), ...daysFrom(shown)])],
      ['event_position', monthsFrom(real)],
    ] as const;
    for (const [table, days] of wanted) {
      for (const day of days) await changeTables(client, 'make_event_partition', table, day);
    }
    for (const day of daysFrom(real)) await changeTables(client, 'make_attempt_partition', day);
    // Done now, so that a move does not have to lock the partitions later.
    if (isPlacement(client)) await changeTables(client, 'identify_rows');
  });
}

/**
 * Thrown if the coordinator of a placement is unavailable or refuses. Partitions were created days ahead, so the service can work
 * without it.
 */
export class CoordinatorFailure extends Error {
  override readonly name = 'CoordinatorFailure';
}

/**
 * Calls a function of the schema that creates or drops partitions, and returns its result. On a placement, calls it on the
 * coordinator, because no other node of a Citus cluster may change tables. Throws {@link CoordinatorFailure}.
 */
export async function changeTables(
  client: pg.ClientBase,
  name: string,
  ...values: readonly unknown[]
): Promise<readonly unknown[]> {
  const placeholders = values.map((_value, index) => `$${index + 1}`);
  if (!isPlacement(client)) {
    const { rows } = await client.query<{ found: unknown[] | null }>(
      `select json_agg(value) as found from ${name}(${placeholders.join()}) as value`,
      [...values],
    );
    return rows[0]?.found ?? [];
  }
  const { success, result } = await onCoordinator(client, name, placeholders, values);
  if (!success) throw new CoordinatorFailure(`the coordinator did not call ${name}: ${result}`);
  return result === '' ? [] : (parseJson(result) as readonly unknown[]);
}

/**
 * Calls a function on the coordinator, with a time limit for the whole call, because transfers queue behind a request for a table's
 * lock. The function's own limits for locks apply only on the coordinator.
 */
async function onCoordinator(
  client: pg.ClientBase,
  name: string,
  placeholders: readonly string[],
  values: readonly unknown[],
): Promise<{ readonly success: boolean; readonly result: string }> {
  await client.query(`set statement_timeout = ${CALL_MILLISECONDS}`);
  try {
    const { rows } = await client.query<{ success: boolean; result: string }>(
      `select success, result from pg_catalog.run_command_on_coordinator(format(
        'select json_agg(value) from %I.${name}(${placeholders.map(() => '%L').join()}) as value',
        ${['current_schema()', ...placeholders.map((place) => `${place}::text`)].join()}))`,
      values.map((value) => (value instanceof Date ? value.toISOString() : value)),
    );
    return rows[0] ?? { success: false, result: 'no response' };
  } catch (error) {
    if (codeOf(error) === QUERY_CANCELED)
      return { success: false, result: `not finished within ${CALL_MILLISECONDS} ms` };
    throw error;
  } finally {
    // If the transaction failed, its rollback also resets the setting.
    await client.query('set statement_timeout = 0').catch(() => undefined);
  }
}

/** Creates the partitions for events at a time and in the days after it, for a sandbox whose clock is moved to that time. */
export async function prepareEventDays(database: Database, moment: Date): Promise<void> {
  await database.alone(async (client) => {
    for (const day of daysFrom(moment)) await changeTables(client, 'make_event_partition', 'event', day);
  });
}

/** Reads the UTC day that began `days` before today, by the database's clock. */
export async function readDayBefore(client: pg.ClientBase, days: number): Promise<string> {
  const { rows } = await client.query<{ day: string }>(
    `select ((clock_timestamp() at time zone 'UTC')::date - $1::integer)::text as day`,
    [days],
  );
  return rows[0]?.day ?? '';
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
 * Deletes errors older than `days` from the log, by the database's clock. Partitions are dropped as a whole, so a month stays until
 * its last day is that old. In the default partition, which has no months, single rows are deleted. The counts of errors and
 * transfers are deleted after `countDays`. Returns the names of the dropped partitions.
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
    const dropped = await changeTables(client, 'drop_error_partitions', oldest);
    await client.query('delete from error_default where created_at < $1', [oldest]);
    await client.query('delete from error_count where hour < $1', [oldestCount]);
    await client.query('delete from transfer_count where hour < $1', [oldestCount]);
    await client.query('delete from error_drop where until < $1', [oldestCount]);
    return dropped as readonly string[];
  });
}

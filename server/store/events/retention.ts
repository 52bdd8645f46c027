import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { codeOf } from '../../foundation/startup-problem.ts';
import type { Database } from '../connection/database.ts';
import { LOCK_NOT_AVAILABLE } from '../connection/failure.ts';
import { REQUIRE_PLACEMENT } from '../connection/placement.ts';
import { isPlacement } from '../connection/session-settings.ts';
import { HOLD_SWITCH } from '../locks.ts';
import { CoordinatorFailure, changeTables, readDayBefore } from '../partition.ts';

// Invariant: No event without a position is dropped, and no reader continues past dropped events
// Kept by: `drop_event_partition` in `0037_drop_by_index.sql`, and this file
// Tested by: `test/store/events/retention.test.ts`

/**
 * Fences are removed after this number of days. By then, every request whose commit a fence could resolve has ended long ago. A
 * fence is kept while its events have no position.
 */
export const FENCE_DAYS = 7;

/** SQL: finds the next partition to drop. The search runs before transfers are locked out, because it can take a long time. */
const FIND_OLD = 'select find_droppable_event_partition($1, $2) as name';

/**
 * How long a drop waits for other users of the table. Transfers use the table for a few milliseconds. The wait is short, because
 * transfers queue behind the drop.
 */
const LOCK_MILLISECONDS = 100;

/**
 * How long a statement of a drop may take under the locks, including its wait for them. It reads some pages of an index, which the
 * search has read before. If it takes longer, the round fails, so that transfers can continue.
 */
const STATEMENT_MILLISECONDS = 1_000;

/** How often a drop is tried. The pauses in between let other users finish. */
const MAX_ATTEMPTS = 5;
const PAUSE_MILLISECONDS = 500;

/**
 * Deletes events older than `days`, by the database's clock, and the data that the relay needed for them. Readers at a deleted
 * position get an error. Events without a position are kept, even if they are old.
 *
 * Partitions are dropped as a whole, under the lock of the switch. Otherwise a drop would wait for open transactions while other
 * transactions wait for the drop, and it could deadlock with them. If a partition is always in use, it stays until the next
 * round. Returns the names of the dropped partitions.
 */
export async function dropOldEvents(database: Database, days: number): Promise<readonly string[]> {
  return database.alone(async (client) => {
    const dropped: string[] = [];
    for (const [table, age] of [
      ['event', days],
      ['event_position', days],
      ['write_batch', FENCE_DAYS],
    ] as const) {
      const values = [table, await readDayBefore(client, age)];
      dropped.push(...(await dropPartitions(client, values)));
      for (let deleted = true; deleted; ) {
        const response = await client.query('select delete_unpartitioned_events($1, $2)::int as count', values);
        deleted = response.rows[0]?.count > 0;
      }
    }
    return dropped;
  });
}

async function dropPartitions(client: pg.ClientBase, values: readonly unknown[]): Promise<readonly string[]> {
  const dropped: string[] = [];
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; ) {
    const { rows: found } = await client.query<{ name: string | null }>(FIND_OLD, [...values]);
    if ((found[0]?.name ?? null) === null) break;
    try {
      await client.query(
        `begin; set local lock_timeout = ${LOCK_MILLISECONDS}; set local statement_timeout = ${STATEMENT_MILLISECONDS}`,
      );
      await client.query(HOLD_SWITCH.text);
      if (isPlacement(client)) await client.query(REQUIRE_PLACEMENT.text);
      const [name] = await changeTables(client, 'drop_event_partition', ...values);
      await client.query('commit');
      // The remaining partitions are still needed.
      if (typeof name !== 'string') break;
      dropped.push(name);
    } catch (error) {
      await client.query('rollback');
      if (!(error instanceof CoordinatorFailure) && codeOf(error) !== LOCK_NOT_AVAILABLE) throw error;
      attempt += 1;
      await sleep(PAUSE_MILLISECONDS);
    }
  }
  return dropped;
}

import { expect, test } from 'vitest';
import { deleteExpired } from '../../server/background/jobs/delete-expired.ts';
import { maintainPartitions } from '../../server/background/jobs/maintain-partitions.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';

// What a job deletes does not depend on what it could not delete before that.

const server = await useServer();
const { databases } = useLedger(server.connection);
const owner = await useConnection(server.connection);
const { background } = databases;
const DAY = 86_400_000;
const OLD = new Date(Date.now() - 20 * DAY).toISOString().slice(0, 10);
const ATTEMPTS = `webhook_attempt_${OLD.replaceAll('-', '_')}`;

/** Runs something while what it needs of the database has another name. */
async function without(kind: string, name: string, run: () => Promise<unknown>): Promise<void> {
  await owner.query(`alter ${kind} ${name} rename to away`);
  try {
    await run();
  } finally {
    const bare = name.replace(/\(.*/, '');
    await owner.query(`alter ${kind} ${name.replace(bare, 'away')} rename to ${bare}`);
  }
}

test('old attempts are dropped although partitions cannot be made nor errors dropped', async () => {
  await owner.query('select make_attempt_partition($1)', [OLD]);
  const retention = {
    errorRetentionDays: 30,
    errorCountRetentionDays: 30,
    eventRetentionDays: 90,
    attemptRetentionDays: 14,
  };
  await without('function', 'make_month_partition(text, date)', async () => {
    await without('table', 'error_count', async () => {
      const maintained = maintainPartitions(background, retention);
      await expect(maintained).rejects.toThrow('make_month_partition');
    });
  });
  const { rows } = await owner.query('select to_regclass($1) as found', [ATTEMPTS]);
  expect(rows).toEqual([{ found: null }]);
});

test('old reports of errors are deleted although counters cannot be', async () => {
  await owner.query(
    `insert into error_report (program_id, code, count, reported_at)
      values (null, 'internal_error', 0, clock_timestamp() - interval '1 hour')`,
  );
  await without('table', 'limit_counter', async () => {
    await expect(deleteExpired(background)).rejects.toThrow('limit_counter');
  });
  const { rows } = await owner.query('select from error_report');
  expect(rows).toEqual([]);
});

import { expect, test } from 'vitest';
import { deleteExpired, maintainPartitions } from '../../server/background/jobs/retention.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';

// Tests that a failed deletion does not stop the job's other deletions.

const server = await useServer();
const { databases } = useLedger(server.connection);
const owner = await useConnection(server.connection);
const { background } = databases;
const DAY = 86_400_000;
const OLD = new Date(Date.now() - 20 * DAY).toISOString().slice(0, 10);
const ATTEMPTS = `webhook_attempt_${OLD.replaceAll('-', '_')}`;

/** Runs a function while part of the database has a different name. */
async function without(kind: string, name: string, run: () => Promise<unknown>): Promise<void> {
  await owner.query(`alter ${kind} ${name} rename to away`);
  try {
    await run();
  } finally {
    const bare = name.replace(/\(.*/, '');
    await owner.query(`alter ${kind} ${name.replace(bare, 'away')} rename to ${bare}`);
  }
}

test('old deliveries are dropped even if partitions cannot be created and errors cannot be dropped', async () => {
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

test('old reports of errors are deleted even if counters cannot be deleted', async () => {
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

test("operators' notes are removed together with errors of the same age, but the person who ended an attempt and the time are kept", async () => {
  const ages = [31, 29];
  for (const days of ages) {
    await owner.query(
      `insert into processor_attempt (program_id, attempt_id, transfer_id, card_id, connector_id, kind, amount, currency, status,
          created_at, updated_at, detail, resolved_by)
        select program_id, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'simulator', 'push', 1, 'USD', 'failed', at, at,
          'theirs', 'sandbox'
        from program, (select now() - make_interval(days => $1) as at) as moment limit 1`,
      [days],
    );
    await owner.query(
      `insert into processor_break (break_id, kind, connector_id, expected, found, created_at, closed_at, closed_by, resolution)
        select gen_random_uuid(), 'unknown_attempt', 'simulator', 'x', 'y', at, at, 'sandbox', 'settled'
        from (select now() - make_interval(days => $1) as at) as moment`,
      [days],
    );
  }
  await deleteExpired(background, undefined, 30, 30);
  const attempts = await owner.query('select detail, resolved_by from processor_attempt order by updated_at');
  expect(attempts.rows).toEqual([
    { detail: null, resolved_by: 'sandbox' },
    { detail: 'theirs', resolved_by: 'sandbox' },
  ]);
  const breaks = await owner.query('select resolution, closed_by from processor_break order by closed_at');
  expect(breaks.rows).toEqual([
    { resolution: null, closed_by: 'sandbox' },
    { resolution: 'settled', closed_by: 'sandbox' },
  ]);
});

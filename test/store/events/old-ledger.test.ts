import { expect, test } from 'vitest';
import { DEMO_PROGRAM_ID } from '../../../domain/sandbox.ts';
import { startRelayingEvents } from '../../../server/background/jobs/relay-events.ts';
import { migrate } from '../../../server/store/migrations/migrate.ts';
import { preparePartitions } from '../../../server/store/partition.ts';
import { waitFor } from '../../harness/process.ts';
import { useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';
import { BEFORE_EVENTS } from '../before-events.ts';
import { readAll } from './relayed.ts';

// A ledger of the version before events had positions.

const server = await useServer();
const ledger = useLedger(server.connection);
const owner = await useConnection(server.connection);
const { databases } = ledger;

const transfer = async () =>
  JSON.parse((await ledger.call('create_transfer', { amount: 1, card_id: 'card_active' })).body).transfer_id as string;

async function partitionsOf(table: string): Promise<readonly string[]> {
  const { rows } = await owner.query<{ name: string }>(
    'select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass order by 1',
    [table],
  );
  return rows.map(({ name }) => name);
}

test('its events are numbered like those after them, oldest first, and its tables become partitions', async () => {
  const old: string[] = [];
  for (let at = 0; at < 5; at += 1) old.push(await transfer());
  await ledger.call('change_switch', { disabled: true, reason: 'a secret' });
  await ledger.call('change_switch', { disabled: false });
  await owner.query(BEFORE_EVENTS);
  await owner.query("update event set program_id = $1 where type = 'switch.changed'", [DEMO_PROGRAM_ID]);
  // An id of a clock that was wrong.
  await owner.query(
    "insert into write_batch (batch_id, created_at) values ('ffff0000-0000-7000-8000-000000000000', now())",
  );
  const { rows: before } = await owner.query('select count(*)::int from write_batch');
  expect(await migrate(server.connection)).toEqual(['0015_events.sql']);
  await preparePartitions(databases.background);
  expect((await owner.query('select count(*)::int from write_batch')).rows).toEqual(before);
  expect((await owner.query('select batch_id from write_batch_default')).rows).toHaveLength(1);

  // Fences of today and tomorrow go to the first partition, and events to that of the month that has begun.
  const [fences, months] = [await partitionsOf('write_batch'), await partitionsOf('event')];
  expect(fences.filter((name) => name.startsWith('write_batch_until_'))).toHaveLength(1);
  expect(fences).toHaveLength(8);
  expect(months.filter((name) => /^event_\d{4}_\d{2}$/.test(name))).toHaveLength(1);

  const later = [await transfer(), await transfer()];
  const relay = startRelayingEvents(
    databases,
    () => undefined,
    () => undefined,
  );
  await waitFor('all events to be numbered', async () => {
    const { rows } = await owner.query('select count(*)::int from write_batch where not relayed and not abandoned');
    return rows[0]?.count === 0;
  });
  await relay.stop();

  const events = await readAll(databases.background, { programId: DEMO_PROGRAM_ID });
  expect(events.map(({ position }) => position)).toEqual(events.map((_, at) => at + 1));
  const subjects = events.filter(({ type }) => type === 'transfer.completed').map(({ subjectId }) => subjectId);
  expect(subjects.slice(-7)).toEqual([...old, ...later]);
  const all = await readAll(databases.background, {});
  const { rows: stored } = await owner.query('select count(*)::int from event');
  expect(all).toHaveLength(stored[0]?.count);
  expect(all.find(({ type }) => type === 'switch.changed')?.programId).toBeNull();
  expect(events.some(({ payload }) => payload.includes('a secret'))).toBe(false);
});

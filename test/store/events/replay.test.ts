import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { dropOldEvents } from '../../../server/store/events/retention.ts';
import { KEY_TEXT } from '../../harness/ledger.ts';
import { useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';
import { relayOnce } from './relayed.ts';

// Tests replays. The response for an idempotency key is stored as the payload of an event.

const server = await useServer();
const ledger = useLedger(server.connection);
const owner = await useConnection(server.connection);
const { background } = ledger.databases;

const send = (idempotencyKey: string) =>
  ledger.call('create_transfer', { amount: 5, card_id: 'card_active' }, { idempotencyKey });

async function makeDays(from: number, to: number): Promise<void> {
  for (let days = from; days <= to; days += 1) {
    const day = new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    await owner.query("select make_event_partition('event', $1)", [day]);
  }
}

/** Makes everything that was written with a key older by `days` days. */
async function age(key: string, days: number): Promise<void> {
  const { rows } = await owner.query(
    `update idempotency set created_at = created_at - make_interval(days => $2) where ${KEY_TEXT} = $1 returning batch_id`,
    [key, days],
  );
  for (const table of ['event', 'write_batch']) {
    const time = table === 'event' ? 'created_at' : 'events_at';
    await owner.query(`update ${table} set ${time} = ${time} - make_interval(days => $2) where batch_id = $1`, [
      rows[0]?.batch_id,
      days,
    ]);
  }
}

test('if its event was dropped, a key is replayed with the current transfer, and no money moves', async () => {
  await makeDays(-45, -40);
  const [key, other] = [randomUUID(), randomUUID()];
  const first = await send(key);
  await send(other);
  await age(key, 42);
  expect((await send(key)).body).toBe(first.body);
  await relayOnce(background);
  expect((await dropOldEvents(background, 31)).length).toBeGreaterThan(0);
  const { rows } = await owner.query('select count(*)::int from event where position($1 in payload) > 0', [key]);
  expect(rows).toEqual([{ count: 0 }]);
  const again = await send(key);
  expect(again.replayed).toBe(true);
  expect(JSON.parse(again.body)).toEqual(JSON.parse(first.body));
  expect((await send(other)).replayed).toBe(true);
  // The key is found, but the transfer cannot be read. Its processor may still have to execute it.
  await owner.query('begin; lock table transfer in access exclusive mode');
  const failed = await send(key).catch((error: unknown) => error);
  await owner.query('rollback');
  expect(failed).toMatchObject({ name: 'OperationFailure', busy: false, moneyMoved: 'unknown' });
});

test('a replay reads and locks only one of a hundred partitions', async () => {
  await makeDays(1, 100);
  const key = randomUUID();
  const first = await send(key);
  for (let time = 0; time < 8; time += 1) expect((await send(key)).body).toBe(first.body);
  await owner.query('begin');
  const { rows: stored } = await owner.query(
    `select batch_id, event_index, created_at from idempotency where ${KEY_TEXT} = $1`,
    [key],
  );
  const [{ batch_id, event_index, created_at }] = stored;
  for (let time = 0; time < 8; time += 1) {
    const { rows } = await owner.query({
      name: 'payload',
      text: 'select event_payload($1, $2, $3) as body',
      values: [batch_id, event_index, created_at],
    });
    expect(rows).toMatchObject([{ body: expect.stringContaining(key) }]);
  }
  const { rows: locked } = await owner.query(
    `select relation::regclass::text as name from pg_locks join pg_class on pg_class.oid = relation
      where pid = pg_backend_pid() and relkind = 'r' and relispartition`,
  );
  await owner.query('commit');
  expect(locked).toHaveLength(1);
});

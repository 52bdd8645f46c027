import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { forgetKeys } from '../../server/operations/forget-keys.ts';
import { connect, type Ledger, openLedger, startServer, type TestServer } from '../harness/ledger.ts';

let server: TestServer;
let ledger: Ledger;

beforeAll(async () => {
  server = await startServer();
  ledger = openLedger(server.connection);
});

afterAll(async () => {
  await ledger.close();
  await server.stop();
});

test('after 30 days a key still makes no second transfer, and a refused key is free again', async () => {
  const made = { body: { amount: 5, card_id: 'card_active' }, key: { idempotencyKey: randomUUID() } };
  const refused = { body: { amount: 5, card_id: 'card_closed' }, key: { idempotencyKey: randomUUID() } };
  const young = { body: { amount: 6, card_id: 'card_active' }, key: { idempotencyKey: randomUUID() } };
  const first = await ledger.call('create_transfer', made.body, made.key);
  await expect(ledger.call('create_transfer', refused.body, refused.key)).rejects.toMatchObject({
    code: 'closed_card',
  });
  const client = await connect(server.connection);
  await client.query("update idempotency set created_at = now() - interval '31 days'");
  await ledger.call('create_transfer', young.body, young.key);
  expect(await forgetKeys(ledger.database)).toBe(2);

  const again = await ledger.call('create_transfer', made.body, made.key);
  expect(again.replayed).toBe(true);
  expect(JSON.parse(again.body)).toEqual(JSON.parse(first.body));
  await expect(ledger.call('create_transfer', { ...made.body, amount: 7 }, made.key)).rejects.toMatchObject({
    code: 'idempotency_key_exists',
  });
  // The card has been opened since: the forgotten key may be used for what is possible now.
  await client.query("update card set status = 'active' where name = 'card_closed'");
  await client.end();
  const reply = await ledger.call('create_transfer', refused.body, refused.key);
  expect(reply.replayed).toBeUndefined();
  expect(await forgetKeys(ledger.database)).toBe(0);
});

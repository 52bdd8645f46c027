import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { refusalOf } from '../../harness/service.ts';
import { URL, useStillService } from './still-service.ts';

const { client, admin, makeEvent } = await useStillService();

beforeEach(async () => {
  await admin.query('delete from webhook');
});

const PERIOD = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z', only: 'all' } as const;
const OF_PROGRAM = ['card programs', client.webhooks] as const;
const OF_OPERATORS = ['operators', client.operatorWebhooks] as const;

/** The operations, each with the owner of its webhooks and the table to which it adds a row. */
const OPERATIONS = [OF_PROGRAM, OF_OPERATORS].flatMap(([who, webhooks]) => {
  const withKey = (idempotencyKey: string) => ({ idempotencyKey });
  const event = makeEvent();
  return [
    [who, 'create', 'webhook', (_: string, key: string) => webhooks.create({ url: URL }, withKey(key))],
    [who, 'roll-secret', 'webhook_secret', (id: string, key: string) => webhooks.rollSecret(id, {}, withKey(key))],
    [who, 'test', 'webhook_delivery', (id: string, key: string) => webhooks.test(id, withKey(key))],
    [who, 'replay', 'webhook_replay', (id: string, key: string) => webhooks.replay(id, PERIOD, withKey(key))],
    [
      who,
      'resend',
      'webhook_delivery',
      async (id: string, key: string) => webhooks.resend(id, { event_id: await event }, withKey(key)),
    ],
  ] as const;
});

const countOf = async (table: string) => Number((await admin.query(`select count(*) from ${table}`)).rows[0].count);

/** Returns a record without the fields that only the first response has. */
function withoutSecret(record: object): object {
  return { ...record, secret: null, secret_omitted: null };
}

test.each(OPERATIONS)('%s: executes %s once under one key', async (who, _, table, call) => {
  const webhooks = who === 'operators' ? client.operatorWebhooks : client.webhooks;
  const { webhook_id: id } = await webhooks.create({ url: URL });
  const before = await countOf(table);
  const key = randomUUID();
  const responses = await Promise.all(Array.from({ length: 8 }, () => call(id, key)));
  const again = await call(id, key);
  expect(await countOf(table)).toBe(before + 1);
  expect(responses.filter(({ response }) => !response.replayed)).toHaveLength(1);
  expect(again.response.replayed).toBe(true);
  for (const response of responses) expect(withoutSecret(response)).toEqual(withoutSecret(again));
  // The service refuses a different request with the same key, but executes it with a new key.
  const { webhook_id: other } = await webhooks.create({ url: `${URL}/2` });
  if (table !== 'webhook') {
    expect(await refusalOf(call(other, key))).toMatchObject({ Code: 'idempotency_key_exists', Status: 422 });
    expect((await call(other, randomUUID())).response.replayed).toBe(false);
  }
});

test('keeps the idempotency keys of card programs and of operators separate', async () => {
  const idempotencyKey = randomUUID();
  const { webhook_id: first } = await client.webhooks.create({ url: URL }, { idempotencyKey });
  const { webhook_id: second } = await client.operatorWebhooks.create({ url: URL }, { idempotencyKey });
  expect(first).not.toBe(second);
});

import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { DEMO_PROGRAM } from '../../../contract/samples.ts';
import { MAX_WEBHOOKS } from '../../../contract/webhooks/requests.ts';
import { refusalOf } from '../../harness/service.ts';
import { URL, useStillService } from './still-service.ts';

const { client, admin } = await useStillService();

beforeEach(async () => {
  await admin.query('delete from webhook');
});

/** Returns how many of the concurrent requests succeeded, and the errors of the failed ones. */
async function outcomes(requests: readonly Promise<unknown>[]): Promise<readonly [number, readonly unknown[]]> {
  const settled = await Promise.allSettled(requests);
  const refused = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason.Code] : []));
  return [settled.length - refused.length, refused];
}

const TOO_MANY = Array.from({ length: 3 }, () => 'webhook_limit');
const COUNT = MAX_WEBHOOKS + TOO_MANY.length;

test('allows a card program at most 20 webhooks across all callers, even with concurrent requests', async () => {
  const requests = Array.from({ length: COUNT }, (_, at) =>
    at % 2 === 0
      ? client.webhooks.create({ url: URL })
      : client.operatorWebhooks.create({ url: URL, program_id: DEMO_PROGRAM }),
  );
  expect(await outcomes(requests)).toEqual([MAX_WEBHOOKS, TOO_MANY]);
  const { data } = await client.webhooks.list({ limit: 100 });
  expect(data).toHaveLength(MAX_WEBHOOKS);

  // Another program and the operators have their own limits.
  const { program_id: programId } = await client.programs.create({ name: 'Other', currency: 'USD' });
  await client.webhooks.create({ url: URL }, { programId });
  await client.operatorWebhooks.create({ url: URL });

  await client.webhooks.delete(data[0]?.webhook_id ?? '');
  await client.webhooks.create({ url: URL });
  expect(await refusalOf(client.webhooks.create({ url: URL }))).toMatchObject({ Code: 'webhook_limit', Status: 409 });
});

test('allows operators at most 20 webhooks that belong to no card program', async () => {
  const requests = Array.from({ length: COUNT }, () => client.operatorWebhooks.create({ url: URL }));
  expect(await outcomes(requests)).toEqual([MAX_WEBHOOKS, TOO_MANY]);
  await client.webhooks.create({ url: URL });
});

test('creates one webhook for requests with one idempotency key, and replays a refusal', async () => {
  const idempotencyKey = randomUUID();
  const made = await Promise.all(
    Array.from({ length: 5 }, () => client.webhooks.create({ url: URL }, { idempotencyKey })),
  );
  expect(new Set(made.map(({ webhook_id: id }) => id)).size).toBe(1);
  expect(made.filter(({ secret }) => secret !== null)).toHaveLength(1);
  while ((await client.webhooks.list({ limit: 100 })).data.length < MAX_WEBHOOKS) {
    await client.webhooks.create({ url: URL });
  }
  const another = { idempotencyKey: randomUUID() };
  await refusalOf(client.webhooks.create({ url: URL }, another));
  await client.webhooks.delete(made[0]?.webhook_id ?? '');
  expect(await refusalOf(client.webhooks.create({ url: URL }, another))).toMatchObject({ Code: 'webhook_limit' });
});

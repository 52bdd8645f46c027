import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { fromWireId } from '../../../domain/identifier.ts';
import { giveNotice } from '../../../server/background/delivery/notices.ts';
import { claimShards, toHeldShards } from '../../../server/store/webhooks/shard.ts';
import { storeHealth } from '../../../server/store/webhooks/state.ts';
import { useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';

const server = await useServer();
const ledger = useLedger(server.connection);
const connection = await useConnection(server.connection);
const { background } = ledger.databases;

test('webhook.failing is written once, and again after a success', async () => {
  const { webhook_id } = JSON.parse((await ledger.call('create_webhook', { url: 'https://hooks.example/' })).body);
  const webhookId = fromWireId('wh', webhook_id) ?? '';
  const owner = randomUUID();
  const [claimed = []] = await background.inOnePacket([claimShards({ owner, seconds: 3_600, count: 16 })]);
  const { rows } = await connection.query('select shard from webhook_state where webhook_id = $1', [webhookId]);
  const held = toHeldShards(claimed).find(({ shard }) => shard === rows[0].shard) ?? { shard: -1, epoch: 0 };
  const failing = { status: 'paused', failures: 1, failingSince: 1, probeTries: 1, nextProbeAt: 1 } as const;
  const store = (isFailingTold: boolean) =>
    background.inOnePacket([
      storeHealth({ sent: [{ webhookId, ...held, revision: 1, ...failing, isFailingTold }], owner }),
    ]);
  const give = () => giveNotice(background, { webhookId, revision: 1, held, owner }, 'failing');

  await store(false);
  expect(await give()).toBe(true);
  // If the outcome of the commit is unknown, the process cannot tell whether the event was written.
  expect(await give()).toBe(false);
  await store(true);
  expect(await give()).toBe(false);
  // A success and the next failure were stored together.
  await store(false);
  expect(await give()).toBe(true);
});

import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { fromWireId } from '../../../domain/identifier.ts';
import { deleteDeliveries, storeFailedDeliveries } from '../../../server/store/webhooks/delivery.ts';
import { moveReplays } from '../../../server/store/webhooks/replay.ts';
import {
  claimShards,
  type HeldShard,
  noteWorker,
  READ_WORKERS,
  releaseShards,
  renewShards,
  toHeldShards,
  toWorkers,
} from '../../../server/store/webhooks/shard.ts';
import { moveCursors, storeHealth } from '../../../server/store/webhooks/state.ts';
import { useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';

const server = await useServer();
const ledger = useLedger(server.connection);
const owner = await useConnection(server.connection);
const { background } = ledger.databases;

const [first, second] = [randomUUID(), randomUUID()];
const EVENT = randomUUID();

/** Claims all shards for a process. */
async function claim(process: string): Promise<readonly HeldShard[]> {
  const [rows = []] = await background.inOnePacket([claimShards({ owner: process, seconds: 3_600, count: 16 })]);
  return toHeldShards(rows);
}

const expire = () => owner.query(`update webhook_shard set expires_at = clock_timestamp() - interval '1 second'`);

beforeEach(async () => {
  await owner.query('update webhook_shard set owner = null, expires_at = null');
});

/** Creates a webhook with a running replay and two failed events. Returns the webhook and its state. */
async function createWebhook() {
  const created = await ledger.call('create_webhook', { url: 'http://receiver.test/', after: 0 });
  const webhookId = fromWireId('wh', JSON.parse(created.body).webhook_id) ?? '';
  const { rows: found } = await owner.query(`select shard, program_id from webhook_state where webhook_id = $1`, [
    webhookId,
  ]);
  const { shard, program_id: programId } = found[0];
  const replayId = randomUUID();
  await owner.query(
    `insert into webhook_replay (replay_id, webhook_id, program_id, selection, from_at, to_at, cursor, until_position, state, created_at)
      values ($1, $2, $3, 'all', now(), now(), 0, 9, 'running', now())`,
    [replayId, webhookId, programId],
  );
  await owner.query(
    `insert into webhook_delivery (webhook_id, kind, event_id, program_id, shard, position, tries, state, created_at, next_at)
      values ($1, 'event', $2, $3, $4, 1, 1, 'waiting', now(), now() + interval '1 hour')`,
    [webhookId, EVENT, programId, shard],
  );
  const state = async () => {
    const { rows } = await owner.query(
      `select webhook_state.cursor::int, status, failures,
          (select cursor::int from webhook_replay where replay_id = $2) as replay,
          (select array_agg(tries order by position) from webhook_delivery where webhook_id = $1) as tries
        from webhook_state where webhook_id = $1`,
      [webhookId, replayId],
    );
    return rows[0];
  };
  /** Returns all writes of a process for a webhook, with the epoch that the process assumes. */
  const writes = (process: string, epoch: number) => {
    const held = { webhookId, shard, epoch };
    const failed = { ...held, programId, tries: 2, nextAt: Date.now() };
    const paused = { status: 'paused' as const, failures: 10, failingSince: 1, probeTries: 1, nextProbeAt: 1 };
    const health = { ...paused, isFailingTold: false };
    const progress = { cursor: 7, ahead: '{[9,11)}', lastSuccessAt: null, lastFailureAt: null };
    const moved = { replayId, shard, epoch, cursor: 5, sentCount: 5, state: 'running' as const };
    return [
      moveCursors({ sent: [{ ...held, ...progress }], owner: process }),
      storeHealth({ sent: [{ ...held, ...health, revision: 1 }], owner: process }),
      moveReplays({ sent: [moved], owner: process }),
      storeFailedDeliveries({ sent: [{ ...failed, eventId: randomUUID(), position: 2 }], owner: process }),
      deleteDeliveries({ sent: [{ ...held, kind: 'event', eventId: EVENT, dueAt: null }], owner: process }),
    ];
  };
  return { shard, state, writes };
}

describe("a process's writes for a webhook", () => {
  test('succeed while it holds the shard', async () => {
    const { shard, state, writes } = await createWebhook();
    const epoch = (await claim(first)).find((held) => held.shard === shard)?.epoch ?? 0;
    expect(await state()).toEqual({ cursor: 0, status: 'enabled', failures: 0, replay: 0, tries: [1] });
    const [moved] = await background.inOnePacket(writes(first, epoch));
    expect(moved).toHaveLength(1);
    expect(await state()).toEqual({ cursor: 7, status: 'paused', failures: 10, replay: 5, tries: [2] });
  });

  test('change nothing once another process has claimed the shard, or the same process has claimed it again', async () => {
    const { shard, state, writes } = await createWebhook();
    const before = await state();
    const epoch = (await claim(first)).find((held) => held.shard === shard)?.epoch ?? 0;
    expect(await claim(second)).toEqual([]);
    await expire();
    expect((await claim(second)).find((held) => held.shard === shard)?.epoch).toBe(epoch + 1);
    for (const [process, held] of [
      [first, epoch],
      [first, epoch + 1],
      [second, epoch],
    ] as const) {
      const [moved] = await background.inOnePacket(writes(process, held));
      expect(moved).toEqual([]);
      expect(await state()).toEqual(before);
    }
    await background.inOnePacket([releaseShards({ owner: second, shards: [shard] })]);
    expect(await claim(first)).toEqual([{ shard, epoch: epoch + 2 }]);
    await background.inOnePacket(writes(first, epoch));
    expect(await state()).toEqual(before);
  });
});

test('an expired lease is renewed unless another process has claimed the shard', async () => {
  const held = await claim(first);
  expect(held).toHaveLength(16);
  await expire();
  const renew = renewShards({ owner: first, seconds: 3_600 });
  const [renewed = []] = await background.inOnePacket([renew]);
  expect(toHeldShards(renewed).toSorted((a, b) => a.shard - b.shard)).toEqual(
    held.toSorted((a, b) => a.shard - b.shard),
  );
  await expire();
  expect(await claim(second)).toHaveLength(16);
  expect(await background.inOnePacket([renew])).toEqual([[]]);
});

test('leases end when the clock is set back, and the processes that held them are not counted', async () => {
  const ahead = (time: string) =>
    owner.query(`update webhook_shard set expires_at = clock_timestamp() + interval '${time}' where owner is not null`);
  const held = await claim(first);
  expect(held).toHaveLength(16);
  // A small correction of a clock does not end a lease.
  await ahead('110 minutes');
  expect(await claim(second)).toEqual([]);
  await ahead('3 hours');
  expect((await claim(second)).map(({ shard }) => shard)).toEqual(held.map(({ shard }) => shard));
  const workers = async () => toWorkers((await background.inOnePacket([READ_WORKERS]))[0] ?? []).workers;
  await owner.query('delete from webhook_worker');
  await owner.query(
    `insert into webhook_worker (owner, seen_at) values ('${first}', clock_timestamp() + interval '9 hours')`,
  );
  expect(await workers()).toBe(0);
  await background.inOnePacket([noteWorker({ owner: second })]);
  expect(await workers()).toBe(1);
  expect((await owner.query('select owner from webhook_worker')).rows).toEqual([{ owner: second }]);
});

test('each shard goes to one of two processes that claim at the same time', async () => {
  const taken = (await Promise.all([claim(first), claim(second), claim(first), claim(second)])).flat();
  expect(taken.map(({ shard }) => shard).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 16 }, (_, shard) => shard),
  );
});

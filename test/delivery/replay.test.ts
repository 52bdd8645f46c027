import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { waitFor } from '../harness/process.ts';
import {
  createWebhook,
  innerId,
  makeDue,
  newProgram,
  type Program,
  untilChangesCount,
  useWorld,
  webhookWhen,
} from './arrange.ts';
import { type Receiver, receiverForTest } from './receiver.ts';

const world = useWorld();
const LONG_AGO = '2000-01-01T00:00:00.000Z';
const NEVER = '2100-01-01T00:00:00.000Z';

test('a signed test event is sent in any status, and counts as neither a success nor a failure', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  // A webhook with all types could get webhook.disabled before the change takes effect.
  const { webhook_id } = await createWebhook(program, receiver, { types: ['transfer.*'] });
  await program.client.webhooks.update(webhook_id, { status: 'disabled' });
  receiver.respond = () => 500;
  const { event_id } = await program.client.webhooks.test(webhook_id);
  await waitFor('the attempt', async () => (await program.client.webhooks.attempts(webhook_id)).data.length === 1);
  expect(receiver.received[0]?.event).toMatchObject({
    event_id,
    type: 'webhook.tested',
    position: 0,
    data: { webhook_id, status: 'disabled' },
  });
  const [attempt] = (await program.client.webhooks.attempts(webhook_id)).data;
  expect(attempt).toMatchObject({ kind: 'test', try: 1, event_id, type: 'webhook.tested', status: 500 });
  expect(await program.client.webhooks.get(webhook_id)).toMatchObject({ failing_since: null, last_failure_at: null });
  // The test event is not retried.
  expect(await world().sql('select from webhook_delivery where webhook_id = $1', innerId(webhook_id))).toEqual([]);
});

test('an event is sent once for each resend', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhook_id } = await createWebhook(program, receiver);
  const last = await program.transfer(1);
  await receiver.all(last, last);
  const event_id = receiver.received[0]?.event.event_id ?? '';
  for (const count of [2, 3]) {
    await program.client.webhooks.resend(webhook_id, { event_id });
    await waitFor('the resend', async () => receiver.received.length === count);
  }
  expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
});

test('a replay sends every event of a time range again, alongside new events', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhook_id } = await createWebhook(program, receiver, { types: ['transfer.*'] });
  const last = await program.transfer(10);
  // Waits for the deliveries, because a replay resends only events that were delivered before it began.
  await webhookWhen(program, webhook_id, ({ position }) => position === last);
  await program.client.webhooks.replay(webhook_id, { from: LONG_AGO, to: NEVER, only: 'all' });
  const newest = await program.transfer(3);
  const { replay } = await webhookWhen(program, webhook_id, (webhook) => webhook.replay?.state === 'completed');
  await receiver.all(program.start + 1, newest);
  const counts = receiver.positions.filter((position) => position <= last).length;
  expect(counts).toBe(20);
  expect(replay).toMatchObject({ only: 'all', state: 'completed', position: replay?.until_position });
  expect(replay?.sent).toBeGreaterThanOrEqual(10);
  expect(replay?.finished_at).not.toBeNull();
  const kinds = (await program.client.webhooks.attempts(webhook_id, { limit: 100 })).data.map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === 'replay').length).toBe(replay?.sent);
});

/** Creates a webhook for which every second of eight events is dead. */
async function webhookWithDeadEvents(program: Program, receiver: Receiver): Promise<string> {
  // After a 429, there is no retry for a minute, so none is in flight when this test changes the rows.
  receiver.respond = ({ event }) => (event.position % 2 === 0 ? 429 : 204);
  const { webhook_id } = await createWebhook(program, receiver, { types: ['transfer.*'] });
  const last = await program.transfer(8);
  await webhookWhen(program, webhook_id, ({ position }) => position === last);
  receiver.respond = ({ event }) => (event.position % 2 === 0 ? 400 : 204);
  await world().sql('update webhook_delivery set tries = 9 where webhook_id = $1', innerId(webhook_id));
  await makeDue(world(), webhook_id);
  await webhookWhen(program, webhook_id, ({ dead }) => dead === 4);
  return webhook_id;
}

const ONLY_FAILED = { from: LONG_AGO, to: NEVER, only: 'failed' } as const;

test('a replay of failed events delivers all dead events', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const webhookId = await webhookWithDeadEvents(program, receiver);
  const { length } = receiver.received;
  receiver.respond = () => 204;
  await program.client.webhooks.replay(webhookId, ONLY_FAILED);
  await webhookWhen(program, webhookId, ({ dead, replay }) => dead === 0 && replay?.state === 'completed');
  const again = receiver.positions.slice(length).toSorted((left, right) => left - right);
  expect(again.length).toBe(4);
  expect(again.every((position) => position % 2 === 0)).toBe(true);
});

/** Changes a webhook so that a failure blocks all other events until the next probe. */
async function holdBack(program: Program, webhookId: string, how: 'strict' | 'paused'): Promise<void> {
  if (how === 'strict') await program.client.webhooks.update(webhookId, { order: 'strict' });
  else await makeDue(world(), webhookId, { status: "'paused'", failures: '10', failing_since: 'clock_timestamp()' });
}

test.each(['strict', 'paused'] as const)(
  'in a %s webhook, the failed events of a dead-event replay are retried until they are delivered',
  async (how) => {
    const program = await newProgram(world());
    const receiver = await receiverForTest();
    const webhookId = await webhookWithDeadEvents(program, receiver);
    await holdBack(program, webhookId, how);
    const { length } = receiver.received;
    receiver.respond = () => 500;
    await program.client.webhooks.replay(webhookId, ONLY_FAILED);
    for (const count of [1, 2]) {
      await waitFor('a failure', async () => receiver.received.length >= length + count);
      await makeDue(world(), webhookId);
    }
    expect(new Set(receiver.positions.slice(length)).size).toBe(1);
    receiver.respond = () => 204;
    await makeDue(world(), webhookId);
    const { replay } = await webhookWhen(program, webhookId, (webhook) => webhook.replay?.state === 'completed');
    await webhookWhen(program, webhookId, ({ dead }) => dead === 0);
    expect(new Set(receiver.positions.slice(length)).size).toBe(4);
    expect(replay?.sent).toBe(receiver.received.length - length);
  },
);

test('a canceled replay blocks no other events', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const webhookId = await webhookWithDeadEvents(program, receiver);
  await holdBack(program, webhookId, 'strict');
  const { length } = receiver.received;
  await program.client.webhooks.replay(webhookId, ONLY_FAILED);
  await waitFor('a failure', async () => receiver.received.length > length);
  await program.client.webhooks.update(webhookId, { status: 'disabled' });
  await untilChangesCount(world());
  const { replay } = await program.client.webhooks.update(webhookId, { status: 'enabled' });
  expect(replay?.state).toBe('canceled');
  const dead = receiver.positions[length] ?? 0;
  receiver.respond = ({ event }) => (event.position === dead ? 400 : 204);
  await program.transfer(1);
  await webhookWhen(program, webhookId, ({ backlog, failing_since }) => backlog === 0 && failing_since === null);
  expect(await program.client.webhooks.get(webhookId)).toMatchObject({ dead: 4, status: 'enabled' });
});

test('a replay continues when its webhook resumes with the next event', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const webhookId = await webhookWithDeadEvents(program, receiver);
  await holdBack(program, webhookId, 'paused');
  const { length } = receiver.received;
  receiver.respond = () => 500;
  await program.client.webhooks.replay(webhookId, ONLY_FAILED);
  await waitFor('a failure', async () => receiver.received.length > length);
  await program.transfer(1);
  receiver.respond = () => 204;
  await program.client.webhooks.update(webhookId, { status: 'enabled', resume: 'now' });
  await webhookWhen(program, webhookId, ({ dead, replay }) => dead === 0 && replay?.state === 'completed');
  expect(new Set(receiver.positions.slice(length)).size).toBe(4);
});

test('a change to thin payloads also applies to the remaining events of a replay', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhook_id } = await createWebhook(program, receiver, { types: ['transfer.*'], concurrency: 1 });
  const last = await program.transfer(3);
  await webhookWhen(program, webhook_id, ({ position }) => position === last);
  const held: ServerResponse[] = [];
  receiver.respond = () => (response) => void held.push(response);
  await program.client.webhooks.replay(webhook_id, { from: LONG_AGO, to: NEVER, only: 'all' });
  await waitFor('the first event', async () => held.length > 0);
  await program.client.webhooks.update(webhook_id, { payload: 'thin' });
  await untilChangesCount(world());
  const { length } = receiver.received;
  receiver.respond = () => 204;
  for (const response of held) response.writeHead(204).end();
  await webhookWhen(program, webhook_id, ({ replay }) => replay?.state === 'completed');
  expect(receiver.received.slice(length).map(({ event }) => event.data)).toEqual([undefined, undefined]);
});

test('a replay of a time range sends only the events in that range', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhook_id } = await createWebhook(program, receiver);
  await program.transfer(2);
  await new Promise((wake) => setTimeout(wake, 5));
  const from = new Date().toISOString();
  await new Promise((wake) => setTimeout(wake, 5));
  const last = await program.transfer(2);
  await webhookWhen(program, webhook_id, ({ position }) => position === last);
  const { length } = receiver.received;
  await program.client.webhooks.replay(webhook_id, { from, to: NEVER, only: 'all' });
  await webhookWhen(program, webhook_id, ({ replay }) => replay?.state === 'completed');
  expect(receiver.positions.slice(length).toSorted((left, right) => left - right)).toEqual([last - 1, last]);
});

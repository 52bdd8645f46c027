import { expect, test } from 'vitest';
import type { NewWebhookRecord, WebhookRecord } from '../../sdk/client.ts';
import { SEND_LIMITS } from '../../server/background/outbound/sender.ts';
import { waitFor } from '../harness/process.ts';
import {
  createWebhook,
  expectInOrder,
  headOf,
  makeDue,
  newProgram,
  untilChangesCount,
  useWorld,
  webhookWhen,
} from './arrange.ts';
import { receiverForTest } from './receiver.ts';

const world = useWorld();

test('sends one event at a time in strict order', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  receiver.respond = () => (response) => setTimeout(() => response.writeHead(204).end(), 5);
  await createWebhook(program, receiver, { order: 'strict', concurrency: 10 });
  const last = await program.transfer(15);
  await receiver.all(program.start + 1, last);
  expect(receiver.maxOpen).toBe(1);
  expectInOrder(receiver, program.start + 1, last);
});

test('sends no event before a failed one in strict order', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const bad = program.start + 3;
  receiver.respond = ({ event }) => (event.position === bad ? 500 : 204);
  const { webhook_id } = await createWebhook(program, receiver, { order: 'strict' });
  const last = await program.transfer(6);
  const isFailing = ({ failing_since, next_attempt_at }: WebhookRecord) =>
    failing_since !== null && next_attempt_at !== null;
  await webhookWhen(program, webhook_id, isFailing);
  await makeDue(world(), webhook_id);
  await waitFor('another attempt', async () => receiver.positions.filter((position) => position === bad).length >= 2);
  expect(Math.max(...receiver.positions)).toBe(bad);
  // After ten failures, the webhook is paused, and the next event still waits.
  await makeDue(world(), webhook_id, { failures: '9' });
  const { position } = await webhookWhen(program, webhook_id, ({ status }) => status === 'paused');
  expect(position).toBe(bad - 1);
  receiver.respond = () => 204;
  await makeDue(world(), webhook_id);
  await receiver.all(program.start + 1, last);
  const firsts = receiver.positions.filter((arrived, index) => receiver.positions.indexOf(arrived) === index);
  expect(firsts).toEqual(firsts.toSorted((left, right) => left - right));
  await webhookWhen(program, webhook_id, ({ status, backlog }) => status === 'enabled' && backlog === 0);
});

test('webhooks that never respond delay no other webhook, and get one request at a time', async () => {
  const hanging = await receiverForTest();
  hanging.respond = () => () => undefined;
  const [bad, good] = [await newProgram(world()), await newProgram(world())];
  for (let count = 0; count < 20; count += 1) await createWebhook(bad, hanging, { concurrency: 100 });
  const startedAt = performance.now();
  await bad.transfer(10);
  await waitFor('requests that hang', async () => hanging.open === 20);
  const receiver = await receiverForTest();
  await createWebhook(good, receiver, { concurrency: 100 });
  const last = await good.transfer(30);
  await receiver.all(good.start + 1, last);
  // A webhook gets its next request only after a timeout, which takes longer than this test, except on a busy machine.
  const timeouts = Math.floor((performance.now() - startedAt) / SEND_LIMITS.answerTimeoutMilliseconds);
  expect(hanging.received.length).toBeLessThanOrEqual(20 * (1 + timeouts));
});

test('webhooks that never respond do not delay the test event of another webhook', async () => {
  const hanging = await receiverForTest();
  hanging.respond = () => () => undefined;
  const [bad, good] = [await newProgram(world()), await newProgram(world())];
  // The total is more test events than the service reads at once. Each webhook has fewer than the number at which the
  // service stops reading its test events.
  const webhooks: NewWebhookRecord[] = [];
  for (let count = 0; count < 5; count += 1) webhooks.push(await createWebhook(bad, hanging, { types: ['card.*'] }));
  for (const { webhook_id } of webhooks) {
    for (let count = 0; count < 19; count += 1) await bad.client.webhooks.test(webhook_id);
  }
  await waitFor('requests that hang', async () => hanging.open === 5);
  await untilChangesCount(world());
  const receiver = await receiverForTest();
  const { webhook_id } = await createWebhook(good, receiver);
  await good.client.webhooks.test(webhook_id);
  // If the event waited for half of the others, it would arrive after two minutes.
  await waitFor('the test', async () => receiver.received.length === 1, 60_000);
});

test('skips events that were deleted while the webhook was disabled', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhook_id } = await createWebhook(program, receiver);
  await program.client.webhooks.update(webhook_id, { status: 'disabled' });
  await untilChangesCount(world());
  // webhook.disabled also has a position.
  const gone = (await program.transfer(3)) + 1;
  await waitFor('the position of the last event', async () => (await headOf(program.client)) >= gone);
  const { sql } = world();
  const numbers = await sql(
    'select max(number + count - 1) as last from event_position where program_id = $1',
    `${program.programId.slice(5, 13)}-${program.programId.slice(13, 17)}-${program.programId.slice(17, 21)}-${program.programId.slice(21, 25)}-${program.programId.slice(25)}`,
  );
  // Has the same effect as drop_event_partition for a day.
  await sql('update event_deletion set up_to_number = $1', numbers[0]?.last);
  await sql('delete from event_position where number <= $1', numbers[0]?.last);
  const last = (await program.transfer(2)) + 1;
  await program.client.webhooks.update(webhook_id, { status: 'enabled' });
  await receiver.all(gone + 1, last);
  // The receiver may have received webhook.disabled before the change took effect.
  const passed = receiver.positions.filter((position) => position > program.start + 1 && position <= gone);
  expect(passed).toEqual([]);
  await webhookWhen(program, webhook_id, ({ position }) => position === last);
  await waitFor('the line', async () => world().service.output().includes('were deleted before they were sent'));
});

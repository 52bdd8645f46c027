import { Webhook as StandardWebhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { verifyWebhook } from '../../sdk/client.ts';
import { waitFor } from '../harness/process.ts';
import { createWebhook, innerId, newProgram, useWorld, webhookWhen } from './arrange.ts';
import { type Received, receiverForTest } from './receiver.ts';

const world = useWorld('At first it has no webhook.');

test('starts to deliver when the first webhook is created', async () => {
  const { sql } = world();
  const countWorkers = () => sql('select count(*)::int as count from webhook_worker');
  const program = await newProgram(world());
  await program.transfer(1);
  expect(await countWorkers()).toEqual([{ count: 0 }]);
  const receiver = await receiverForTest();
  await createWebhook(program, receiver);
  await receiver.all(program.start + 1, program.start + 1);
  expect(await countWorkers()).toEqual([{ count: 1 }]);
});

test('sends signed events with the same bytes as get_event, and moves the position', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { secret, webhook_id } = await createWebhook(program, receiver, {
    headers: { Authorization: 'Bearer abc123xyz' },
  });
  const last = await program.transfer(3);
  await receiver.all(program.start + 1, last);
  for (const { body, headers, event } of receiver.received) {
    expect(JSON.parse(body)).toEqual(await verifyWebhook(body, headers, secret ?? ''));
    new StandardWebhook(secret ?? '').verify(body, headers as Record<string, string>);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': event.event_id,
      authorization: 'Bearer abc123xyz',
    });
    const response = await fetch(`${world().service.url}/api/v0.1/core/event/${event.event_id}`, {
      headers: { 'Program-Id': program.programId },
    });
    expect(body).toBe(await response.text());
  }
  expect(receiver.received.length).toBe(3);
  const webhook = await webhookWhen(program, webhook_id, ({ position }) => position === last);
  expect(webhook).toMatchObject({ status: 'enabled', backlog: 0, dead: 0, failing_since: null });
  expect(webhook.last_success_at).not.toBeNull();
});

test('sends only the requested types, and moves the position past the other events', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhook_id } = await createWebhook(program, receiver, {
    types: ['card.*', 'transfer.canceled'],
    payload: 'thin',
  });
  await program.transfer(2);
  await program.client.cards.create();
  const last = program.start + 3;
  await webhookWhen(program, webhook_id, ({ position }) => position === last);
  expect(receiver.received.map(({ event }) => event.type)).toEqual(['card.created']);
  expect(receiver.received[0]?.event.position).toBe(last);
  expect(receiver.received[0]?.event).not.toHaveProperty('data');
});

test("sends a program only its own events, and sends operators every program's events, each with its number", async () => {
  const [one, other] = [await newProgram(world()), await newProgram(world())];
  const [receiver, operators] = [await receiverForTest(), await receiverForTest()];
  await createWebhook(one, receiver);
  const { client } = world();
  const { webhook_id } = await client.operatorWebhooks.create({ url: operators.url, types: ['transfer.*'] });
  await one.transfer(1);
  await other.transfer(1);
  const count = () => operators.received.length;
  await waitFor('both events', async () => count() === 2);
  await client.operatorWebhooks.delete(webhook_id);
  await receiver.all(one.start + 1, one.start + 1);
  const numbers = operators.received.map(({ body }) => (JSON.parse(body) as { number: number }).number);
  expect(numbers.toSorted((left, right) => left - right)[1]).toBeGreaterThan(numbers[0] ?? 0);
  expect(
    new Set(operators.received.map(({ body }) => (JSON.parse(body) as { program_id: string }).program_id)),
  ).toEqual(new Set([one.programId, other.programId]));
  expect(receiver.received.length).toBe(1);
});

test('respects the concurrency and the rate', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const last = await program.transfer(24);
  receiver.respond = () => (response) => setTimeout(() => response.writeHead(204).end(), 10);
  await createWebhook(program, receiver, { concurrency: 3 });
  await receiver.all(program.start + 1, last);
  expect(receiver.maxOpen).toBeLessThanOrEqual(3);

  const slow = await receiverForTest();
  const startedAt = performance.now();
  await createWebhook(program, slow, { rate: 20 });
  await slow.all(program.start + 1, last);
  // A burst may contain as many events as the rate allows in a tenth of a second.
  expect(performance.now() - startedAt).toBeGreaterThan((24 / 20 - 0.2) * 1000);
});

test("stores attempts without secrets and card numbers, even if the receiver's response contains them", async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  receiver.respond = ({ headers }) => ({
    status: 422,
    body: `no: ${headers.authorization} 4111 1111 1111 1111 ${'x'.repeat(5_000)}`,
  });
  const headers = { Authorization: 'Bearer swordfish-99' };
  const { webhook_id } = await createWebhook(program, receiver, { headers });
  await program.transfer(1);
  await webhookWhen(program, webhook_id, ({ last_failure_at }) => last_failure_at !== null);
  // Reads the oldest attempt, because a retry follows after a few seconds.
  const attempt = (await program.client.webhooks.attempts(webhook_id)).data.at(-1);
  expect(attempt).toMatchObject({
    kind: 'event',
    try: 1,
    succeeded: false,
    status: 422,
    address: '127.0.0.1',
    error: null,
    type: 'transfer.completed',
    position: program.start + 1,
  });
  expect(attempt?.response_start).toMatch(/^no: /);
  expect(attempt?.response_start?.length).toBeLessThanOrEqual(1_025);
  for (const secret of ['swordfish', '4111']) expect(attempt?.response_start).not.toContain(secret);
});

test('applies a change of the URL and the secret to the next events', async () => {
  const program = await newProgram(world());
  const [first, second] = [await receiverForTest(), await receiverForTest()];
  const { webhook_id } = await createWebhook(program, first);
  const before = await program.transfer(1);
  await first.all(before, before);
  await program.client.webhooks.update(webhook_id, { url: second.url });
  const { secret } = await program.client.webhooks.rollSecret(webhook_id);
  // Some events may go to the new URL with the old secret.
  const signatures = ({ headers }: Received) => String(headers['webhook-signature']).split(' ').length;
  await waitFor('the change', async () => {
    await program.transfer(1);
    return second.received.some((received) => signatures(received) === 2);
  });
  const [received] = second.received.filter((one) => signatures(one) === 2);
  if (received === undefined) throw new Error('nothing was received');
  await verifyWebhook(received.body, received.headers, secret ?? '');
});

test('sends nothing more to a deleted webhook', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhook_id } = await createWebhook(program, receiver);
  const last = await program.transfer(1);
  await receiver.all(last, last);
  await program.client.webhooks.delete(webhook_id);
  const { sql } = world();
  await program.transfer(5);
  const other = await receiverForTest();
  await createWebhook(program, other);
  await other.all(program.start + 1, last + 5);
  expect(receiver.positions.filter((position) => position > last).length).toBeLessThanOrEqual(5);
  expect(await sql('select from webhook_state where webhook_id = $1', innerId(webhook_id))).toEqual([]);
});

import { expect, onTestFinished, test } from 'vitest';
import { embeddedServerOf, waitFor } from '../harness/process.ts';
import {
  connect,
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

const world = useWorld('It counts the webhooks that fail.');

/**
 * Returns the seconds from the end of the first attempt to the retry, or undefined if the retry has already happened.
 */
async function secondsToRetry(webhookId: string): Promise<number | undefined> {
  const [row] = await world().sql(
    `select tries, extract(epoch from next_at - started_at)::float8 - milliseconds / 1000.0::float8 as seconds
      from webhook_delivery join webhook_attempt using (webhook_id, event_id)
      where webhook_id = $1 and try = 1`,
    innerId(webhookId),
  );
  return row?.tries === 1 ? Number(row.seconds) : undefined;
}

/**
 * Expects the retry between `min` and `max` seconds after the first attempt. Checks nothing if the retry has already
 * happened, which is possible on a slow machine.
 */
async function expectRetry(webhookId: string, min: number, max: number): Promise<void> {
  const seconds = await secondsToRetry(webhookId);
  if (seconds === undefined) return;
  expect(seconds).toBeGreaterThan(min);
  expect(seconds).toBeLessThan(max);
}

/**
 * Fails enough deliveries to pause a webhook. Their status is 429, so the service sends nothing for a minute unless the
 * test makes an event due.
 */
async function pausedWebhook(program: Program, receiver: Receiver, count = 12) {
  receiver.respond = () => 429;
  const webhook = await createWebhook(program, receiver);
  const last = await program.transfer(count);
  await webhookWhen(program, webhook.webhook_id, ({ status }) => status === 'paused');
  return { webhookId: webhook.webhook_id, last };
}

async function eventTypes({ client }: Program): Promise<readonly string[]> {
  return (await client.events.list({ type: 'webhook.*' })).data.map(({ type }) => type).reverse();
}

test("sends the request's trace with every attempt of its event, and with no other event", async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  receiver.respond = () => 500;
  const { webhook_id } = await createWebhook(program, receiver, { headers: { Traceparent: 'of the webhook' } });
  const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00';
  const headers = { 'Program-Id': program.programId, traceparent: trace, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ amount: 1, card_id: program.cardId });
  const url = `${world().service.url}/api/v0.1/core/transfer`;
  expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(201);
  const traced = program.start + 1;
  await program.transfer(1);
  const attempts = (count: number) =>
    waitFor(
      `attempt ${count}`,
      async () => receiver.positions.filter((position) => position === traced).length >= count,
    );
  await attempts(1);
  await webhookWhen(program, webhook_id, ({ failing_since }) => failing_since !== null);
  receiver.respond = () => 204;
  await makeDue(world(), webhook_id);
  await attempts(2);
  const eventId = receiver.received.find(({ event }) => event.position === traced)?.event.event_id ?? '';
  await program.client.webhooks.resend(webhook_id, { event_id: eventId });
  await attempts(3);
  for (const { event, headers: received } of receiver.received) {
    expect(received.traceparent).toBe(event.position === traced ? trace : 'of the webhook');
  }
});

test('retries a failed event on schedule while other events arrive', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const bad = program.start + 1;
  // Only the first attempt fails. On a busy machine, the retry may be due before this test makes it due.
  let failures = 0;
  receiver.respond = ({ event }) => {
    if (event.position === bad) failures += 1;
    return event.position === bad && failures === 1 ? 500 : 204;
  };
  const { webhook_id } = await createWebhook(program, receiver);
  const last = await program.transfer(3);
  await webhookWhen(program, webhook_id, ({ position }) => position === last);
  await expectRetry(webhook_id, 3.9, 7);
  await makeDue(world(), webhook_id);
  await waitFor('the retry', async () => receiver.positions.filter((position) => position === bad).length === 2);
  await webhookWhen(program, webhook_id, ({ next_attempt_at }) => next_attempt_at === null);
  const attempts = (await program.client.webhooks.attempts(webhook_id)).data.filter(({ position }) => position === bad);
  expect(attempts.map(({ kind, try: count, succeeded }) => [kind, count, succeeded])).toEqual([
    ['retry', 2, true],
    ['event', 1, false],
  ]);
});

test('stops retrying an event after ten attempts, and a resend delivers it', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const bad = program.start + 1;
  // After a 429, there is no retry for a minute, so none is in flight when this test changes its row.
  receiver.respond = ({ event }) => (event.position === bad ? 429 : 204);
  const { webhook_id } = await createWebhook(program, receiver);
  const last = await program.transfer(2);
  await webhookWhen(
    program,
    webhook_id,
    ({ position, next_attempt_at }) => position === last && next_attempt_at !== null,
  );
  const { sql } = world();
  receiver.respond = ({ event }) => (event.position === bad ? 404 : 204);
  await sql('update webhook_delivery set tries = 9 where webhook_id = $1', innerId(webhook_id));
  await makeDue(world(), webhook_id);
  await webhookWhen(program, webhook_id, ({ dead }) => dead === 1);
  expect((await program.client.webhooks.attempts(webhook_id)).data[0]).toMatchObject({ kind: 'retry', try: 10 });
  const [event] = receiver.received
    .filter((received) => received.event.position === bad)
    .map((received) => received.event);
  receiver.respond = () => 204;
  await program.client.webhooks.resend(webhook_id, { event_id: event?.event_id ?? '' });
  await webhookWhen(program, webhook_id, ({ dead }) => dead === 0);
  expect((await program.client.webhooks.attempts(webhook_id)).data[0]).toMatchObject({
    kind: 'resend',
    succeeded: true,
  });
  expect(await sql('select from webhook_delivery where webhook_id = $1', innerId(webhook_id))).toEqual([]);
});

test.each([
  ['waits a minute after a 429', 429, {}, 59, 75],
  ['waits for the Retry-After of a 429', 429, { 'retry-after': '100' }, 99, 103],
  ['waits at most twice the normal pause if the Retry-After is long', 503, { 'retry-after': '86400' }, 9, 13],
])('%s', async (_, status, headers, min, max) => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  receiver.respond = () => ({ status, headers });
  const { webhook_id } = await createWebhook(program, receiver);
  const last = await program.transfer(1);
  await webhookWhen(program, webhook_id, ({ position }) => position === last);
  await expectRetry(webhook_id, min, max);
});

test('pauses a webhook after ten failures in a row, probes it, and sends everything after a success', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhookId, last } = await pausedWebhook(program, receiver, 40);
  const paused = await program.client.webhooks.get(webhookId);
  expect(paused).toMatchObject({ status: 'paused', status_reason: 'failing', dead: 0 });
  expect(paused.failing_since).not.toBeNull();
  expect(paused.backlog).toBeGreaterThan(0);
  const sent = receiver.received.length;
  expect(sent).toBeLessThan(25);
  await makeDue(world(), webhookId);
  await waitFor('a probe', async () => receiver.received.length > sent);
  expect(receiver.positions.at(-1)).toBe(program.start + 1);
  receiver.respond = () => 204;
  await makeDue(world(), webhookId);
  await receiver.all(program.start + 1, last);
  await webhookWhen(program, webhookId, ({ status, backlog }) => status === 'enabled' && backlog === 0);
  const probes = (await program.client.webhooks.attempts(webhookId, { limit: 100 })).data.filter(
    ({ kind }) => kind === 'probe',
  );
  expect(probes.length).toBeGreaterThanOrEqual(2);
  // Events that failed before the pause are also sent again.
  await waitFor('the retries', async () => {
    await makeDue(world(), webhookId);
    const rows = await world().sql('select from webhook_delivery where webhook_id = $1', innerId(webhookId));
    return rows.length === 0;
  });
});

test('probes a paused webhook at once when it is enabled', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhookId } = await pausedWebhook(program, receiver);
  receiver.respond = () => 204;
  await program.client.webhooks.update(webhookId, { status: 'enabled' });
  await webhookWhen(program, webhookId, ({ status }) => status === 'enabled');
});

test('sends everything to a receiver that was killed and then restarted', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhook_id } = await createWebhook(program, receiver);
  await receiver.all(program.start + 1, await program.transfer(5));
  await receiver.kill();
  const last = await program.transfer(15);
  await webhookWhen(program, webhook_id, ({ status }) => status === 'paused');
  const [attempt] = (await program.client.webhooks.attempts(webhook_id)).data;
  expect(attempt).toMatchObject({ status: null, error: 'connection_refused', succeeded: false });
  await receiver.start();
  await waitFor('everything', async () => {
    await makeDue(world(), webhook_id);
    return new Set(receiver.positions).size === last - program.start;
  });
});

test('disables a webhook after 410, and sends webhook.disabled to other webhooks', async () => {
  const program = await newProgram(world());
  const [receiver, other] = [await receiverForTest(), await receiverForTest()];
  receiver.respond = () => 410;
  await createWebhook(program, other, { types: ['webhook.*'] });
  const { webhook_id } = await createWebhook(program, receiver);
  await program.transfer(3);
  const webhook = await webhookWhen(program, webhook_id, ({ status }) => status === 'disabled');
  expect(webhook).toMatchObject({ status_reason: 'gone', next_attempt_at: null });
  await waitFor('the notice', async () => other.received.length === 1);
  expect(other.received[0]?.event).toMatchObject({
    type: 'webhook.disabled',
    data: { webhook_id, status: 'disabled', status_reason: 'gone' },
  });
});

test('emits webhook.failing once after an hour of failures, and disables the webhook after 120 hours', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhookId, last } = await pausedWebhook(program, receiver);
  const failing = async () => (await world().service.client.status.get()).webhooks.failing;
  expect(await failing()).toBe(0);
  const probe = async (also: Readonly<Record<string, string>> = {}): Promise<void> => {
    const { length } = receiver.received;
    await makeDue(world(), webhookId, also);
    await waitFor('a probe', async () => receiver.received.length > length);
    await waitFor('its outcome', async () => {
      const [row] = await world().sql(
        'select count(*)::int as count from webhook_attempt where webhook_id = $1',
        innerId(webhookId),
      );
      return row?.count === receiver.received.length;
    });
  };
  await probe({ failing_since: `clock_timestamp() - interval '2 hours'` });
  await waitFor('webhook.failing', async () => (await eventTypes(program)).includes('webhook.failing'));
  expect(await failing()).toBe(1);
  await probe();
  expect(await eventTypes(program)).toEqual(['webhook.failing']);
  await probe({ failing_since: `clock_timestamp() - interval '121 hours'` });
  await webhookWhen(
    program,
    webhookId,
    ({ status, status_reason }) => status === 'disabled' && status_reason === 'failing',
  );
  await waitFor('webhook.disabled', async () => (await eventTypes(program)).length === 2);
  expect(await eventTypes(program)).toEqual(['webhook.failing', 'webhook.disabled']);

  // Once enabled, the webhook gets all events since the pause.
  receiver.respond = () => 204;
  await program.client.webhooks.update(webhookId, { status: 'enabled' });
  await receiver.all(program.start + 1, last + 2);
  await webhookWhen(program, webhookId, ({ backlog, failing_since }) => backlog === 0 && failing_since === null);
});

test('does not count the days during which the service was stopped toward disabling a webhook', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhookId } = await pausedWebhook(program, receiver);
  const sent = receiver.received.length;
  const ago = (hours: number): string => `clock_timestamp() - interval '${hours} hours'`;
  await makeDue(world(), webhookId, {
    failing_since: ago(200),
    last_failure_at: ago(199),
    next_probe_at: ago(198),
  });
  await waitFor('a probe', async () => receiver.received.length > sent);
  const webhook = await webhookWhen(program, webhookId, ({ last_failure_at }) => isRecent(last_failure_at));
  expect(webhook.status).toBe('paused');
  expect(Date.now() - Date.parse(webhook.failing_since ?? '')).toBeLessThan(3 * 3_600_000);
  // The webhook has failed for two hours while the service was running.
  await expect.poll(() => eventTypes(program)).toEqual(['webhook.failing']);
});

test('resends an event whose probe failed, once another success has ended the pause', async () => {
  const { sql } = world();
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhookId, last } = await pausedWebhook(program, receiver);
  const probes = async () =>
    (await program.client.webhooks.attempts(webhookId)).data.filter(({ kind }) => kind === 'probe');
  const before = (await probes()).length;
  await makeDue(world(), webhookId);
  await expect.poll(async () => (await probes()).length).toBeGreaterThan(before);
  receiver.respond = () => 204;
  // Simulates the success of a request that was in flight when the webhook was paused. The rows of the events do not
  // change.
  const id = innerId(webhookId);
  await sql('begin');
  await sql('update webhook set revision = revision + 1 where webhook_id = $1', id);
  await sql(
    `update webhook_state set last_success_at = last_failure_at + interval '1 second',
      next_probe_at = clock_timestamp() + interval '1 hour' where webhook_id = $1`,
    id,
  );
  await sql('commit');
  await receiver.all(program.start + 1, last);
  await webhookWhen(program, webhookId, ({ dead, next_attempt_at }) => dead === 0 && next_attempt_at === null);
  expect((await sql('select from webhook_delivery where webhook_id = $1', id)).length).toBe(0);
});

test('ends the pause after a success that arrives while the webhook is being changed', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhookId } = await pausedWebhook(program, receiver);
  // Simulates such a success, whose time is stored although the webhook is still paused.
  await makeDue(world(), webhookId, {
    last_success_at: "last_failure_at + interval '1 second'",
    next_probe_at: "clock_timestamp() + interval '1 hour'",
  });
  receiver.respond = () => 204;
  await webhookWhen(program, webhookId, ({ status, failing_since }) => status === 'enabled' && failing_since === null);
});

test('ends the pause after a success that arrives while the service is reading a change of the webhook', async () => {
  const { service, sql } = world();
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhookId } = await pausedWebhook(program, receiver);
  const id = innerId(webhookId);
  let accept: (() => void) | undefined;
  receiver.respond = () => (response) => {
    accept = () => void response.writeHead(204).end();
    receiver.respond = () => 204;
  };
  await makeDue(world(), webhookId);
  await waitFor('the probe', async () => accept !== undefined);
  const blocking = await connect((await embeddedServerOf(service.directory)).databaseUrl);
  onTestFinished(() => blocking.end());
  await blocking.query('begin; lock table webhook_secret');
  await makeDue(world(), webhookId, { next_probe_at: "clock_timestamp() + interval '1 hour'" });
  // The service has read the changed webhook, but not yet its secrets.
  const waits = `select from pg_locks where relation = 'webhook_secret'::regclass and not granted`;
  await waitFor('the read of the secrets', async () => (await sql(waits)).length > 0);
  accept?.();
  const success = 'select from webhook_state where webhook_id = $1 and last_success_at > last_failure_at';
  await waitFor('the success', async () => (await sql(success, id)).length > 0);
  await blocking.query('commit');
  await webhookWhen(program, webhookId, ({ status, failing_since }) => status === 'enabled' && failing_since === null);
});

const isRecent = (moment: string | null): boolean => moment !== null && Date.now() - Date.parse(moment) < 3_600_000;

test('sends nothing to a disabled webhook, and when it is enabled, resumes with its backlog or with the next event', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhook_id } = await createWebhook(program, receiver);
  await receiver.all(program.start + 1, await program.transfer(1));
  const disable = async (): Promise<number> => {
    await program.client.webhooks.update(webhook_id, { status: 'disabled' });
    await untilChangesCount(world());
    const { length } = receiver.received;
    await program.transfer(2);
    await untilChangesCount(world());
    expect(receiver.received.length).toBe(length);
    const { position, backlog } = await program.client.webhooks.get(webhook_id);
    expect(backlog).toBeGreaterThanOrEqual(2);
    return position + backlog;
  };
  const missed = await disable();
  await program.client.webhooks.update(webhook_id, { status: 'enabled' });
  await receiver.all(program.start + 1, missed);
  await webhookWhen(program, webhook_id, ({ backlog }) => backlog === 0);

  const passed = await disable();
  const enabled = await program.client.webhooks.update(webhook_id, { status: 'enabled', resume: 'now' });
  expect(enabled).toMatchObject({ position: passed, backlog: 0 });
  await program.transfer(1);
  await receiver.all(passed + 1, passed + 1);
  expect(receiver.positions).not.toContain(passed);
});

test('sends a retry only once, even if it is due when the webhook pauses and then becomes the probe', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  // After a 429, there is no retry for a minute, so no retry adds the tenth failure before nine events have failed.
  receiver.respond = () => 429;
  const { webhook_id: id } = await createWebhook(program, receiver, { concurrency: 1 });
  // One failure fewer than the number that pauses a webhook.
  const last = await program.transfer(9);
  const { sql } = world();
  const rows = async () => (await sql('select from webhook_delivery where webhook_id = $1', innerId(id))).length;
  await waitFor('nine retries', async () => (await rows()) === 9);
  receiver.respond = () => 500;
  // The newest event is sent first and pauses the webhook. The oldest one is also due, and becomes the probe.
  await sql(
    `update webhook_delivery set next_at = clock_timestamp() - position * interval '1 second' where webhook_id = $1`,
    innerId(id),
  );
  await sql('update webhook set revision = revision + 1 where webhook_id = $1', innerId(id));
  await webhookWhen(program, id, ({ status }) => status === 'paused');
  const accepted: number[] = [];
  receiver.respond = ({ event }) => {
    accepted.push(event.position);
    return 204;
  };
  await webhookWhen(program, id, ({ status }) => status === 'enabled');
  await waitFor('the due retries', async () => (await rows()) <= 1);
  await makeDue(world(), id);
  await waitFor('all retries', async () => (await rows()) === 0);
  expect(accepted.toSorted((one, other) => one - other)).toEqual(
    Array.from({ length: 9 }, (_, index) => last - 8 + index),
  );
});

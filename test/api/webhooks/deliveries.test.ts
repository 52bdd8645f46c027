import { randomUUIDv7 } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { DEMO_PROGRAM } from '../../../contract/samples.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { idAt } from '../../../server/foundation/ids.ts';
import { refusalOf } from '../../harness/service.ts';
import { innerId, URL, useStillService } from './still-service.ts';

const { client, admin, makeEvent } = await useStillService();

beforeEach(async () => {
  await admin.query('delete from webhook');
  await admin.query('truncate webhook_attempt');
});

async function deliveries(id: string) {
  const { rows } = await admin.query(
    `select kind, event_id, position, body, tries, state, next_at <= clock_timestamp() as is_due, shard
      from webhook_delivery where webhook_id = $1 order by created_at`,
    [innerId(id)],
  );
  return rows;
}

describe('test_webhook', () => {
  test.each(['enabled', 'disabled'] as const)(
    'immediately sends an event that contains the webhook, while the webhook is %s',
    async (status) => {
      const { webhook_id: id } = await client.webhooks.create({ url: URL, types: ['card.created'] });
      const webhook = await client.webhooks.update(id, { status });
      const queued = await client.webhooks.test(id);
      expect(queued).toEqual({
        webhook_id: id,
        event_id: expect.stringMatching(/^evt_[0-9a-f]{32}$/),
        state: 'waiting',
      });
      const [delivery, ...more] = await deliveries(id);
      expect(more).toEqual([]);
      expect(delivery).toMatchObject({ kind: 'test', tries: 0, state: 'waiting', is_due: true });
      expect(delivery.event_id).toBe(fromWireId('evt', queued.event_id));
      expect(delivery.shard).toBe(Number.parseInt(id.slice(-1), 16));
      expect(JSON.parse(delivery.body)).toEqual({
        event_id: queued.event_id,
        type: 'webhook.tested',
        position: 0,
        program_id: webhook.program_id,
        subject_id: id,
        created_at: expect.any(String),
        version: 'v0.1',
        data: { ...webhook },
      });
      expect(await refusalOf(client.events.get(queued.event_id))).toMatchObject({ Code: 'event_not_found' });
    },
  );

  test('sends an event with a number but without data to a thin webhook of operators', async () => {
    const { webhook_id: id } = await client.operatorWebhooks.create({ url: URL, payload: 'thin' });
    await client.operatorWebhooks.test(id);
    const [delivery] = await deliveries(id);
    const body = JSON.parse(delivery.body);
    expect(body).toMatchObject({ position: 0, number: 0, program_id: null });
    expect(body).not.toHaveProperty('data');
  });

  test('sends two events if it is called twice', async () => {
    const { webhook_id: id } = await client.webhooks.create({ url: URL });
    await client.webhooks.test(id);
    await client.webhooks.test(id);
    expect(await deliveries(id)).toHaveLength(2);
  });
});

describe('resend_event', () => {
  test('sends an event of any type immediately, with its position', async () => {
    const eventId = await makeEvent();
    const { webhook_id: id } = await client.webhooks.create({ url: URL, types: ['key.created'] });
    const { position } = await client.events.get(eventId);
    const queued = await client.webhooks.resend(id, { event_id: eventId });
    expect(queued).toEqual({ webhook_id: id, event_id: eventId, state: 'waiting' });
    const expected = {
      kind: 'resend',
      position: BigInt(position),
      body: null,
      tries: 0,
      state: 'waiting',
      is_due: true,
    };
    const found = (await deliveries(id)).map((one) => ({ ...one, position: BigInt(one.position) }));
    expect(found).toMatchObject([{ ...expected, event_id: fromWireId('evt', eventId) }]);

    // A second resend makes the same delivery due again, and does not add another delivery.
    await admin.query("update webhook_delivery set tries = 3, state = 'dead', next_at = null");
    await client.webhooks.resend(id, { event_id: eventId });
    expect(await deliveries(id)).toMatchObject([{ tries: 0, state: 'waiting', is_due: true }]);
  });

  test('sends operators any event with its number', async () => {
    const eventId = await makeEvent();
    const { webhook_id: id } = await client.operatorWebhooks.create({ url: URL });
    const { number } = await client.events.inspect(eventId);
    await client.operatorWebhooks.resend(id, { event_id: eventId });
    expect((await deliveries(id)).map((one) => Number(one.position))).toEqual([number]);
  });

  test('sends no event of another card program, even for operators', async () => {
    const eventId = await makeEvent();
    const { program_id: programId } = await client.programs.create({ name: 'Other', currency: 'USD' });
    const { webhook_id: id } = await client.webhooks.create({ url: URL }, { programId });
    // The calls run in sequence, because a rejection that nothing awaits would end the process.
    for (const resend of [
      () => client.webhooks.resend(id, { event_id: eventId }, { programId }),
      () => client.operatorWebhooks.resend(id, { event_id: eventId }),
    ]) {
      expect(await refusalOf(resend())).toMatchObject({ Code: 'event_not_found', Status: 404 });
    }
    expect(await deliveries(id)).toEqual([]);
  });
});

describe('list_webhook_attempts', () => {
  /** Inserts deliveries over three days. Every third one fails. */
  async function makeAttempts(webhookId: string, count: number): Promise<readonly string[]> {
    const firstAt = Date.now();
    const eventIds = Array.from({ length: count }, () => randomUUIDv7());
    for (const [at, eventId] of eventIds.entries()) {
      const hasFailed = at % 3 === 0;
      await admin.query(
        `with sent as materialized (select webhook_id, program_id from webhook where webhook_id = $10)
          insert into webhook_attempt (attempt_id, webhook_id, program_id, event_id, event_type, position, kind, try,
            started_at, milliseconds, succeeded, status, address, error, message, response_start)
          select $1, webhook_id, program_id, $2, 'card.created', $3, 'event', 1,
            now() - make_interval(days => $4), 12, $5, $6, '203.0.113.7', $7, $8, $9
          from sent`,
        [
          ...[idAt(firstAt + at), eventId, at + 1, 2 - Math.floor((at * 3) / count), !hasFailed],
          ...(hasFailed ? [null, 'connect_timeout', 'No connection within 5 s.', null] : [204, null, null, 'ok']),
          innerId(webhookId),
        ],
      );
    }
    return eventIds.map((eventId) => toWireId('evt', eventId));
  }

  test('shows the deliveries in pages, newest first', async () => {
    const { webhook_id: id } = await client.webhooks.create({ url: URL });
    const eventIds = await makeAttempts(id, 7);
    const found: string[] = [];
    for await (const { event_id } of client.webhooks.attemptsAll(id, { limit: 3 })) found.push(event_id);
    expect(found).toEqual(eventIds.toReversed());
    const [newest] = (await client.operatorWebhooks.attempts(id, { limit: 1 })).data;
    expect(newest).toEqual({
      attempt_id: expect.stringMatching(/^att_[0-9a-f]{32}$/),
      webhook_id: id,
      program_id: DEMO_PROGRAM,
      event_id: eventIds[6],
      type: 'card.created',
      position: 7,
      kind: 'event',
      try: 1,
      started_at: expect.any(String),
      milliseconds: 12,
      succeeded: false,
      status: null,
      address: '203.0.113.7',
      error: 'connect_timeout',
      message: 'No connection within 5 s.',
      response_start: null,
    });
  });

  test('filters by event and by outcome', async () => {
    const { webhook_id: id } = await client.webhooks.create({ url: URL });
    const eventIds = await makeAttempts(id, 7);
    const listed = async (query: object) =>
      (await client.webhooks.attempts(id, query)).data.map(({ event_id }) => eventIds.indexOf(event_id));
    expect(await listed({ succeeded: 'false' })).toEqual([6, 3, 0]);
    expect(await listed({ succeeded: 'true' })).toEqual([5, 4, 2, 1]);
    expect(await listed({ event_id: eventIds[3] })).toEqual([3]);
    expect(await listed({ event_id: eventIds[3], succeeded: 'true' })).toEqual([]);
    expect(await listed({ event_id: eventIds[4], succeeded: 'true' })).toEqual([4]);
  });

  test('filters by status and by time', async () => {
    const { webhook_id: id } = await client.webhooks.create({ url: URL });
    const now = Date.now();
    const hoursAgo = (hours: number) => now - hours * 3_600_000;
    const statuses = [204, 404, 500, 503, null];
    for (const [at, status] of statuses.entries()) {
      const startedAt = hoursAgo(statuses.length - at);
      await admin.query(
        `with sent as materialized (select webhook_id, program_id from webhook where webhook_id = $7)
          insert into webhook_attempt (attempt_id, webhook_id, program_id, event_id, event_type, kind, try, started_at,
            milliseconds, succeeded, status, error)
          select $1, webhook_id, program_id, $2, 'card.created', 'event', 1, $3, 12, $4, $5, $6
          from sent`,
        [
          ...[idAt(startedAt), randomUUIDv7(), new Date(startedAt), status === 204, status],
          ...[status === null ? 'connect_timeout' : null, innerId(id)],
        ],
      );
    }
    const listed = async (query: object) =>
      (await client.webhooks.attempts(id, query)).data.map(({ status }) => status);
    const at = (hours: number) => new Date(hoursAgo(hours)).toISOString();
    expect(await listed({ status: '404' })).toEqual([404]);
    expect(await listed({ status: '5xx', succeeded: 'false' })).toEqual([503, 500]);
    expect(await listed({ status: 'none' })).toEqual([null]);
    expect(await listed({ started_from: at(3) })).toEqual([null, 503, 500]);
    expect(await listed({ started_from: at(3), started_to: at(1) })).toEqual([503, 500]);
    expect(await listed({ started_to: at(4), limit: 5 })).toEqual([204]);
    expect(await listed({ status: '5xx', started_from: at(2.5) })).toEqual([503]);
    const [first] = (await client.webhooks.attempts(id, { status: '5xx', limit: 1 })).data;
    expect(await listed({ status: '5xx', cursor: first?.attempt_id })).toEqual([500]);
  });

  test('lists failed deliveries of all webhooks in a program, or in all programs for an operator', async () => {
    const { program_id: other } = await client.programs.create({ name: 'Other', currency: 'USD' });
    const own = [await client.webhooks.create({ url: URL }), await client.webhooks.create({ url: URL })];
    const foreign = await client.webhooks.create({ url: URL }, { programId: other });
    const ofAll = await client.operatorWebhooks.create({ url: URL });
    const ids = [...own, foreign, ofAll].map(({ webhook_id: id }) => id);
    const names = new Map(ids.map((id, at) => [id, ['first', 'second', 'foreign', 'of all'][at]]));
    // Each webhook has four deliveries. The oldest and the newest have failed.
    for (const id of ids) await makeAttempts(id, 4);
    const listed = async (found: Promise<{ readonly data: readonly { readonly webhook_id: string }[] }>) =>
      (await found).data.map(({ webhook_id: id }) => names.get(id)).toSorted();
    const { webhooks, operatorWebhooks } = client;
    expect(await listed(webhooks.failedAttempts({ limit: 100 }))).toEqual(['first', 'first', 'second', 'second']);
    expect(await listed(webhooks.failedAttempts({}, { programId: other }))).toEqual(['foreign', 'foreign']);
    expect(await listed(operatorWebhooks.failedAttempts())).toEqual(
      ['first', 'second', 'foreign', 'of all'].flatMap((name) => [name, name]).toSorted(),
    );
    expect(await listed(operatorWebhooks.failedAttempts({ program_id: other }))).toEqual(['foreign', 'foreign']);
    expect((await operatorWebhooks.failedAttempts({ program_id: other })).data[0]?.program_id).toBe(other);
    expect(await listed(webhooks.failedAttempts({ status: '5xx' }))).toEqual([]);
    expect(await listed(webhooks.failedAttempts({ status: 'none', limit: 100 }))).toHaveLength(4);
    const dayAgo = new Date(Date.now() - 86_400_000).toISOString();
    expect(await listed(webhooks.failedAttempts({ started_from: dayAgo }))).toEqual(['first', 'second']);
    // The list is newest first across all webhooks, page by page.
    const paged: string[] = [];
    for await (const { attempt_id: id } of webhooks.failedAttemptsAll({ limit: 1 })) paged.push(id);
    expect(paged).toEqual(paged.toSorted().toReversed());
    expect(paged).toHaveLength(4);
    const refused = await refusalOf(webhooks.failedAttempts({ status: '600' }));
    expect(refused).toMatchObject({ Status: 400, Code: 'list_failed_attempts_schema', field: '/status' });
  });

  test.each([
    [{ status: '600' }, '/status', "'status' is '600', but it must be a status such as 404"],
    [{ status: '5x' }, '/status', 'a class such as 5xx, or none.'],
    [
      { started_from: '2026-01-02T00:00:00Z', started_to: '2026-01-01T00:00:00Z' },
      '/started_to',
      "'started_to' must be later than 'started_from'",
    ],
  ])('refuses %j', async (query, field, message) => {
    const { webhook_id: id } = await client.webhooks.create({ url: URL });
    const refused = await refusalOf(client.webhooks.attempts(id, query));
    expect(refused).toMatchObject({ Status: 400, Code: 'list_webhook_attempts_schema', field });
    expect(refused.Message).toContain(message);
  });
});

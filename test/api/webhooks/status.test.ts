import { beforeEach, describe, expect, test } from 'vitest';
import { refusalOf } from '../../harness/service.ts';
import { relayOnce } from '../../store/events/relayed.ts';
import { innerId, URL, useStillService } from './still-service.ts';

const { client, admin, ledger, makeEvent } = await useStillService();

beforeEach(async () => {
  await admin.query('delete from webhook');
  await relayOnce(ledger.database);
});

const PERIOD = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z', only: 'all' } as const;

/** Creates a webhook with an undelivered event. */
async function behind(): Promise<{ readonly id: string; readonly position: number }> {
  const { webhook_id: id, position } = await client.webhooks.create({ url: URL });
  await makeEvent();
  return { id, position };
}

/** Pauses a webhook as failed deliveries do, with an event to retry later. */
async function pause(id: string): Promise<void> {
  await admin.query(
    `update webhook_state set status = 'paused', failures = 10, failing_since = now(),
      probe_tries = 3, next_probe_at = now() + interval '5 hours' where webhook_id = $1`,
    [innerId(id)],
  );
  await admin.query(
    `insert into webhook_delivery (webhook_id, program_id, kind, event_id, shard, position, state, created_at, next_at)
      select webhook_id, program_id, 'event', gen_random_uuid(), shard, 1, 'waiting', now(), now() + interval '1 hour'
      from webhook_state where webhook_id = $1`,
    [innerId(id)],
  );
}

async function disabledEvents(id: string) {
  await relayOnce(ledger.database);
  const { data } = await client.events.list({ type: 'webhook.disabled', subject_id: id });
  return data;
}

describe('"status": "disabled"', () => {
  test('stops the webhook at its position, and emits an event', async () => {
    const { id, position } = await behind();
    const disabled = await client.webhooks.update(id, { status: 'disabled' });
    expect(disabled).toMatchObject({ status: 'disabled', status_reason: 'requested', position, next_attempt_at: null });
    expect((await disabledEvents(id)).map(({ data }) => data)).toEqual([{ ...disabled }]);
    // This event itself adds one to the webhook's backlog.
    expect({ ...(await client.webhooks.get(id)) }).toEqual({ ...disabled, backlog: disabled.backlog + 1 });
    expect((await client.webhooks.update(id, { status: 'disabled' })).updated_at).toBe(disabled.updated_at);
    expect(await disabledEvents(id)).toHaveLength(1);
  });

  test('cancels the running replay', async () => {
    const { id } = await behind();
    await client.webhooks.replay(id, PERIOD);
    const { replay, updated_at } = await client.webhooks.update(id, { status: 'disabled' });
    expect(replay).toMatchObject({ state: 'canceled', finished_at: updated_at });
    expect((await client.webhooks.get(id)).replay).toEqual(replay);
  });
});

describe('"status": "enabled"', () => {
  test('continues with the events that arrived in the meantime', async () => {
    const { id, position } = await behind();
    await client.webhooks.update(id, { status: 'disabled' });
    const enabled = await client.webhooks.update(id, { status: 'enabled' });
    expect(enabled).toMatchObject({ status: 'enabled', status_reason: null, position, backlog: 1 });
  });

  test('skips waiting events and pending retries with "resume": "now"', async () => {
    const { id } = await behind();
    await pause(id);
    await client.webhooks.update(id, { status: 'disabled' });
    await relayOnce(ledger.database);
    const { position: head } = await client.events.list();
    const enabled = await client.webhooks.update(id, { status: 'enabled', resume: 'now' });
    const begun = {
      status: 'enabled',
      position: head,
      backlog: 0,
      dead: 1,
      next_attempt_at: null,
      failing_since: null,
    };
    expect(enabled).toMatchObject(begun);
    expect({ ...(await client.webhooks.get(id)) }).toEqual({ ...enabled });
  });

  test('retries the oldest event of a paused webhook immediately', async () => {
    const { id } = await behind();
    await pause(id);
    const before = await client.webhooks.get(id);
    expect(before).toMatchObject({ status: 'paused', status_reason: 'failing' });
    const probed = await client.webhooks.update(id, { status: 'enabled' });
    expect(probed).toMatchObject({ status: 'paused', failing_since: before.failing_since });
    expect(Date.parse(probed.next_attempt_at ?? '')).toBeLessThan(Date.parse(before.next_attempt_at ?? ''));
    expect({ ...(await client.webhooks.get(id)) }).toEqual({ ...probed });
  });

  test('ends the pause with "resume": "now", because nothing is left to retry', async () => {
    const { id } = await behind();
    await pause(id);
    const enabled = await client.webhooks.update(id, { status: 'enabled', resume: 'now' });
    expect(enabled).toMatchObject({ status: 'enabled', status_reason: null, backlog: 0, dead: 1 });
  });

  test('changes nothing for an enabled webhook, even with "resume": "now"', async () => {
    const { id } = await behind();
    const before = await client.webhooks.get(id);
    expect({ ...(await client.webhooks.update(id, { status: 'enabled', resume: 'now' })) }).toEqual({ ...before });
  });
});

test('tries the new URL of a paused webhook immediately', async () => {
  const { id } = await behind();
  await pause(id);
  const before = await client.webhooks.get(id);
  const described = await client.webhooks.update(id, { description: 'down' });
  expect(described.next_attempt_at).toBe(before.next_attempt_at);
  const moved = await client.webhooks.update(id, { url: `${URL}/2` });
  expect(Date.parse(moved.next_attempt_at ?? '')).toBeLessThan(Date.parse(before.next_attempt_at ?? ''));
});

describe('a replay', () => {
  test("begins before the events of its period and ends at the webhook's position", async () => {
    const { webhook_id: id } = await client.webhooks.create({ url: URL });
    const replay = await client.webhooks.replay(id, PERIOD);
    const { position } = await client.webhooks.get(id);
    expect(replay).toEqual({
      replay_id: expect.stringMatching(/^rpl_[0-9a-f]{32}$/),
      only: 'all',
      from: '2000-01-01T00:00:00.000Z',
      to: '2100-01-01T00:00:00.000Z',
      position: 0,
      until_position: position,
      sent: 0,
      state: 'running',
      created_at: expect.any(String),
      finished_at: null,
    });
    expect((await client.webhooks.get(id)).replay).toEqual({ ...replay });
    expect(await refusalOf(client.webhooks.replay(id, PERIOD))).toMatchObject({ Code: 'replay_running', Status: 409 });
  });

  test('can be found in a sandbox whose clock was moved back after an earlier replay', async () => {
    const { webhook_id: id } = await client.webhooks.create({ url: URL });
    await client.webhooks.replay(id, PERIOD);
    // Has the same effect as a clock that was once far ahead. Moving the clock would also change the times of later
    // events.
    await admin.query(
      "update webhook_replay set replay_id = 'ffffffff-ffff-7fff-bfff-ffffffffffff', state = 'completed', finished_at = now()",
    );
    const replay = await client.webhooks.replay(id, PERIOD);
    expect((await client.webhooks.get(id)).replay).toEqual({ ...replay });
    expect(await refusalOf(client.webhooks.replay(id, PERIOD))).toMatchObject({ Code: 'replay_running' });
  });

  test('skips events before its period', async () => {
    const ids = [await makeEvent(), await makeEvent(), await makeEvent()];
    const [, middle] = await Promise.all(ids.map((eventId) => client.events.get(eventId)));
    const position = middle?.position ?? 0;
    for (const webhooks of [client.webhooks, client.operatorWebhooks]) {
      const { webhook_id: id } = await webhooks.create({ url: URL });
      const replay = await webhooks.replay(id, { ...PERIOD, from: middle?.created_at ?? '' });
      const inspected = await client.events.inspect(ids[1] ?? '');
      const place = webhooks === client.webhooks ? position : (inspected.number ?? 0);
      expect(replay.position).toBeLessThan(place);
      // The replay begins with the events that got their position since that time, so it may include a few older ones.
      expect(replay.position).toBeGreaterThanOrEqual(place - 2);
    }
  });

  test('is refused for an empty or reversed period', async () => {
    const { webhook_id: id } = await client.webhooks.create({ url: URL });
    for (const to of ['2000-01-01T00:00:00Z', '1999-01-01T00:00:00Z']) {
      expect(await refusalOf(client.webhooks.replay(id, { ...PERIOD, to }))).toMatchObject({
        Code: 'replay_webhook_schema',
        field: '/to',
      });
    }
  });
});

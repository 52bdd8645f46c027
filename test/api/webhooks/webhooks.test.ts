import { beforeEach, describe, expect, test } from 'vitest';
import type { UpdateWebhookBody } from '../../../sdk/client.ts';
import { refusalOf } from '../../harness/service.ts';
import { innerId, URL, useStillService } from './still-service.ts';

const { client, admin, makeEvent } = await useStillService();

beforeEach(async () => {
  await admin.query('delete from webhook');
});

test('refuses a URL with a card number in any encoding', async () => {
  const { webhook_id } = await client.webhooks.create({ url: URL });
  const before = await client.webhooks.get(webhook_id);
  for (const end of [
    '/4532015112830366',
    '/4532%200151%201283%200366',
    '?card=%224532015112830366%22',
    '?card=4532+0151+1283+0366',
    '?card=4532%25200151%25201283%25200366',
  ]) {
    const refused = { Status: 400, Code: 'card_number_refused', field: '/url' };
    expect(await refusalOf(client.webhooks.create({ url: URL + end }))).toMatchObject(refused);
    expect(await refusalOf(client.webhooks.update(webhook_id, { url: URL + end }))).toMatchObject(refused);
  }
  expect({ ...(await client.webhooks.get(webhook_id)) }).toEqual({ ...before });
});

describe('create_webhook', () => {
  test('creates a webhook that gets all new events in parallel by default, and returns every field', async () => {
    await makeEvent();
    const { position } = await client.events.list();
    const made = await client.webhooks.create({ url: URL });
    expect(made).toEqual({
      webhook_id: expect.stringMatching(/^wh_[0-9a-f]{32}$/),
      program_id: (await client.cards.get('card_active')).program_id,
      url: URL,
      description: null,
      types: null,
      payload: 'full',
      order: 'parallel',
      concurrency: 10,
      rate: null,
      header_names: [],
      version: 'v0.1',
      status: 'enabled',
      status_reason: null,
      secrets: [{ secret_id: expect.stringMatching(/^sec_/), created_at: made.created_at, expires_at: null }],
      position,
      backlog: 0,
      failures: 0,
      failing_since: null,
      last_success_at: null,
      last_failure_at: null,
      next_attempt_at: null,
      dead: 0,
      replay: null,
      created_at: made.created_at,
      updated_at: made.created_at,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      secret_omitted: null,
    });
    expect(made.response.status).toBe(201);
    expect(made.response.headers.get('location')).toBe(`/api/v0.1/core/webhook/${made.webhook_id}`);
    const { secret: _, secret_omitted: __, ...shown } = made;
    expect({ ...(await client.webhooks.get(made.webhook_id)) }).toEqual(shown);
    await makeEvent();
    expect(await client.webhooks.get(made.webhook_id)).toMatchObject({ position, backlog: 1 });
  });

  test('accepts all settings', async () => {
    const settings = {
      url: `${URL}?source=cards`,
      description: 'Order system',
      types: ['card.created', 'transfer.*'],
      payload: 'thin',
      order: 'strict',
      concurrency: 100,
      rate: 5,
    } as const;
    const headers = { Authorization: 'Basic c2VjcmV0', 'X-Key': 'a b' };
    const made = await client.webhooks.create({ ...settings, headers });
    expect(made).toMatchObject({ ...settings, header_names: ['Authorization', 'X-Key'] });
    expect(await client.webhooks.get(made.webhook_id)).toMatchObject(settings);
  });

  test('accepts a position: 0 for all events or the position of an event, but no later one', async () => {
    await makeEvent();
    const { position } = await client.events.list();
    expect(await client.webhooks.create({ url: URL, after: 0 })).toMatchObject({ position: 0, backlog: position });
    const later = await client.webhooks.create({ url: URL, after: position - 1 });
    expect(later).toMatchObject({ position: position - 1, backlog: 1 });
    expect(await refusalOf(client.webhooks.create({ url: URL, after: position + 1 }))).toMatchObject({
      Code: 'create_webhook_schema',
      Message: `'after' is ${position + 1}, but the last event has position ${position}.`,
      field: '/after',
    });
  });

  test('stores a repeated type once', async () => {
    const { types } = await client.webhooks.create({ url: URL, types: ['card.*', 'card.*', 'key.created'] });
    expect(types).toEqual(['card.*', 'key.created']);
  });
});

describe('list_webhooks', () => {
  test('lists the webhooks in pages, newest first', async () => {
    const ids: string[] = [];
    for (let at = 0; at < 5; at += 1) ids.unshift((await client.webhooks.create({ url: `${URL}/${at}` })).webhook_id);
    const first = await client.webhooks.list({ limit: 3 });
    const second = await client.webhooks.list({ limit: 3, cursor: first.next_cursor ?? '' });
    expect([...first.data, ...second.data].map(({ webhook_id: id }) => id)).toEqual(ids);
    expect(second.next_cursor).toBeNull();
  });
});

describe('update_webhook', () => {
  test.each<[UpdateWebhookBody, object?]>([
    [{ url: `${URL}/2` }],
    [{ description: 'Order system' }],
    [{ types: ['card.*'] }],
    [{ payload: 'thin' }],
    [{ order: 'strict' }],
    [{ concurrency: 1 }],
    [{ rate: 100 }],
    [{ headers: { 'X-Key': 'secret' } }, { header_names: ['X-Key'] }],
  ])('changes only this: %j', async (change, shown: object = change) => {
    const { webhook_id: id } = await client.webhooks.create({
      url: URL,
      description: 'first',
      types: ['key.*'],
      rate: 1,
    });
    const before = await client.webhooks.get(id);
    const { updated_at, ...after } = await client.webhooks.update(id, change);
    const { updated_at: updatedBefore, ...unchanged } = before;
    expect(after).toEqual({ ...unchanged, ...shown });
    expect(Date.parse(updated_at)).toBeGreaterThanOrEqual(Date.parse(updatedBefore));
    expect({ ...(await client.webhooks.get(id)) }).toEqual({ ...after, updated_at });
  });

  test('removes optional settings if they are null', async () => {
    const all = { description: 'first', types: ['key.*'], rate: 1, headers: { 'X-Key': 'a' } };
    const { webhook_id: id } = await client.webhooks.create({ url: URL, ...all });
    const none = { description: null, types: null, rate: null };
    expect(await client.webhooks.update(id, { ...none, headers: null })).toMatchObject({ ...none, header_names: [] });
  });

  test('changes headers one by one, ignores the case of their names, and allows at most ten', async () => {
    const nine = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`X-${at}`, 'x']));
    const { webhook_id: id } = await client.webhooks.create({ url: URL, headers: nine });
    const changed = await client.webhooks.update(id, { headers: { 'x-0': 'y', 'X-1': null, 'X-9': 'z' } });
    expect([...changed.header_names].sort()).toEqual(['X-2', 'X-3', 'X-4', 'X-5', 'X-6', 'X-7', 'X-8', 'X-9', 'x-0']);
    expect(await refusalOf(client.webhooks.update(id, { headers: { 'X-A': 'a', 'X-B': 'b' } }))).toMatchObject({
      Code: 'update_webhook_schema',
      Message: "'headers' would leave 11 headers, but a webhook can have at most 10.",
      field: '/headers',
    });
    expect(await client.webhooks.get(id)).toMatchObject({ header_names: changed.header_names });
  });

  test('does not disturb deliveries or change updated_at if the request changes nothing', async () => {
    const { webhook_id: id, ...made } = await client.webhooks.create({ url: URL, types: ['card.*'] });
    const revision = async () =>
      (await admin.query('select revision from webhook where webhook_id = $1', [innerId(id)])).rows[0].revision;
    const before = await revision();
    const same = await client.webhooks.update(id, { url: URL, types: ['card.*'], status: 'enabled' });
    expect(same.updated_at).toBe(made.created_at);
    expect(await revision()).toBe(before);
    await client.webhooks.update(id, { payload: 'thin' });
    expect(Number(await revision())).toBe(Number(before) + 1);
  });

  test('runs concurrent changes one after the other, and loses none', async () => {
    const { webhook_id: id } = await client.webhooks.create({ url: URL });
    const names = Array.from({ length: 10 }, (_, at) => `X-${at}`);
    await Promise.all(names.map((name) => client.webhooks.update(id, { headers: { [name]: 'x' } })));
    expect([...(await client.webhooks.get(id)).header_names].sort()).toEqual(names);
  });
});

describe('delete_webhook', () => {
  test('returns the last record, and removes the webhook with everything that belongs to it', async () => {
    const { webhook_id: id } = await client.webhooks.create({ url: URL, headers: { 'X-Key': 'a' } });
    await client.webhooks.test(id);
    const last = await client.webhooks.get(id);
    expect({ ...(await client.webhooks.delete(id)) }).toEqual({ ...last });
    expect(await refusalOf(client.webhooks.delete(id))).toMatchObject({ Code: 'webhook_not_found', Status: 404 });
    expect(await refusalOf(client.webhooks.get(id))).toMatchObject({ Code: 'webhook_not_found' });
    for (const table of ['webhook_secret', 'webhook_state', 'webhook_delivery']) {
      expect((await admin.query(`select from ${table}`)).rowCount, table).toBe(0);
    }
  });
});

import { afterAll, describe, expect, test } from 'vitest';
import type { Operation } from '../../../contract/operation.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import { takesIfMatch } from '../../../contract/reading/versions.ts';
import { partsOf, toRaw } from '../../fixtures/operations.ts';
import { callerOf, thingsOf } from '../../fixtures/service-things.ts';
import { type RawRequest, type RawResponse, sendRaw } from '../../harness/raw-request.ts';
import { expectBalancedBooks, refusalOf, useService } from '../../harness/service.ts';

// With If-Match, two callers that have read the same record cannot overwrite each other's changes.

const running = useService();
const client = () => running().client;
afterAll(() => expectBalancedBooks(running()));

const tableOf = (id: OperationId): Operation => OPERATIONS[id];
const COMPARING = OPERATION_IDS.filter(takesIfMatch);
const OTHERS = OPERATION_IDS.filter((id) => !takesIfMatch(id) && id !== 'receive_notice' && !id.endsWith('_database'));

/** Returns a request that changes a new record, and the path that reads the record. */
async function requestOf(id: OperationId): Promise<RawRequest & { readonly path: string }> {
  const raw = toRaw(id, await partsOf(id, thingsOf(client())));
  return { ...raw, path: raw.path ?? '' };
}

const send = (raw: RawRequest, headers: Record<string, string> = {}): Promise<RawResponse> =>
  sendRaw(running().url, { ...raw, headers: { ...raw.headers, ...headers } });
const read = ({ path }: { readonly path: string }): Promise<RawResponse> => send({ method: 'GET', path });
const etagOf = ({ headers }: RawResponse): string => String(headers.etag);

describe.each(COMPARING)('%s', (id) => {
  test('succeeds with the current version, and is refused with an older version', async () => {
    const change = await requestOf(id);
    const before = await read(change);
    expect(etagOf(before)).toMatch(/^"[\x21\x23-\x7e]+"$/);
    const old = '"an-older-version"';
    const refused = await send(change, { 'If-Match': old });
    expect(refused.fields).toMatchObject({ Status: 412, Code: 'precondition_failed', Type: 'Request Error' });
    expect(refused.fields.Message).toContain(`If-Match is ${old}, and its version is ${etagOf(before)}.`);
    expect(etagOf(refused)).toBe(etagOf(before));
    expect(etagOf(await read(change))).toBe(etagOf(before));
    const made = await send(change, { 'If-Match': etagOf(before) });
    expect(made.status, made.text).toBe(200);
    if (tableOf(id).method === 'DELETE') return;
    expect(etagOf(made)).not.toBe(etagOf(before));
    expect(etagOf(await read(change))).toBe(etagOf(made));
    expect((await send(change, { 'If-Match': etagOf(before) })).status).toBe(412);
  });

  test('succeeds only once if two requests with the same version arrive together', async () => {
    const changes = [await requestOf(id), await requestOf(id)];
    const [first] = changes;
    if (first === undefined) throw new Error('there is no change');
    const tag = etagOf(await read(first));
    const sent = changes.map(({ body }) => send({ ...first, body }, { 'If-Match': tag }));
    const statuses = (await Promise.all(sent)).map(({ status }) => status).sort();
    // If the first request deleted the webhook, the second one does not find it.
    expect(statuses).toEqual([200, tableOf(id).method === 'DELETE' ? 404 : 412]);
  });
});

test('returns the same version when a record is created, replayed and read', async () => {
  const metadata = { zebra: '1', a: '2' };
  const { cards, programs, transfers, webhooks } = client();
  const card = await cards.create(
    { metadata, limits: { out: { weekly_count: 5, daily_amount: 7 } } },
    { idempotencyKey: 'versioned-1' },
  );
  const again = await cards.create(
    { metadata, limits: { out: { weekly_count: 5, daily_amount: 7 } } },
    { idempotencyKey: 'versioned-1' },
  );
  expect([again.response.replayed, again.response.version]).toEqual([true, card.response.version]);
  expect((await cards.get(card.card_id)).response.version).toBe(card.response.version);
  const program = await programs.create({ name: 'Versioned', currency: 'USD', metadata });
  expect((await programs.get(program.program_id)).response.version).toBe(program.response.version);
  const webhook = await webhooks.create({ url: 'https://shop.example/versions', types: ['transfer.*'] });
  expect((await webhooks.get(webhook.webhook_id)).response.version).toBe(webhook.response.version);
  // Deletes the webhook, so that tests that run later on this service see no deliveries to it.
  await webhooks.delete(webhook.webhook_id);
  const { card_id } = card;
  const transfer = await transfers.create({ amount: 500, card_id, metadata }, { idempotencyKey: 'versioned-2' });
  const replay = await transfers.create({ amount: 500, card_id, metadata }, { idempotencyKey: 'versioned-2' });
  expect(replay.response.version).toBe(transfer.response.version);
  expect((await transfers.get(transfer.transfer_id)).response.version).toBe(transfer.response.version);
});

test('changes the version of a transfer when money moves, but not of a card or a program', async () => {
  const { cards, programs, transfers } = client();
  const card = await cards.create({});
  const program = await programs.get(card.program_id);
  const { transfer_id } = await transfers.create({ amount: 500, card_id: card.card_id, capture: 'manual' });
  const held = await transfers.get(transfer_id);
  await transfers.capture(transfer_id, { amount: 400 });
  const captured = await transfers.get(transfer_id);
  await transfers.reverse(transfer_id, { amount: 1 });
  const reversed = await transfers.get(transfer_id);
  const versions = [held, captured, reversed].map(({ response }) => response.version);
  expect(new Set(versions).size).toBe(3);
  expect((await cards.get(card.card_id)).response.version).toBe(card.response.version);
  expect((await programs.get(card.program_id)).response.version).toBe(program.response.version);
  const stale = transfers.update(transfer_id, { metadata: { a: 'b' } }, { ifMatch: held.response.version });
  expect(await refusalOf(stale)).toMatchObject({ Code: 'precondition_failed' });
  await transfers.update(transfer_id, { metadata: { a: 'b' } }, { ifMatch: reversed.response.version });
});

test('accepts several versions, a weak version and an asterisk, and refuses all other values', async () => {
  const change = await requestOf('update_card');
  const tag = async () => etagOf(await read(change));
  expect((await send(change, { 'If-Match': `"other", ${await tag()}` })).status).toBe(200);
  expect((await send(change, { 'If-Match': `W/${await tag()}` })).status).toBe(200);
  expect((await send(change, { 'If-Match': '*' })).status).toBe(200);
  for (const wrong of ['', 'abc', '"abc', '"a" "b"', '*, "a"', '"a",']) {
    const { fields } = await send(change, { 'If-Match': wrong });
    expect([wrong, fields.Status, fields.Code]).toEqual([wrong, 400, 'update_card_schema']);
  }
});

describe('refuses a precondition that an operation cannot check', () => {
  test.each(OTHERS)('%s', async (id) => {
    const { method } = tableOf(id);
    const isRead = method === 'GET';
    const raw = await requestOf(id);
    const caller = await callerOf(id, client());
    for (const [name, value] of [
      ['If-Match', '"a"'],
      ['If-Unmodified-Since', 'Sat, 31 Jan 2026 12:00:00 GMT'],
      ...(isRead ? [] : [['If-None-Match', '*'] as const]),
    ] as const) {
      const { fields } = await send(raw, { ...caller, [name]: value });
      expect(fields).toMatchObject({ Status: 400, Code: `${id}_schema` });
      expect(fields.Message).toContain(`${id} cannot check the ${name} header`);
    }
    if (isRead) expect((await send(raw, { ...caller, 'If-None-Match': '*' })).status).toBe(200);
  });

  test.each(COMPARING)('%s with If-Unmodified-Since', async (id) => {
    const { fields } = await send(await requestOf(id), { 'If-Unmodified-Since': 'Sat, 31 Jan 2026 12:00:00 GMT' });
    expect(fields).toMatchObject({ Status: 400, Code: `${id}_schema` });
    expect(fields.Message).toContain('Send If-Match with the ETag of the record.');
  });
});

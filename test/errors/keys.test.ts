import { expect, test } from 'vitest';
import { TransferService } from '../../sdk/client.ts';
import { programKey, withSecret } from '../harness/keys.ts';
import { refusalOf, useService } from '../harness/service.ts';
import { lookUp } from './log-reader.ts';

// Tests that the error log names the key of each request.

const service = useService();
const DEMO_PROGRAM = 'prog_019000000000700080000000000000de';

/** Creates a key of the demo program, and a client that sends it. */
async function newKey() {
  const { client, url } = service();
  const { key, key_id } = await withSecret(client.keys.create(programKey('shop', DEMO_PROGRAM)));
  return { key, key_id, own: new TransferService({ baseUrl: url, key, maxRetries: 0, timeoutMilliseconds: 120_000 }) };
}

test("shows the key of a failed request to operators and to the key's program", async () => {
  const { client } = service();
  const { key_id, own } = await newKey();
  const { requestId } = await refusalOf(own.cards.get('card_of_no_one'));
  expect((await lookUp(client, requestId)).error).toMatchObject({ key_id, caller: 'program_key' });
  expect((await own.errors.get(requestId)).key_id).toBe(key_id);
  // Filters by a card, because each look-up that finds nothing stores a newer error.
  const card = { card_id: 'card_of_no_one' };
  for (const { data } of [await own.errors.list(card), await client.errors.search(card)]) {
    expect(data.find((error) => error.request_id === requestId)?.key_id).toBe(key_id);
  }
  expect((await client.requests.inspect(requestId)).caller).toBe(key_id);

  const keyless = await refusalOf(client.cards.get('card_of_no_one'));
  expect((await lookUp(client, keyless.requestId)).error).toMatchObject({ key_id: null, caller: 'sandbox' });
});

test('shows the key for a refused row of a batch, and for a request without the required scope', async () => {
  const { client } = service();
  const { key_id, own } = await newKey();
  const forbidden = await refusalOf(own.programs.list());
  expect((await lookUp(client, forbidden.requestId)).error).toMatchObject({ code: 'forbidden', key_id });
  const rows = [{ amount: 1, card_id: 'card_of_no_one', idempotency_key: 'row-1' }];
  const { response } = await own.transfers.createBatch(rows);
  const { error } = await lookUp(client, response.requestId ?? '');
  expect(error).toMatchObject({ code: 'card_not_found', key_id });
});

test('shows the key for an error of a session, as the audit log does', async () => {
  const { client, url } = service();
  const { key, key_id } = await newKey();
  const page = { 'Sec-Fetch-Site': 'same-origin', Console: '1' };
  const path = `${url}/api/v0.1/console/session`;
  const made = await fetch(path, { method: 'POST', headers: { ...page, Authorization: `Bearer ${key}` } });
  const [cookie = ''] = (made.headers.get('set-cookie') ?? '').split(';');
  const asked = () => fetch(`${url}/api/v0.1/core/card/card_of_no_one`, { headers: { ...page, cookie } });
  const missing = await asked();
  expect(missing.headers.get('error-code')).toBe('card_not_found');
  expect((await lookUp(client, missing.headers.get('request-id') ?? '')).error.key_id).toBe(key_id);

  await client.keys.revoke(key_id);
  await expect.poll(async () => (await asked()).status).toBe(401);
  const ended = await asked();
  const { error } = await lookUp(client, ended.headers.get('request-id') ?? '');
  expect(error).toMatchObject({ code: 'unauthenticated', key_id });
});

test('shows operators a revoked key', async () => {
  const { client } = service();
  const { key_id, own } = await newKey();
  await client.keys.revoke(key_id);
  await expect.poll(() => own.cards.get('card_active').catch(({ Code }) => Code)).toBe('unauthenticated');
  const { requestId } = await refusalOf(own.cards.get('card_active'));
  const { error } = await lookUp(client, requestId);
  expect(error).toMatchObject({ code: 'unauthenticated', key_id, caller: null, program_id: null });
  expect((await client.requests.inspect(requestId)).caller).toBe(key_id);
});

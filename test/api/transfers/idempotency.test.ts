import { afterAll, describe, expect, test } from 'vitest';
import { sendUntilServed } from '../../harness/client/patience.ts';
import { type RawResponse, sendRaw } from '../../harness/raw-request.ts';
import { expectBalancedBooks, useService } from '../../harness/service.ts';
import { held, inSeconds, made, moneyOf, newCard } from '../arrange.ts';

const running = useService();
afterAll(() => expectBalancedBooks(running()));

const LOAD = { amount: 10, card_id: 'card_active' };
let keys = 0;
const newKey = () => `key-${++keys}`;

function send(
  key: string,
  body: object | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<RawResponse> {
  return sendRaw(running().url, { headers: { 'Idempotency-Key': key, ...headers }, body });
}

const balance = async () => (await running().client.cards.get('card_active')).balance;
const replayed = (response: RawResponse) => response.headers['idempotent-replayed'];
const originalOf = (response: RawResponse) => response.headers['original-request-id'];
const disable = () => running().client.switch.change({ disabled: true, reason: 'a test' });
const enable = () => running().client.switch.change({ disabled: false });

/** Fails unless `second` is a replay of `first` with the same bytes. */
function expectReplay(second: RawResponse, first: RawResponse): void {
  expect([second.status, second.text]).toEqual([first.status, first.text]);
  for (const name of ['location', 'money-moved']) expect(second.headers[name]).toBe(first.headers[name]);
  expect([replayed(first), replayed(second)]).toEqual([undefined, 'true']);
  expect([originalOf(first), originalOf(second)]).toEqual([undefined, first.headers['request-id']]);
}

describe('a replay', () => {
  test('returns a 201 byte for byte and moves no money', async () => {
    const key = newKey();
    const first = await send(key, LOAD);
    const before = await balance();
    expect(first.status).toBe(201);
    expectReplay(await send(key, LOAD), first);
    expectReplay(await send(key, LOAD), first);
    expect(await balance()).toBe(before);
  });

  test('returns a 409 even if the request would now succeed', async () => {
    const { card_id } = await running().client.cards.create();
    const key = newKey();
    const unload = { amount: 5, card_id, type: 'unload' };
    const first = await send(key, unload);
    expect(first.fields.Code).toBe('insufficient_funds');
    await running().client.transfers.create({ amount: 100, card_id });
    const again = await send(key, unload);
    expectReplay(again, first);
    expect([again.headers['money-moved'], again.headers['error-field']]).toEqual(['no', '/amount']);
    expect((await send(newKey(), unload)).status).toBe(201);
  });

  test('ignores the order of fields, white space and escapes', async () => {
    const key = newKey();
    const first = await send(key, LOAD);
    expectReplay(await send(key, ' {"card_id": "card\\u005factive",\n "amount": 10} '), first);
  });

  test('accepts a quoted key', async () => {
    const key = newKey();
    const first = await send(`"${key}"`, LOAD);
    expectReplay(await send(key, LOAD), first);
    const odd = 'a"b\\c';
    const second = await send('"a\\"b\\\\c"', LOAD);
    expectReplay(await send(odd, LOAD), second);
  });

  test('returns the same response to fifty concurrent requests, which create one transfer', async () => {
    const key = newKey();
    const before = await balance();
    const responses = await Promise.all(Array.from({ length: 50 }, () => sendUntilServed(() => send(key, LOAD))));
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(responses.filter((response) => replayed(response) === undefined).length).toBe(1);
    expect(await balance()).toBe(before + 10);
  });

  test('does not happen without a key: every request is executed', async () => {
    const before = await balance();
    for (let time = 0; time < 2; time += 1) {
      expect((await sendRaw(running().url, { body: LOAD })).status).toBe(201);
    }
    expect(await balance()).toBe(before + 20);
  });
});

test('refuses a key that is a card number, and advises using another key, not omitting it', async () => {
  const number = '4111111111111111';
  const advice = 'looks like a card number, which the service does not accept. Use another key, such as a UUID.';
  const { fields } = await send(number, LOAD);
  expect([fields.Code, fields.Message]).toEqual(['card_number_refused', `The Idempotency-Key header ${advice}`]);
  const transfers = [{ ...LOAD, idempotency_key: number }];
  const batch = await sendRaw(running().url, { path: '/api/v0.1/core/transfer/batch', body: { transfers } });
  const message = `'idempotency_key' ${advice}`;
  expect(batch.fields.data).toMatchObject([{ error: { Code: 'card_number_refused', Message: message } }]);
});

describe('a different request with the same key', () => {
  test.each<[string, object]>([
    ['another amount', { ...LOAD, amount: 11 }],
    ['another card', { ...LOAD, card_id: 'card_empty' }],
    ['an ignored field', { ...LOAD, note: 'x' }],
    ['metadata', { ...LOAD, metadata: { a: 'b' } }],
  ])('%s is refused with a 422, and the first response is kept', async (_, other) => {
    const key = newKey();
    const first = await send(key, LOAD);
    const before = await balance();
    const refused = await send(key, other);
    expect(refused.fields).toMatchObject({ Status: 422, Code: 'idempotency_key_exists', Type: 'Request Error' });
    expect(refused.headers['money-moved']).toBe('no');
    expect(originalOf(refused)).toBe(first.headers['request-id']);
    expect(refused.fields.Message).toContain(`with a different request, ${first.headers['request-id']}. Use a new key`);
    expectReplay(await send(key, LOAD), first);
    expect(await balance()).toBe(before);
  });

  test('is also refused with a 422 after a 409', async () => {
    const key = newKey();
    const refused = { amount: 1, card_id: 'card_closed' };
    const first = await send(key, refused);
    expect(first.status).toBe(409);
    const second = await send(key, LOAD);
    expect(second.fields.Code).toBe('idempotency_key_exists');
    expect(originalOf(second)).toBe(first.headers['request-id']);
  });

  test('is linked to the first request in the error log, as a replayed refusal is', async () => {
    const key = newKey();
    const { client } = running();
    const refused = { amount: 1, card_id: 'card_closed' };
    const original_request_id = (await send(key, refused)).headers['request-id'];
    for (const body of [refused, LOAD]) {
      const requestId = String((await send(key, body)).headers['request-id']);
      const checks = () =>
        client.requests.inspect(requestId).then(
          ({ error }) => error?.checks,
          () => undefined,
        );
      await expect.poll(checks).toEqual({ original_request_id });
    }
    const { checks } = await client.transfers.explain(refused, { idempotencyKey: key });
    const saw = { used_before: true, kept_status: 409, original_request_id };
    expect(checks.find(({ name }) => name === 'idempotency_key')?.saw).toEqual(saw);
  });

  test('is executed if it names a different program or operation', async () => {
    const { client } = running();
    const key = newKey();
    await send(key, LOAD);
    const { program_id: programId } = await client.programs.create({ name: 'Other', currency: 'USD' });
    await client.deposits.create(programId, { amount: 100 }, { idempotencyKey: key });
    await client.withdrawals.create(programId, { amount: 50 }, { idempotencyKey: key });
    await client.cards.create({ card_id: 'card_active' }, { programId });
    const loaded = await client.transfers.create(LOAD, { programId, idempotencyKey: key });
    expect([loaded.response.replayed, loaded.program_id]).toEqual([false, programId]);
  });
});

describe('responses that are not stored, so that the key can be used again:', () => {
  test('400', async () => {
    const key = newKey();
    for (const body of [{ card_id: 'card_active' }, { ...LOAD, amount: 8.5 }, { ...LOAD, currency: 'EUR' }]) {
      expect((await send(key, body)).status).toBe(400);
    }
    expect((await send(key, LOAD)).status).toBe(201);
  });

  test('404, once the card exists', async () => {
    const key = newKey();
    const load = { amount: 1, card_id: 'registered-later' };
    expect((await send(key, load)).fields.Code).toBe('card_not_found');
    await running().client.cards.create({ card_id: 'registered-later' });
    const created = await send(key, load);
    expect([created.status, replayed(created)]).toEqual([201, undefined]);
  });

  test('424, once the service is enabled', async () => {
    const key = newKey();
    await disable();
    try {
      expect((await send(key, LOAD)).status).toBe(424);
    } finally {
      await enable();
    }
    const created = await send(key, LOAD);
    expect([created.status, replayed(created)]).toEqual([201, undefined]);
  });

  test('422, and the stored response stays unchanged', async () => {
    const key = newKey();
    const first = await send(key, LOAD);
    expect((await send(key, { ...LOAD, amount: 11 })).status).toBe(422);
    expect((await send(key, { ...LOAD, amount: 11 })).status).toBe(422);
    expectReplay(await send(key, LOAD), first);
  });

  test('415 and 500', async () => {
    const key = newKey();
    expect((await send(key, LOAD, { 'Content-Type': 'text/xml' })).status).toBe(415);
    await running().database.stop();
    try {
      const failed = await send(key, LOAD);
      expect([failed.fields.Code, failed.headers['money-moved']]).toEqual(['unknown_create_transfer', 'no']);
    } finally {
      await running().database.start();
    }
    const created = await send(key, LOAD);
    expect([created.status, replayed(created)]).toEqual([201, undefined]);
  });
});

test('a success is replayed while the service is disabled', async () => {
  const [made, refused] = [newKey(), newKey()];
  const closed = { amount: 1, card_id: 'card_closed' };
  const [first, second] = [await send(made, LOAD), await send(refused, closed)];
  await disable();
  try {
    expectReplay(await send(made, LOAD), first);
    expectReplay(await send(refused, closed), second);
    expect((await send(made, { ...LOAD, amount: 11 })).status).toBe(422);
    expect((await send(newKey(), LOAD)).status).toBe(424);
  } finally {
    await enable();
  }
});

/** Changes of an existing transfer, each with the status of its success. */
const CHANGES = ['capture', 'cancel', 'reverse'] as const;
type Change = (typeof CHANGES)[number];
const STATUSES: Readonly<Record<Change, number>> = { capture: 200, cancel: 200, reverse: 201 };

/** Creates a transfer of ten cents that allows the change. */
async function changeable(change: Change): Promise<string> {
  const { client } = running();
  const card = await newCard(client);
  return change === 'reverse' ? made(client, card, 10) : held(client, card, 10);
}

function sendChange(change: Change, transferId: string, key: string, body: object = {}): Promise<RawResponse> {
  const path = `/api/v0.1/core/transfer/${transferId}/${change}`;
  return sendRaw(running().url, {
    path,
    headers: { 'Idempotency-Key': key },
    ...(change === 'cancel' ? {} : { body }),
  });
}

describe.each(CHANGES)('%s_transfer with a key', (change) => {
  test('returns the first response byte for byte and moves no money, even after later changes', async () => {
    const { client } = running();
    const [key, transferId] = [newKey(), await changeable(change)];
    const first = await sendChange(change, transferId, key, { amount: 4 });
    expect(first.status).toBe(STATUSES[change]);
    const { card_id } = await client.transfers.get(transferId);
    if (change !== 'cancel') await client.transfers.reverse(transferId, { amount: 2 });
    await client.transfers.update(transferId, { metadata: { since: 'then' } });
    const before = await moneyOf(client, card_id);
    expectReplay(await sendChange(change, transferId, key, { amount: 4 }), first);
    expectReplay(await sendChange(change, transferId, `"${key}"`, { amount: 4 }), first);
    expect(await moneyOf(client, card_id)).toEqual(before);
  });

  test('executes fifty concurrent requests once, with fifty equal responses', async () => {
    const { client } = running();
    const [key, transferId] = [newKey(), await changeable(change)];
    const responses = await Promise.all(
      Array.from({ length: 50 }, () => sendUntilServed(() => sendChange(change, transferId, key, { amount: 3 }))),
    );
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(responses.filter((response) => replayed(response) === undefined).length).toBe(1);
    const { captured_amount, reversed_amount } = await client.transfers.get(transferId);
    const moved = { capture: [3, 0], cancel: [0, 0], reverse: [10, 3] }[change];
    expect([captured_amount, reversed_amount]).toEqual(moved);
  });

  test('replays while the service is disabled, and refuses a different request with a 422', async () => {
    const [key, transferId, other] = [newKey(), await changeable(change), await changeable(change)];
    const first = await sendChange(change, transferId, key);
    await disable();
    try {
      expectReplay(await sendChange(change, transferId, key), first);
      expect((await sendChange(change, other, key)).fields.Code).toBe('idempotency_key_exists');
      expect((await sendChange(change, other, newKey())).status).toBe(change === 'cancel' ? 200 : 424);
    } finally {
      await enable();
    }
    expect((await sendChange(change, other, key)).status).toBe(422);
    if (change === 'cancel') return;
    const refused = await sendChange(change, transferId, key, { amount: 10 });
    expect(refused.fields).toMatchObject({ Status: 422, Code: 'idempotency_key_exists', Type: 'Request Error' });
    expect(refused.headers['money-moved']).toBe('no');
    expectReplay(await sendChange(change, transferId, key), first);
  });

  test('replays a 409 byte for byte, and does not store a 404', async () => {
    const { client } = running();
    const [key, card] = [newKey(), await newCard(client)];
    const transferId = change === 'reverse' ? await held(client, card, 10) : await made(client, card, 10);
    const first = await sendChange(change, transferId, key);
    expect([first.status, first.fields.Code]).toEqual([409, 'invalid_transfer_status']);
    if (change === 'reverse') await client.transfers.capture(transferId);
    const again = await sendChange(change, transferId, key);
    expectReplay(again, first);
    expect(again.headers['money-moved']).toBe('no');
    const [later, good] = [newKey(), await changeable(change)];
    expect((await sendChange(change, 'tr_missing', later)).fields.Code).toBe('transfer_not_found');
    const done = await sendChange(change, good, later);
    expect([done.status, replayed(done)]).toEqual([STATUSES[change], undefined]);
  });
});

test('stores one response per operation under the same key', async () => {
  const { client } = running();
  const [key, card] = [newKey(), await newCard(client)];
  const body = { amount: 10, card_id: card, capture: 'manual' };
  const created = await send(key, body);
  const transferId = String(created.fields.transfer_id);
  const captured = await sendChange('capture', transferId, key);
  const reversed = await sendChange('reverse', transferId, key);
  const canceled = await sendChange('cancel', await held(client, card), key);
  expect([created, captured, reversed, canceled].map(({ status }) => status)).toEqual([201, 200, 201, 200]);
  expect([created, captured, reversed, canceled].map(replayed)).toEqual([undefined, undefined, undefined, undefined]);
  // The first response of create_transfer still shows a hold.
  expectReplay(await send(key, body), created);
  expect(created.fields.status).toBe('pending');
  expectReplay(await sendChange('capture', transferId, key), captured);
  expectReplay(await sendChange('reverse', transferId, key), reversed);
  const found = await client.transfers.list({ idempotency_key: key });
  expect(found.data.map(({ transfer_id, status }) => [transfer_id, status])).toEqual([[transferId, 'completed']]);
});

test('replays a success even if the times in the request have passed', async () => {
  const { client } = running();
  const card_id = await newCard(client);
  const [later, hold] = [newKey(), newKey()];
  const scheduled = { amount: 1, card_id, scheduled_for: inSeconds(600) };
  const pending = { amount: 1, card_id, capture: 'manual', expires_at: inSeconds(600) };
  const [first, second] = [await send(later, scheduled), await send(hold, pending)];
  expect([first.fields.status, second.fields.status]).toEqual(['scheduled', 'pending']);
  await client.sandbox.moveClock({ seconds_ahead: 1200 });
  try {
    expect((await send(newKey(), scheduled)).fields.Code).toBe('create_transfer_schema');
    expect((await send(newKey(), pending)).fields.Code).toBe('create_transfer_schema');
    expectReplay(await send(later, scheduled), first);
    expectReplay(await send(hold, pending), second);
  } finally {
    await client.sandbox.moveClock({ seconds_ahead: 0 });
  }
});

describe('Money-Moved', () => {
  const OPERATOR = '/api/v0.1/operator/program';
  const TRANSFER = '/api/v0.1/core/transfer';
  const CARD = '/api/v0.1/core/card';
  const client = () => running().client;
  type Request = { readonly method?: string; readonly path?: string; readonly body?: object };

  /** Returns the Money-Moved header of the response to a request, and of its replay. */
  async function saysTwice(request: Request): Promise<readonly [unknown, unknown]> {
    const headers = { 'Idempotency-Key': newKey() };
    const first = await sendRaw(running().url, { ...request, headers });
    const again = await sendRaw(running().url, { ...request, headers });
    expectReplay(again, first);
    return [first.headers['money-moved'], again.headers['money-moved']];
  }

  const says = async (request: Request) => (await sendRaw(running().url, request)).headers['money-moved'];

  test('is yes if money moved, even in a replay', async () => {
    const [card_id, other] = [await newCard(client(), 100), await newCard(client())];
    const hold = { transfer_id: await held(client(), card_id, 5) };
    const load = { transfer_id: await made(client(), card_id, 5) };
    const { program_id } = await client().programs.create({ name: 'Gifts', currency: 'USD' });
    const requests: readonly Request[] = [
      { body: { amount: 5, card_id } },
      { body: { amount: 5, card_id, type: 'unload' } },
      { body: { amount: 5, card_id, type: 'card_to_card', destination_card_id: other } },
      { path: `${TRANSFER}/${hold.transfer_id}/capture`, body: { amount: 3 } },
      { path: `${TRANSFER}/${load.transfer_id}/reverse`, body: { amount: 3 } },
      { path: `${OPERATOR}/${program_id}/deposit`, body: { amount: 50 } },
      { path: `${OPERATOR}/${program_id}/withdrawal`, body: { amount: 50 } },
    ];
    for (const request of requests) expect([request, ...(await saysTwice(request))]).toEqual([request, 'yes', 'yes']);
  });

  test('is no for a hold, a scheduled transfer, a cancellation, a refusal and a dry run', async () => {
    const card_id = await newCard(client());
    const hold = await held(client(), card_id, 5);
    const requests: readonly Request[] = [
      { body: { amount: 5, card_id, capture: 'manual' } },
      { body: { amount: 5, card_id, scheduled_for: inSeconds(600) } },
      { path: `${TRANSFER}/${hold}/cancel`, body: {} },
      { body: { amount: 5, card_id, type: 'unload' } },
    ];
    for (const request of requests) expect([request, ...(await saysTwice(request))]).toEqual([request, 'no', 'no']);
    const explain = `${TRANSFER}/explain`;
    expect(await says({ path: explain, body: { amount: 5, card_id } })).toBe('no');
    expect(await says({ path: explain, body: {} })).toBe('no');
  });

  test('stays no in the replay of a hold after its capture', async () => {
    const request = { amount: 5, card_id: await newCard(client()), capture: 'manual' };
    const key = newKey();
    const first = await send(key, request);
    await client().transfers.capture(String(first.fields.transfer_id));
    const again = await send(key, request);
    expectReplay(again, first);
    expect(again.headers['money-moved']).toBe('no');
  });

  test('is yes for a change of a card only if the change closed the card and moved its balance', async () => {
    const [full, empty] = [await newCard(client(), 100), await newCard(client())];
    const change = (id: string, body: object) => says({ method: 'PATCH', path: `${CARD}/${id}`, body });
    const closed = { status: 'closed', balance_to: 'funding' };
    expect(await change(full, { holder_reference: 'x' })).toBe('no');
    expect(await change(full, closed)).toBe('yes');
    expect(await change(full, closed)).toBe('no');
    expect(await change(empty, closed)).toBe('no');
  });

  test('is yes for a batch if a row moved money, even if the batch is repeated', async () => {
    const card_id = await newCard(client());
    const row = (terms: object) => ({ amount: 5, card_id, idempotency_key: newKey(), ...terms });
    const batch = (...transfers: readonly object[]) => ({ path: `${TRANSFER}/batch`, body: { transfers } });
    const mixed = batch(row({ capture: 'manual' }), row({}), row({ card_id: 'card_closed' }));
    expect([await says(mixed), await says(mixed)]).toEqual(['yes', 'yes']);
    expect(await says(batch(row({ capture: 'manual' }), row({ card_id: 'card_closed' })))).toBe('no');
  });

  test('is not sent if the operation cannot move money', async () => {
    const requests: readonly Request[] = [
      { path: TRANSFER },
      { path: `${TRANSFER}/tr_1` },
      { method: 'POST', path: CARD, body: {} },
      { method: 'PATCH', path: `${TRANSFER}/${await made(client(), 'card_active')}`, body: { metadata: { a: 'b' } } },
    ];
    for (const request of requests)
      expect([request, await says({ method: 'GET', ...request })]).toEqual([request, undefined]);
  });

  test('is in the response of the SDK', async () => {
    const load = await client().transfers.create(LOAD);
    const hold = await client().transfers.create({ ...LOAD, capture: 'manual' });
    const card = await client().cards.get('card_active');
    expect([load, hold, card].map(({ response }) => response.moneyMoved)).toEqual(['yes', 'no', 'no']);
  });
});

test.each([
  ['empty', ''],
  ['with a blank', 'a b'],
  ['too long', 'x'.repeat(256)],
  ['half quoted', '"abc'],
  ['empty in quotes', '""'],
  ['not ASCII', 'schlüssel'],
])('refuses a key that is %s', async (_, key) => {
  const { fields } = await send(key, LOAD);
  expect(fields).toMatchObject({ Status: 400, Code: 'invalid_idempotency_key' });
});

test('refuses two keys, and accepts 255 characters', async () => {
  const twice = await sendRaw(running().url, { headers: { 'Idempotency-Key': ['a', 'a'] }, body: LOAD });
  expect(twice.fields.Code).toBe('invalid_idempotency_key');
  expect((await send('x'.repeat(255), LOAD)).status).toBe(201);
});

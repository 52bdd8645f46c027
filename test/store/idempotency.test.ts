import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { expect, test } from 'vitest';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { toWireId } from '../../domain/identifier.ts';
import { DEMO_PROGRAM_ID as PROGRAM } from '../../domain/sandbox.ts';
import { deleteExpired } from '../../server/background/jobs/retention.ts';
import { faultOf } from '../../server/http/wire/fault.ts';
import { forgetBodies, forgetRefusedKeys } from '../../server/store/idempotency.ts';
import { payloadOf } from '../fixtures/stored-events.ts';
import { KEY_TEXT } from '../harness/ledger.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';

const server = await useServer();
const ledger = useLedger(server.connection);
const client = await useConnection(server.connection);

/** Returns how a key is stored: whether it has its own body, and the payload of the event that contains the body. */
async function storedUnder(key: string): Promise<{ readonly has_body: boolean; readonly payload: string | null }> {
  const { rows } = await client.query(
    `select body is not null as has_body, event.payload, event.program_id, event.subject_id from idempotency
     left join event on event.batch_id = idempotency.batch_id and event.index = event_index
       and event.created_at = idempotency.created_at
     where ${KEY_TEXT} = $1`,
    [key],
  );
  const [{ has_body, ...event }] = rows;
  return { has_body, payload: event.payload === null ? null : payloadOf(event) };
}

/** Makes a key and its event older by `days` days. */
async function age(key: string, days: number): Promise<void> {
  await client.query(
    `with aged as (
       update idempotency set created_at = created_at - $2 * interval '1 day' where ${KEY_TEXT} = $1 returning batch_id, event_index
     )
     update event set created_at = created_at - $2 * interval '1 day'
     from aged where event.batch_id = aged.batch_id and event.index = aged.event_index`,
    [key, days],
  );
}

/** Matches the event whose payload is the response for a key. */
const OF_KEY = `(batch_id, index) in (select batch_id, event_index from idempotency where ${KEY_TEXT} = $1)`;

test('the body of a response is stored once, as the payload of its event', async () => {
  const key = () => ({ idempotencyKey: randomUUID() });
  const group = Array.from({ length: 5 }, (_, index) => ({ amount: 1 + index, card_id: 'card_active' }));
  const sent = group.map((body) => ({ body, ...key() }));
  const replies = await Promise.all(
    sent.map(({ body, idempotencyKey }) => ledger.call('create_transfer', body, { idempotencyKey })),
  );
  for (const [index, { idempotencyKey }] of sent.entries()) {
    expect(await storedUnder(idempotencyKey)).toEqual({ has_body: false, payload: replies[index]?.body });
  }
  const hold = JSON.parse(
    (await ledger.call('create_transfer', { amount: 9, card_id: 'card_active', capture: 'manual' })).body,
  ) as { transfer_id: string };
  const named = { params: { transfer_id: hold.transfer_id } };
  for (const [operation, body] of [
    ['capture_transfer', { amount: 4 }],
    ['reverse_transfer', { amount: 1 }],
    ['create_card', {}],
  ] as const) {
    const under = key();
    const { body: payload } = await ledger.call(operation, body, { ...named, ...under });
    expect(await storedUnder(under.idempotencyKey), operation).toEqual({ has_body: false, payload });
  }
  // Operators' responses are few and cannot all be rebuilt, so they are stored separately.
  const deposit = key();
  await ledger.call('create_deposit', { amount: 5 }, { params: { program_id: DEMO_PROGRAM }, ...deposit });
  expect(await storedUnder(deposit.idempotencyKey)).toEqual({ has_body: true, payload: null });
});

test('a key is replayed byte for byte while the event is stored, and later with the current transfer', async () => {
  const request = { amount: 5, card_id: 'card_active', metadata: { order: '1' } };
  const idempotencyKey = randomUUID();
  const replay = async () => {
    const again = await ledger.call('create_transfer', request, { idempotencyKey });
    expect(again.replayed).toBe(true);
    return again.body;
  };
  const first = (await ledger.call('create_transfer', request, { idempotencyKey })).body;
  const { transfer_id } = JSON.parse(first) as { transfer_id: string };
  await ledger.call('update_transfer', { metadata: { order: '2' } }, { params: { transfer_id } });
  for (const days of [0, 29, 11, 365]) {
    await age(idempotencyKey, days);
    await deleteExpired(ledger.database);
    expect(await replay()).toBe(first);
  }
  await client.query(`delete from event where ${OF_KEY}`, [idempotencyKey]);
  expect(JSON.parse(await replay())).toMatchObject({ transfer_id, amount: 5, metadata: { order: '2' } });
});

test('a response of an earlier version is replayed from the body that is stored with the key', async () => {
  const request = { amount: 5, card_id: 'card_active' };
  const idempotencyKey = randomUUID();
  const { body } = await ledger.call('create_transfer', request, { idempotencyKey });
  const old = body.replace('"amount":5', '"amount":5.0');
  await client.query(`update idempotency set body = $2, batch_id = null, event_index = null where ${KEY_TEXT} = $1`, [
    idempotencyKey,
    old,
  ]);
  const replay = async () => (await ledger.call('create_transfer', request, { idempotencyKey })).body;
  expect(await replay()).toBe(old);
  await client.query(`update idempotency set created_at = now() - interval '31 days' where ${KEY_TEXT} = $1`, [
    idempotencyKey,
  ]);
  expect(await deleteExpired(ledger.database)).toBe(1);
  expect(JSON.parse(await replay())).toEqual(JSON.parse(body));
});

test('a conflict names the first request, unless an earlier version stored its response', async () => {
  const idempotencyKey = randomUUID();
  const conflict = () =>
    ledger.call('create_transfer', { amount: 6, card_id: 'card_active' }, { idempotencyKey }).catch((error) => error);
  const requestId = randomUUIDv7();
  await ledger.call('create_transfer', { amount: 5, card_id: 'card_active' }, { idempotencyKey, requestId });
  const original_request_id = toWireId('req', requestId);
  expect(await conflict()).toMatchObject({
    code: 'idempotency_key_exists',
    message: expect.stringContaining(`a different request, ${original_request_id}.`),
    details: { originalRequestId: original_request_id, saw: { original_request_id } },
  });
  // A process of an earlier version inserts no request id.
  await client.query(`update idempotency set request_id = null where ${KEY_TEXT} = $1`, [idempotencyKey]);
  const { message, details } = await conflict();
  expect(message).toContain('a different request. Use a new key');
  expect(details).toEqual({});
});

test('after 30 days, a key creates no second transfer, but a refused key is accepted again', async () => {
  const made = { body: { amount: 5, card_id: 'card_active' }, key: { idempotencyKey: randomUUID() } };
  const refused = { body: { amount: 5, card_id: 'card_closed' }, key: { idempotencyKey: randomUUID() } };
  const young = { body: { amount: 6, card_id: 'card_active' }, key: { idempotencyKey: randomUUID() } };
  const first = await ledger.call('create_transfer', made.body, made.key);
  await expect(ledger.call('create_transfer', refused.body, refused.key)).rejects.toMatchObject({
    code: 'card_closed',
  });
  await client.query("update idempotency set created_at = now() - interval '31 days'");
  await ledger.call('create_transfer', young.body, young.key);
  expect(await deleteExpired(ledger.database, undefined, 32)).toBe(0);
  expect(await deleteExpired(ledger.database)).toBe(1);

  const again = await ledger.call('create_transfer', made.body, made.key);
  expect(again.replayed).toBe(true);
  expect(JSON.parse(again.body)).toEqual(JSON.parse(first.body));
  await expect(ledger.call('create_transfer', { ...made.body, amount: 7 }, made.key)).rejects.toMatchObject({
    code: 'idempotency_key_exists',
  });
  // The card is active again. The expired key can be used for a request that now succeeds.
  await client.query("update card set status = 'active' where name = 'card_closed'");
  const reply = await ledger.call('create_transfer', refused.body, refused.key);
  expect(reply.replayed).toBeUndefined();
  expect(await deleteExpired(ledger.database)).toBe(0);
});

test('after 30 days, no other operation is repeated, and a card is returned in its current state', async () => {
  const params = { program_id: DEMO_PROGRAM };
  const requests = [
    ['create_program', { name: 'Gifts', currency: 'USD' }, {}],
    ['create_key', { name: 'shop', scopes: ['cards:read'], all_programs: true }, {}],
    ['change_switch', { disabled: false }, {}],
    ['create_deposit', { amount: 5, description: 'wire' }, { params }],
    ['create_withdrawal', { amount: 5 }, { params }],
  ] as const;
  const idempotencyKey = randomUUID();
  const cards = [{}, { card_id: 'of-its-owner' }];
  const cardReplies = [];
  for (const [index, body] of cards.entries()) {
    cardReplies.push(await ledger.call('create_card', body, { idempotencyKey: `${idempotencyKey} ${index}` }));
  }
  const taken = { idempotencyKey: randomUUID() };
  await expect(ledger.call('create_card', cards[1], taken)).rejects.toMatchObject({ code: 'duplicate_card' });
  const replies = [];
  for (const [operation, body, more] of requests) {
    replies.push(await ledger.call(operation, body, { ...more, idempotencyKey }));
  }
  await ledger.call('create_transfer', { amount: 7, card_id: 'of-its-owner' });
  await client.query("update idempotency set created_at = now() - interval '31 days'");
  await deleteExpired(ledger.database);

  for (const [index, body] of cards.entries()) {
    const first = cardReplies[index];
    const again = await ledger.call('create_card', body, { idempotencyKey: `${idempotencyKey} ${index}` });
    expect([again.status, again.replayed, again.location]).toEqual([201, true, first?.location]);
    const { updated_at: _, ...made } = JSON.parse(first?.body ?? '{}') as Record<string, unknown>;
    expect(JSON.parse(again.body)).toMatchObject(index === 0 ? made : { ...made, balance: 7, available: 7 });
  }
  const forgotten = await ledger.call('create_card', cards[1], taken).catch((error: unknown) => error);
  expect(forgotten).toMatchObject({ code: 'duplicate_card', details: { field: '/card_id' } });
  expect(forgotten).not.toMatchObject({ details: { replayed: true } });
  const replay = async (index: number): Promise<unknown> => {
    const [operation, body, more] = requests[index] ?? requests[0];
    const again = await ledger.call(operation, body, { ...more, idempotencyKey });
    expect(again.replayed).toBe(true);
    return JSON.parse(again.body);
  };
  for (const [index, reply] of replies.entries()) {
    const isKey = requests[index]?.[0] === 'create_key';
    const first: object = JSON.parse(reply.body);
    expect(await replay(index)).toEqual(isKey ? { ...first, key: null, key_omitted: expect.any(String) } : first);
  }
  // Removes the body of deposits, as in older versions, which did not keep it permanently. The service rebuilds it from
  // the books.
  await client.query("update idempotency set body = null where operation in ('create_deposit', 'create_withdrawal')");
  expect([await replay(3), await replay(4)]).toEqual(replies.slice(3).map(({ body }) => JSON.parse(body)));
});

test.each(['create_deposit', 'create_withdrawal'] as const)(
  'a replay of %s that cannot read the result does not claim that no money moved',
  async (operation) => {
    const idempotencyKey = randomUUID();
    const send = () => ledger.call(operation, { amount: 5 }, { params: { program_id: DEMO_PROGRAM }, idempotencyKey });
    const first = await send();
    await client.query(`update idempotency set body = null where ${KEY_TEXT} = $1`, [idempotencyKey]);
    await client.query('begin');
    await client.query('lock table funding_movement in access exclusive mode');
    const failure: unknown = await send().catch((error: unknown) => error);
    await client.query('rollback');
    expect(failure).toMatchObject({ name: 'OperationFailure', busy: false, cause: { lockTimeout: true } });
    const fault = faultOf(failure, { operation, begun: true, idempotencyKey });
    expect(fault).toMatchObject({ code: `unknown_${operation}`, moneyMoved: 'yes' });
    expect(fault.message).toContain('the money has moved. Send exactly the same request again with the same Idemp');
    const again = await send();
    expect([again.replayed, JSON.parse(again.body)]).toEqual([true, JSON.parse(first.body)]);
  },
);

test('expired keys are found without reading keys that have already been removed', async () => {
  await client.query(
    `insert into idempotency (key_hash, program_id, operation, key, fingerprint, status, subject_id, body, created_at)
     select gen_random_uuid(), $1, 'create_transfer', 'old ' || number, sha256(''), 201, gen_random_uuid(),
       case when number > 20000 then '{}' end, now() - interval '60 days' + number * interval '1 minute'
     from generate_series(1, 20005) as number`,
    [PROGRAM],
  );
  await client.query('vacuum analyze idempotency');
  const pagesOf = async (table: string) =>
    Number((await client.query(`select pg_relation_size('${table}') / 8192 as pages`)).rows[0].pages);
  const whole = await pagesOf('idempotency');
  for (const { text, values } of [forgetBodies(1000), forgetRefusedKeys(1000)]) {
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, [...values]);
    const plan = rows[0]['QUERY PLAN'][0].Plan as Record<string, number>;
    const touched = Number(plan['Shared Hit Blocks']) + Number(plan['Shared Read Blocks']);
    expect(touched, `of ${whole} pages`).toBeLessThan(whole / 4);
  }
  const { rows } = await client.query("select count(body)::int as bodies from idempotency where key like 'old %'");
  expect(rows).toEqual([{ bodies: 0 }]);
});

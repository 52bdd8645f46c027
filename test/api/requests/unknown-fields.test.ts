import { afterAll, describe, expect, test } from 'vitest';
import { OPERATION_IDS, OPERATIONS } from '../../../contract/operations.ts';
import { beginsAs, isMeantFor } from '../../../contract/reading/read-fields.ts';
import { DEMO_PROGRAM } from '../../../contract/samples.ts';
import { isClosed } from '../../../contract/schema-parts.ts';
import { partsOf, toRaw } from '../../fixtures/operations.ts';
import { thingsOf } from '../../fixtures/service-things.ts';
import { programKey } from '../../harness/keys.ts';
import { type RawResponse, sendRaw } from '../../harness/raw-request.ts';
import { expectBalancedBooks, useService } from '../../harness/service.ts';
import { held, made, newCard } from '../arrange.ts';

// A misspelled field must never make a request do more than the correct field would have done.

const running = useService();
const client = () => running().client;
afterAll(() => expectBalancedBooks(running()));

const CORE = '/api/v0.1/core';
const OPERATOR = '/api/v0.1/operator';

async function expectRefusal(asked: Promise<RawResponse>, code: string, field: string, says: string): Promise<void> {
  const { fields, headers } = await asked;
  expect(fields).toMatchObject({ Status: 400, Code: code, Type: 'Request Error' });
  expect(fields.Message).toContain(says);
  expect(headers['error-field']).toBe(field);
  // A refused field must not count as ignored.
  expect(headers).not.toHaveProperty('ignored-fields');
}

describe('operations that refuse every unknown field', () => {
  test('are those where ignoring a field would move all money, disable everything, send all events, or create an unlimited key or rule', () => {
    const closed = OPERATION_IDS.filter((id) => {
      const { body } = OPERATIONS[id];
      return body !== undefined && isClosed(body);
    });
    expect(closed.sort()).toEqual([
      'capture_transfer',
      'change_approval_policy',
      'change_switch',
      'create_incident',
      'create_key',
      'create_operator_webhook',
      'create_webhook',
      'resolve_attempt',
      'reverse_transfer',
      'roll_key',
      'roll_operator_webhook_secret',
      'roll_webhook_secret',
      'update_operator_webhook',
      'update_webhook',
    ]);
  });

  test.each(['amout', 'sum', 'captured_amount', 'value'])(
    'moves nothing for a capture or reversal with the body {"%s": 5}',
    async (name) => {
      const card = await newCard(client());
      const [hold, load] = [await held(client(), card, 9), await made(client(), card, 7)];
      const says = `There is no field '${name}'.`;
      const capture = sendRaw(running().url, { path: `${CORE}/transfer/${hold}/capture`, body: { [name]: 5 } });
      await expectRefusal(capture, 'capture_transfer_schema', `/${name}`, says);
      const reverse = sendRaw(running().url, { path: `${CORE}/transfer/${load}/reverse`, body: { [name]: 5 } });
      await expectRefusal(reverse, 'reverse_transfer_schema', `/${name}`, says);
      expect(await client().transfers.get(hold)).toMatchObject({ status: 'pending', captured_amount: 0 });
      expect(await client().transfers.get(load)).toMatchObject({ reversed_amount: 0 });
    },
  );

  test('captures and reverses nothing for an amount in the query', async () => {
    const card = await newCard(client());
    const [hold, load] = [await held(client(), card, 9), await made(client(), card, 7)];
    const says = "Send 'amount' in the body.";
    const capture = sendRaw(running().url, { path: `${CORE}/transfer/${hold}/capture?amount=5` });
    await expectRefusal(capture, 'capture_transfer_schema', '/amount', says);
    const reverse = sendRaw(running().url, { path: `${CORE}/transfer/${load}/reverse?Amount=5` });
    await expectRefusal(reverse, 'reverse_transfer_schema', '/Amount', says);
    expect(await client().transfers.get(hold)).toMatchObject({ captured_amount: 0 });
    expect(await client().transfers.get(load)).toMatchObject({ reversed_amount: 0 });
  });

  test('does not create or roll a key with a misspelled expires_at', async () => {
    const { key_id } = await client().keys.create(programKey('x', DEMO_PROGRAM));
    const end = { expires: '2100-01-01T00:00:00Z' };
    const body = { name: 'x', program_id: DEMO_PROGRAM, scopes: ['cards:read'], ...end };
    const create = sendRaw(running().url, { path: `${OPERATOR}/key`, body });
    await expectRefusal(create, 'create_key_schema', '/expires', "Did you mean 'expires_at'?");
    const roll = sendRaw(running().url, { path: `${OPERATOR}/key/${key_id}/roll`, body: { until: end.expires } });
    await expectRefusal(roll, 'roll_key_schema', '/until', "The fields are 'previous_until', 'expires_at'.");
    expect((await client().keys.list({ limit: 1 })).data).toMatchObject([{ key_id, replaced_by: null }]);
  });
});

describe('other operations', () => {
  test.each([
    ['captur', 'capture'],
    ['capture_method', 'capture'],
    ['typ', 'type'],
    ['scheduled_at', 'scheduled_for'],
    ['expires', 'expires_at'],
    ['expiresOn', 'expires_at'],
    ['curency', 'currency'],
  ])('refuses %s as a misspelling of %s', async (name, meant) => {
    const body = { amount: 1, card_id: 'card_active', [name]: 'x' };
    const says = `There is no field '${name}'. Did you mean '${meant}'?`;
    await expectRefusal(sendRaw(running().url, { body }), 'create_transfer_schema', `/${name}`, says);
  });

  test('refuses misspelled limits when a card is created or updated', async () => {
    const limits = { limit: { in: { daily_count: 1 } } };
    const create = sendRaw(running().url, { path: `${CORE}/card`, body: limits });
    await expectRefusal(create, 'create_card_schema', '/limit', "Did you mean 'limits'?");
    const change = sendRaw(running().url, { method: 'PATCH', path: `${CORE}/card/card_active`, body: limits });
    await expectRefusal(change, 'update_card_schema', '/limit', "Did you mean 'limits'?");
  });

  test('refuses an idempotency key in the body or the query', async () => {
    const body = { amount: 1, card_id: 'card_active' };
    const says = "Send the key in the header 'Idempotency-Key'.";
    const inBody = sendRaw(running().url, { body: { ...body, idempotencyKey: 'x' } });
    await expectRefusal(inBody, 'create_transfer_schema', '/idempotencyKey', says);
    const inQuery = sendRaw(running().url, { path: `${CORE}/transfer?idempotency_key=x`, body });
    await expectRefusal(inQuery, 'create_transfer_schema', '/idempotency_key', says);
  });

  test('refuses a query parameter that belongs in the body, and ignores and names other parameters', async () => {
    const body = { amount: 1, card_id: 'card_active' };
    const misplaced = sendRaw(running().url, { path: `${CORE}/transfer?capture=manual`, body });
    await expectRefusal(misplaced, 'create_transfer_schema', '/capture', "'capture' is in the query.");
    const { status, headers } = await sendRaw(running().url, { path: `${CORE}/transfer?trace=1`, body });
    expect([status, headers['ignored-fields']]).toEqual([201, 'trace']);
  });

  test('reports a misspelled required field together with the correct name', async () => {
    const { fields } = await sendRaw(running().url, { body: { amout: 1, card_id: 'card_active' } });
    expect(fields.Message).toBe("The required field 'amount' is missing. You sent 'amout'; did you mean 'amount'?");
  });
});

describe('read-only fields of a record', () => {
  const patches = OPERATION_IDS.filter((id) => OPERATIONS[id].method === 'PATCH');

  test.each(patches)('%s refuses each read-only field with any value, and changes nothing', async (id) => {
    const parts = await partsOf(id, thingsOf(client()));
    const raw = toRaw(id, parts);
    const before = await sendRaw(running().url, { ...raw, method: 'GET', body: undefined });
    expect(before.status).toBe(200);
    const changed = Object.keys(OPERATIONS[id].body?.properties ?? {});
    const refused = Object.keys(before.fields).filter((name) => !changed.includes(name));
    expect(refused.length).toBeGreaterThan(3);
    for (const name of refused) {
      for (const value of [before.fields[name], null, 'x']) {
        const change = sendRaw(running().url, { ...raw, body: { ...parts.body, [name]: value } });
        await expectRefusal(change, `${id}_schema`, `/${name}`, `'${name}' cannot be changed: omit it.`);
      }
    }
    const after = await sendRaw(running().url, { ...raw, method: 'GET', body: undefined });
    // Does not compare the whole text, because a webhook also shows the progress of its deliveries.
    expect(after.headers.etag).toBe(before.headers.etag);
    for (const name of changed) expect(after.fields[name]).toEqual(before.fields[name]);
  });

  test.each([
    ['update_program', 'time_zone', 'timeZone'],
    ['update_card', 'processor_token', 'processorToken'],
    ['update_transfer', 'amount', 'amout'],
  ] as const)(
    '%s refuses %s, which can be set only at creation, and also the misspelling %s',
    async (id, name, variant) => {
      const parts = await partsOf(id, thingsOf(client()));
      const change = (field: string) =>
        sendRaw(running().url, { ...toRaw(id, parts), body: { ...parts.body, [field]: 'x' } });
      await expectRefusal(change(name), `${id}_schema`, `/${name}`, `'${name}' cannot be changed: omit it.`);
      await expectRefusal(change(variant), `${id}_schema`, `/${variant}`, `There is no field '${variant}'.`);
    },
  );
});

test.each([
  ['cardId', 'card_id', true],
  ['amout', 'amount', true],
  ['amonut', 'amount', true],
  ['amounts', 'amount', true],
  ['amiunt', 'amount', true],
  ['tpye', 'type', true],
  ['note', 'name', false],
  ['order', 'reference', false],
  ['ty', 'type', false],
  ['', 'type', false],
  ['amoutn_', 'amount', true],
  ['mount_a', 'amount', false],
])('decides whether %s is a misspelling of %s: %s', (sent, known, is) => expect(isMeantFor(sent, known)).toBe(is));

test.each([
  ['captureMode', 'capture', true],
  ['scheduled', 'scheduled_for', true],
  ['recapture', 'capture', false],
  ['for', 'scheduled_for', false],
  ['', 'type', false],
])('decides whether %s and %s share a beginning: %s', (sent, known, is) => expect(beginsAs(sent, known)).toBe(is));

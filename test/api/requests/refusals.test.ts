import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ERRORS } from '../../../contract/errors/catalogue.ts';
import type { ErrorCode } from '../../../contract/operations.ts';
import { movesMoney, OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import type { TransferService, UpdateCardBody } from '../../../sdk/client.ts';
import { type RawRequest, type RawResponse, sendRaw } from '../../harness/raw-request.ts';
import { expectBalancedBooks, refusalOf, useService } from '../../harness/service.ts';
import { held, made, newCard, spent } from '../arrange.ts';

const running = useService();
const send = (raw: RawRequest): Promise<RawResponse> => sendRaw(running().url, raw);
const disable = () => running().client.switch.change({ disabled: true, reason: 'a test' });
const enable = () => running().client.switch.change({ disabled: false });
afterAll(() => expectBalancedBooks(running()));

const USED_KEY = 'used-before';
const MORE_THAN_FUNDING = 999_999_999_999;

beforeAll(async () => {
  const first = { amount: 1, card_id: 'card_active', reference: 'taken', description: 'as no later one' };
  await running().client.transfers.create(first, { idempotencyKey: USED_KEY });
  // Cards whose state and currency meet in one request; the seeded ones are USD where they have a state.
  await running().client.cards.create({ card_id: 'preactive_gbp', status: 'preactive', currency: 'GBP' });
  await running().client.cards.create({ card_id: 'empty_gbp', currency: 'GBP' });
  const limits = { in: { maximum_amount: 20, daily_amount: 10 }, out: { minimum_amount: 5 } };
  await running().client.cards.create({ card_id: 'used_up', limits });
  await running().client.transfers.create({ amount: 10, card_id: 'used_up' });
});

/** The natural cause of each refusal that create_transfer's own rules ca response with. */
const CAUSES: readonly (readonly [code: ErrorCode, body: object, field: string | undefined])[] = [
  ['invalid_amount', { amount: 85.5, card_id: 'card_active' }, '/amount'],
  ['idempotency_key_exists', { amount: 2, card_id: 'card_active' }, undefined],
  ['card_not_found', { amount: 1, card_id: 'card_missing' }, '/card_id'],
  ['card_not_activated', { amount: 1, card_id: 'card_preactive' }, '/card_id'],
  ['card_suspended', { amount: 1, card_id: 'card_inactive' }, '/card_id'],
  ['card_suspended', { amount: 1, card_id: 'card_inactive', type: 'unload' }, '/card_id'],
  ['card_lost', { amount: 1, card_id: 'card_lost' }, '/card_id'],
  ['card_lost', { amount: 1, card_id: 'card_stolen' }, '/card_id'],
  ['card_suspected_fraud', { amount: 1, card_id: 'card_fraud' }, '/card_id'],
  ['card_suspected_fraud', { amount: 1, card_id: 'card_fraud', type: 'unload' }, '/card_id'],
  ['card_expired', { amount: 1, card_id: 'card_expired' }, '/card_id'],
  ['card_closed', { amount: 1, card_id: 'card_closed' }, '/card_id'],
  ['currency_mismatch', { amount: 1, card_id: 'card_active', currency: 'EUR' }, '/currency'],
  [
    'currency_mismatch',
    { amount: 1, card_id: 'card_active', type: 'card_to_card', destination_card_id: 'card_eur' },
    '/destination_card_id',
  ],
  ['duplicate_reference', { amount: 1, card_id: 'card_active', reference: 'taken' }, '/reference'],
  ['amount_too_small', { amount: 99, card_id: 'card_limited' }, '/amount'],
  ['amount_too_large', { amount: 10_001, card_id: 'card_limited' }, '/amount'],
  ['limit_exceeded', { amount: 1, card_id: 'card_full' }, '/amount'],
  ['limit_exceeded', { amount: 1, card_id: 'used_up' }, '/amount'],
  ['insufficient_funds', { amount: 1, card_id: 'card_empty', type: 'unload' }, '/amount'],
  ['insufficient_funds', { amount: MORE_THAN_FUNDING, card_id: 'card_active' }, '/amount'],
];

describe('every refusal of create_transfer by its real cause', () => {
  test('the table and the contract have the same codes', () => {
    const named = new Set<ErrorCode>(['service_disabled', ...CAUSES.map(([code]) => code)]);
    expect([...named].sort()).toEqual([...OPERATIONS.create_transfer.errors].sort());
  });

  test.each(CAUSES)('%s: %j', async (code, body, field) => {
    const before = await running().client.trialBalance.get();
    const headers = code === 'idempotency_key_exists' ? { 'Idempotency-Key': USED_KEY } : {};
    const { status, fields, headers: answered } = await send({ headers, body });
    const { status: Status, type: Type } = ERRORS[code];
    expect(Object.keys(fields)).toEqual(['Message', 'Status', 'Code', 'Type']);
    expect([status, fields]).toEqual([Status, { Message: fields.Message, Status, Code: code, Type }]);
    expect([answered['money-moved'], answered['error-field']]).toEqual(['no', field]);
    expect((await running().client.trialBalance.get()).currencies).toEqual(before.currencies);
  });

  test('service_disabled', async () => {
    await disable();
    try {
      const { status, fields, headers } = await send({ body: { amount: 1, card_id: 'card_active' } });
      expect([status, fields.Code, fields.Type]).toEqual([424, 'service_disabled', 'Process Error']);
      expect(fields.Message).toContain('contact support');
      expect(headers['money-moved']).toBe('no');
    } finally {
      await enable();
    }
  });

  test('unknown_create_transfer: the database is stopped, then started again', async () => {
    const { client } = running();
    const body = { amount: 1, card_id: 'card_active' };
    await running().database.stop();
    try {
      const refused = await refusalOf(client.transfers.create(body));
      expect(refused).toMatchObject({ Code: 'unknown_create_transfer', moneyMoved: 'no', shouldRetry: true });
      expect(refused.Message).toContain(refused.requestId);
      expect(await refusalOf(client.cards.list())).toMatchObject({ Code: 'unknown_list_cards', Status: 500 });
    } finally {
      await running().database.start();
    }
    expect((await client.transfers.create(body)).status).toBe('completed');
  });
});

/** Rules that look at the same member in one-card transfers meet where two cards take part. */
const TWO_CARDS: readonly (readonly [code: ErrorCode, field: string, body: object])[] = [
  ['card_not_found', '/card_id', { card_id: 'card_missing', destination_card_id: 'card_gone' }],
  ['card_not_found', '/destination_card_id', { card_id: 'card_closed', destination_card_id: 'card_missing' }],
  ['card_suspended', '/card_id', { card_id: 'card_inactive', destination_card_id: 'card_closed' }],
  ['card_closed', '/destination_card_id', { card_id: 'card_lost', destination_card_id: 'card_closed' }],
  [
    'card_closed',
    '/destination_card_id',
    { card_id: 'card_active', destination_card_id: 'card_closed', currency: 'EUR' },
  ],
  ['card_not_activated', '/card_id', { card_id: 'preactive_gbp', destination_card_id: 'card_full' }],
  ['currency_mismatch', '/currency', { card_id: 'card_active', destination_card_id: 'card_eur', currency: 'EUR' }],
  [
    'currency_mismatch',
    '/destination_card_id',
    { card_id: 'card_eur', destination_card_id: 'card_full', reference: 'taken' },
  ],
  ['duplicate_reference', '/reference', { card_id: 'empty_gbp', destination_card_id: 'card_full', reference: 'taken' }],
  ['limit_exceeded', '/amount', { card_id: 'empty_gbp', destination_card_id: 'card_full' }],
  ['amount_too_small', '/amount', { card_id: 'used_up', destination_card_id: 'card_limited' }],
  ['duplicate_reference', '/reference', { card_id: 'used_up', destination_card_id: 'card_active', reference: 'taken' }],
  ['amount_too_large', '/amount', { card_id: 'card_active', destination_card_id: 'used_up', amount: 21 }],
  ['limit_exceeded', '/amount', { card_id: 'card_empty', destination_card_id: 'used_up' }],
];

test.each(TWO_CARDS)('from card to card: %s at %s of %j', async (code, field, body) => {
  const { fields, headers } = await send({ body: { amount: 1, type: 'card_to_card', ...body } });
  expect([fields.Code, headers['error-field']]).toEqual([code, field]);
});

test('all missing fields are reported together, before other faults', async () => {
  const { fields } = await send({ body: { amount: '', card_id: null, type: 'gift', Capture: 'x' } });
  expect(fields.Message).toBe("The required fields 'amount' and 'card_id' are missing.");
  const variant = await send({ body: { amount: 85.5, card_id: 'card_missing', type: 'gift', Capture: 'x' } });
  expect(variant.fields.Message).toContain("'Capture'");
  expect(variant.fields.Code).toBe('create_transfer_schema');
});

/** Brings about what a refusal needs, and gives the call that is refused. */
type Arrange = (client: TransferService) => Promise<() => Promise<unknown>>;

/** A capture of five cents for a card that has changed since. */
function captureAfter(change: UpdateCardBody): Arrange {
  return async (client) => {
    const card = await newCard(client);
    const hold = await held(client, card);
    await client.cards.update(card, change);
    return () => client.transfers.capture(hold);
  };
}

const atOnce = (call: (client: TransferService) => Promise<unknown>): Arrange => {
  return async (client) => () => call(client);
};

const onNewCard = (call: (client: TransferService, card: string) => Promise<() => Promise<unknown>>): Arrange => {
  return async (client) => call(client, await newCard(client));
};

const KEY = { idempotencyKey: 'of-another-request' };

/** The natural cause of each refusal of the other operations about transfers and cards, through the client. */
const OF_OTHERS: readonly (readonly [OperationId, ErrorCode, field: string | undefined, Arrange])[] = [
  ['capture_transfer', 'invalid_amount', '/amount', atOnce((c) => c.transfers.capture('tr_x', { amount: 0 }))],
  [
    'capture_transfer',
    'idempotency_key_exists',
    undefined,
    onNewCard(async (client, card) => {
      await client.transfers.capture(await held(client, card), {}, KEY);
      return async () => client.transfers.capture(await held(client, card), {}, KEY);
    }),
  ],
  ['capture_transfer', 'transfer_not_found', undefined, atOnce((c) => c.transfers.capture('tr_x'))],
  [
    'capture_transfer',
    'invalid_transfer_status',
    undefined,
    onNewCard(async (client, card) => {
      const load = await made(client, card);
      return () => client.transfers.capture(load);
    }),
  ],
  [
    'capture_transfer',
    'amount_too_large',
    '/amount',
    onNewCard(async (client, card) => {
      const hold = await held(client, card);
      return () => client.transfers.capture(hold, { amount: 6 });
    }),
  ],
  ['capture_transfer', 'card_suspended', undefined, captureAfter({ status: 'inactive' })],
  ['capture_transfer', 'card_lost', undefined, captureAfter({ status: 'lost' })],
  ['capture_transfer', 'card_lost', undefined, captureAfter({ status: 'stolen' })],
  ['capture_transfer', 'card_suspected_fraud', undefined, captureAfter({ status: 'fraud' })],
  ['capture_transfer', 'card_expired', undefined, captureAfter({ expires_on: '2020-12-31' })],
  ['capture_transfer', 'limit_exceeded', '/amount', captureAfter({ limits: { maximum_balance: 4 } })],
  [
    'cancel_transfer',
    'idempotency_key_exists',
    undefined,
    onNewCard(async (client, card) => {
      await client.transfers.cancel(await held(client, card), KEY);
      const other = await held(client, card);
      return () => client.transfers.cancel(other, KEY);
    }),
  ],
  ['cancel_transfer', 'transfer_not_found', undefined, atOnce((c) => c.transfers.cancel('tr_x'))],
  [
    'cancel_transfer',
    'invalid_transfer_status',
    undefined,
    onNewCard(async (client, card) => {
      const load = await made(client, card);
      return () => client.transfers.cancel(load);
    }),
  ],
  ['reverse_transfer', 'invalid_amount', '/amount', atOnce((c) => c.transfers.reverse('tr_x', { amount: '1.5' }))],
  [
    'reverse_transfer',
    'idempotency_key_exists',
    undefined,
    onNewCard(async (client, card) => {
      const load = await made(client, card);
      await client.transfers.reverse(load, { amount: 1 }, KEY);
      return () => client.transfers.reverse(load, { amount: 2 }, KEY);
    }),
  ],
  ['reverse_transfer', 'transfer_not_found', undefined, atOnce((c) => c.transfers.reverse('tr_x'))],
  [
    'reverse_transfer',
    'invalid_transfer_status',
    undefined,
    onNewCard(async (client, card) => {
      const hold = await held(client, card);
      return () => client.transfers.reverse(hold);
    }),
  ],
  [
    'reverse_transfer',
    'amount_too_large',
    '/amount',
    onNewCard(async (client, card) => {
      const load = await made(client, card);
      return () => client.transfers.reverse(load, { amount: 6 });
    }),
  ],
  [
    'reverse_transfer',
    'card_closed',
    undefined,
    onNewCard(async (client, card) => {
      const { unload } = await spent(client, card);
      await client.cards.update(card, { status: 'closed' });
      return () => client.transfers.reverse(unload);
    }),
  ],
  [
    'reverse_transfer',
    'limit_exceeded',
    '/amount',
    async (client) => {
      const unload = await made(client, 'card_full', 1, { type: 'unload' });
      await made(client, 'card_full', 1);
      return () => client.transfers.reverse(unload);
    },
  ],
  [
    'reverse_transfer',
    'insufficient_funds',
    '/amount',
    onNewCard(async (client, card) => {
      const { load } = await spent(client, card);
      return () => client.transfers.reverse(load);
    }),
  ],
  ['update_transfer', 'transfer_not_found', undefined, atOnce((c) => c.transfers.update('tr_x', { metadata: {} }))],
  ['list_reversals', 'transfer_not_found', undefined, atOnce((c) => c.transfers.reversals('tr_x'))],
  ['get_reversal', 'reversal_not_found', undefined, atOnce((c) => c.transfers.reversal('rev_x'))],
  ['update_card', 'card_not_found', undefined, atOnce((c) => c.cards.update('card_x', { status: 'lost' }))],
  ['update_card', 'invalid_card_status', '/status', atOnce((c) => c.cards.update('card_stolen', { status: 'active' }))],
  ['update_card', 'card_not_empty', '/status', atOnce((c) => c.cards.update('card_inactive', { status: 'closed' }))],
  [
    'update_card',
    'limit_exceeded',
    '/balance_to',
    atOnce((c) => c.cards.update('card_full', { status: 'closed', balance_to: 'funding' })),
  ],
  ['get_card_limits', 'card_not_found', undefined, atOnce((c) => c.cards.limits('card_x'))],
  ['list_postings', 'card_not_found', undefined, atOnce((c) => c.cards.postings('card_x'))],
  ['export_postings', 'card_not_found', undefined, atOnce((c) => c.cards.exportPostings('card_x'))],
];

describe('every refusal of the other operations on transfers and cards', () => {
  test('the table and the contract have the same codes for each operation', () => {
    for (const [operation, rows] of Map.groupBy(OF_OTHERS, ([id]) => id)) {
      const listed = OPERATIONS[operation].errors.filter((code) => code !== 'service_disabled');
      expect([...new Set(rows.map(([, code]) => code))].sort(), operation).toEqual([...listed].sort());
    }
  });

  test.each(OF_OTHERS)('%s: %s', async (operation, code, field, arrange) => {
    const { client } = running();
    const call = await arrange(client);
    const before = await client.trialBalance.get();
    const refused = await refusalOf(call());
    const { status: Status, type: Type } = ERRORS[code];
    expect(refused, operation).toMatchObject({ Code: code, Status, Type, moneyMoved: 'no', shouldRetry: false });
    expect(refused.field).toBe(field);
    expect(refused.headers.has('money-moved')).toBe(movesMoney(operation));
    expect((await client.trialBalance.get()).currencies).toEqual(before.currencies);
  });
});

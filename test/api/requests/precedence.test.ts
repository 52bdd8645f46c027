import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Operation } from '../../../contract/operation.ts';
import {
  type ErrorCode,
  OPERATION_IDS,
  OPERATIONS,
  type OperationId,
  precedenceOf,
} from '../../../contract/operations.ts';
import { CARD_STATUS_CODES } from '../../../domain/cards/card.ts';
import { type RawRequest, sendRaw } from '../../harness/raw-request.ts';
import { expectBalancedBooks, useOwnService } from '../../harness/service.ts';
import { held, made, newCard, spent } from '../arrange.ts';

const running = useOwnService('It spends the money of the seeded cards.');
afterAll(() => expectBalancedBooks(running()));

const USED_KEY = 'used-before';
const MORE_THAN_FUNDING = 999_999_999_999;

/** The ids of transfers and cards in the states that faults need, by name. */
const ids = new Map<string, string>();

/** A fault is a change to a correct request. Two faults whose `at` lists overlap cannot be combined. */
type Fault = {
  readonly code: ErrorCode;
  readonly at: readonly string[];
  /** The id in the path, or a name in {@link ids}. */
  readonly id?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: object;
};

/** An operation with a correct request, and one fault for each of its codes, in the contract's order. */
type Subject = {
  readonly operation: OperationId;
  readonly id?: string;
  readonly body?: object;
  readonly faults: readonly Fault[];
};

const OF_HEAD: readonly Fault[] = [
  { code: 'malformed_request', at: ['twice'], headers: { Range: ['bytes=0-1', 'bytes=0-2'] } },
  { code: 'expectation_failed', at: ['expect'], headers: { Expect: 'something' } },
  { code: 'unauthenticated', at: ['authorization'], headers: { Authorization: 'Bearer nonsense' } },
  { code: 'forbidden', at: ['origin'], headers: { Origin: 'https://example.com' } },
];
const OF_PROGRAM: Fault = { code: 'program_not_found', at: ['program'], headers: { 'Program-Id': 'prog_missing' } };
const OF_BODY: readonly Fault[] = [
  { code: 'unsupported_media_type', at: ['type'], headers: { 'Content-Type': 'text/xml' } },
  { code: 'payload_too_large', at: ['padding'], body: { padding: 'x'.repeat(700_000) } },
];
const BAD_KEY: Fault = { code: 'invalid_idempotency_key', at: ['key'], headers: { 'Idempotency-Key': 'a b' } };
const OLD_KEY: Fault = { code: 'idempotency_key_exists', at: ['key'], headers: { 'Idempotency-Key': USED_KEY } };
/** An ETag that is no longer current. */
const STALE: Fault = { code: 'precondition_failed', at: ['version'], headers: { 'If-Match': '"stale"' } };
const DISABLED: Fault = { code: 'service_disabled', at: ['switch'] };
const BAD_AMOUNT: Fault = { code: 'invalid_amount', at: ['amount'], body: { amount: 85.5 } };

const CARD_NUMBER: Fault = {
  code: 'card_number_refused',
  at: ['key'],
  headers: { 'Idempotency-Key': '4111111111111111' },
};

const byId = (code: ErrorCode, id: string, body?: object): Fault => ({ code, at: ['id'], id, ...(body && { body }) });
const byQuery = (operation: OperationId, query: string): Fault => ({
  code: `${operation}_schema`,
  at: ['query'],
  query,
});

/**
 * Returns the tests of an operation that reads a record or its parts. It checks the request before it looks for the
 * record.
 */
function reading(operation: OperationId): readonly Subject[] {
  const { query, errors }: Operation = OPERATIONS[operation];
  const missing = errors.map((code) => byId(code, 'missing'));
  const { limit, cursor, as_of: asOf } = query?.properties ?? {};
  const unread = asOf === undefined ? 'created_from=x' : 'as_of=x';
  const wrong = limit !== undefined ? 'limit=0' : query === undefined ? 'a=1&a=2' : unread;
  const faults = [...OF_HEAD, OF_PROGRAM, byQuery(operation, wrong), CARD_NUMBER, ...missing];
  if (cursor === undefined) return [{ operation, faults }];
  // Only the operation can check the cursor, so it is checked last, after the check for card numbers.
  return [
    { operation, faults },
    { operation, faults: [...OF_HEAD, OF_PROGRAM, byQuery(operation, 'cursor=x'), ...missing] },
  ];
}

const READING = OPERATION_IDS.filter((id) => {
  const { method, path, reach } = OPERATIONS[id];
  return method === 'GET' && reach === 'program' && path.includes('{');
});

const SUBJECTS: readonly Subject[] = [
  {
    operation: 'create_transfer',
    body: { amount: 1, card_id: 'card_active' },
    faults: [
      ...OF_HEAD,
      OF_PROGRAM,
      ...OF_BODY,
      BAD_KEY,
      { code: 'create_transfer_schema', at: ['capture'], body: { capture: 'never' } },
      BAD_AMOUNT,
      CARD_NUMBER,
      OLD_KEY,
      DISABLED,
      { code: 'card_not_found', at: ['card'], body: { card_id: 'card_missing' } },
      {
        code: 'connector_not_supported',
        at: ['card', 'capture'],
        body: { card_id: 'card_processor', capture: 'manual' },
      },
      { code: 'card_closed', at: ['card'], body: { card_id: 'card_closed' } },
      { code: 'currency_mismatch', at: ['currency'], body: { currency: 'EUR' } },
      { code: 'duplicate_reference', at: ['reference'], body: { reference: 'taken' } },
      { code: 'amount_too_small', at: ['card', 'amount'], body: { card_id: 'card_limited', amount: 99 } },
      { code: 'amount_too_large', at: ['card', 'amount'], body: { card_id: 'card_limited', amount: 10_001 } },
      { code: 'limit_exceeded', at: ['card'], body: { card_id: 'card_full' } },
      { code: 'insufficient_funds', at: ['amount'], body: { amount: MORE_THAN_FUNDING } },
    ],
  },
  {
    operation: 'capture_transfer',
    id: 'pending',
    faults: [
      ...OF_HEAD,
      OF_PROGRAM,
      ...OF_BODY,
      BAD_KEY,
      { code: 'capture_transfer_schema', at: ['member'], body: { Amount: 1 } },
      BAD_AMOUNT,
      CARD_NUMBER,
      OLD_KEY,
      DISABLED,
      byId('transfer_not_found', 'missing'),
      byId('invalid_transfer_status', 'canceled on a blocked card'),
      { code: 'amount_too_large', at: ['amount'], body: { amount: 6 } },
      byId('card_suspected_fraud', 'pending for a blocked, full card'),
      byId('limit_exceeded', 'pending for a full card'),
    ],
  },
  {
    operation: 'cancel_transfer',
    id: 'pending',
    faults: [
      ...OF_HEAD,
      OF_PROGRAM,
      BAD_KEY,
      byQuery('cancel_transfer', 'a=1&a=2'),
      CARD_NUMBER,
      OLD_KEY,
      byId('transfer_not_found', 'missing'),
      byId('invalid_transfer_status', 'completed'),
    ],
  },
  {
    operation: 'reverse_transfer',
    id: 'completed',
    faults: [
      ...OF_HEAD,
      OF_PROGRAM,
      ...OF_BODY,
      BAD_KEY,
      { code: 'reverse_transfer_schema', at: ['member'], body: { description: 'x'.repeat(256) } },
      BAD_AMOUNT,
      CARD_NUMBER,
      OLD_KEY,
      DISABLED,
      byId('transfer_not_found', 'missing'),
      byId('invalid_transfer_status', 'pending'),
      { code: 'amount_too_large', at: ['amount'], body: { amount: 6 } },
      byId('card_closed', 'spent, from a closed card'),
      byId('limit_exceeded', 'unloaded from a card that is full'),
      byId('insufficient_funds', 'spent'),
    ],
  },
  {
    operation: 'update_transfer',
    id: 'completed',
    body: { metadata: { a: 'b' } },
    faults: [
      ...OF_HEAD,
      OF_PROGRAM,
      ...OF_BODY,
      { code: 'update_transfer_schema', at: ['member'], body: { metadata: 'x' } },
      CARD_NUMBER,
      byId('transfer_not_found', 'missing'),
      STALE,
      byId('card_erased', 'of an erased card'),
    ],
  },
  {
    operation: 'update_card',
    id: 'card_active',
    body: { status: 'closed', balance_to: 'funding' },
    faults: [
      ...OF_HEAD,
      OF_PROGRAM,
      ...OF_BODY,
      { code: 'update_card_schema', at: ['member'], body: { last_four: '1' } },
      CARD_NUMBER,
      DISABLED,
      byId('card_not_found', 'missing'),
      byId('invalid_card_status', 'card_closed', { holder_reference: 'x' }),
      byId('card_not_empty', 'card with a hold'),
      byId('limit_exceeded', 'card_full'),
      STALE,
    ],
  },
  {
    operation: 'update_program',
    id: 'prog_019000000000700080000000000000de',
    body: { name: 'Demo program' },
    faults: [
      ...OF_HEAD,
      ...OF_BODY,
      { code: 'update_program_schema', at: ['member'], body: { limits: { maximum_balance: 1 } } },
      CARD_NUMBER,
      byId('program_not_found', 'prog_missing'),
      STALE,
    ],
  },
  ...READING.flatMap(reading),
];

beforeAll(async () => {
  const { client } = running();
  const key = { idempotencyKey: USED_KEY };
  // The seeded cards with a status other than active are in USD.
  await client.cards.create({ card_id: 'preactive_gbp', status: 'preactive', currency: 'GBP' });
  await client.cards.create({ card_id: 'empty_gbp', currency: 'GBP' });
  const limits = { in: { maximum_amount: 20 }, out: { minimum_amount: 5 } };
  await client.cards.create({ card_id: 'used_up', limits });
  await client.transfers.create({ amount: 10, card_id: 'used_up' });
  // Uses up the limit for today, and for tomorrow in case the day ends during these tests.
  await client.cards.update('used_up', { limits: { in: { daily_amount: 0 } } });
  const [card, blocked, full, closed, apart] = [
    await newCard(client),
    await newCard(client),
    await newCard(client),
    await newCard(client),
    await newCard(client),
  ];
  await client.transfers.create(
    { amount: 1, card_id: card, reference: 'taken', description: 'unlike any later request' },
    key,
  );
  await client.transfers.capture(await held(client, card), { amount: 1 }, key);
  await client.transfers.cancel(await held(client, card), key);
  await client.transfers.reverse(await made(client, card), { amount: 1 }, key);
  ids.set('pending', await held(client, card));
  ids.set('completed', await made(client, card));
  ids.set('canceled on a blocked card', await held(client, blocked));
  await client.transfers.cancel(ids.get('canceled on a blocked card') ?? '');
  ids.set('pending for a blocked, full card', await held(client, blocked));
  await client.cards.update(blocked, { status: 'fraud', limits: { maximum_balance: 4 } });
  ids.set('pending for a full card', await held(client, full));
  await client.cards.update(full, { limits: { maximum_balance: 4 } });
  ids.set('card with a hold', full);
  await made(client, closed);
  const moved = await made(client, closed, 5, { type: 'card_to_card', destination_card_id: apart });
  await client.transfers.create({ amount: 5, card_id: apart, type: 'unload' });
  await client.cards.update(closed, { status: 'closed' });
  ids.set('spent', (await spent(client, await newCard(client))).load);
  // This transfer cannot be reversed, because the card that received its money has spent it.
  ids.set('spent, from a closed card', moved);
  const erased = await newCard(client);
  ids.set('of an erased card', (await spent(client, erased)).load);
  await client.cards.update(erased, { status: 'closed' });
  await client.cards.erase(erased);
  ids.set('unloaded from a card that is full', await made(client, 'card_full', 1, { type: 'unload' }));
  await made(client, 'card_full', 1);
});

/** Returns a request with these faults. If two faults change the same part, the first one wins. */
function faulty({ operation, id, body }: Subject, faults: readonly Fault[]): RawRequest {
  const { method, path, body: taken } = OPERATIONS[operation];
  const inTurn = faults.toReversed();
  const named = inTurn.findLast((fault) => fault.id !== undefined)?.id ?? id ?? 'missing';
  const query = inTurn.findLast((fault) => fault.query !== undefined)?.query;
  const fields = Object.assign({}, body, ...inTurn.map((fault) => fault.body));
  return {
    method,
    path: `${path.replace(/\{.*\}/, ids.get(named) ?? named)}${query === undefined ? '' : `?${query}`}`,
    headers: Object.assign({}, ...inTurn.map(({ headers }) => headers)),
    ...(taken === undefined ? {} : { body: fields }),
  };
}

async function codeOf(subject: Subject, faults: readonly Fault[]): Promise<unknown> {
  const send = async () => (await sendRaw(running().url, faulty(subject, faults))).fields.Code;
  if (!faults.includes(DISABLED)) return send();
  await running().client.switch.change({ disabled: true, reason: 'a test' });
  try {
    return await send();
  } finally {
    await running().client.switch.change({ disabled: false });
  }
}

const canMeet = (one: Fault, other: Fault) => !one.at.some((part) => other.at.includes(part));

test('the faults cover every code of the contract, except those listed here and some statuses of cards', () => {
  const faultsOf = new Map(SUBJECTS.map(({ operation, faults }) => [operation, faults.map(({ code }) => code)]));
  const covered = ['card_closed', 'card_suspected_fraud'];
  const others: readonly string[] = CARD_STATUS_CODES.filter((code) => !covered.includes(code));
  const left = [...faultsOf].flatMap(([operation, codes]) =>
    OPERATIONS[operation].errors.filter((code) => !codes.includes(code) && !others.includes(code)),
  );
  // In this file, create_transfer uses a closed card, not a blocked one. test/store/processors.test.ts tests refusals
  // by processors. test/api/operator-limits.test.ts tests an operator's limit, which needs a setting.
  expect(left).toEqual([
    'processor_unavailable',
    'card_suspected_fraud',
    'connector_not_supported',
    'operator_limit_exceeded',
  ]);
});

describe.each(SUBJECTS.map((subject) => [subject.operation, subject] as const))('%s', (operation, subject) => {
  const { faults } = subject;

  test('has its faults in the order of the contract', () => {
    const order = precedenceOf(operation);
    const places = faults.map(({ code }) => order.indexOf(code));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
  });

  test.each(faults.map((fault) => [fault.code, fault] as const))(
    'reports %s alone, and together with each later fault',
    async (code, first) => {
      expect(await codeOf(subject, [first])).toBe(code);
      let left = faults.slice(faults.indexOf(first) + 1).filter((fault) => canMeet(first, fault));
      // Combines as many faults as possible in one request. Conflicting faults go into separate requests.
      while (left.length > 0) {
        const together: Fault[] = [first];
        for (const fault of left) if (together.every((other) => canMeet(other, fault))) together.push(fault);
        expect(await codeOf(subject, together), `with ${together.map((each) => each.code)}`).toBe(code);
        left = left.filter((fault) => !together.includes(fault));
      }
    },
  );
});

/** Refusals of card-to-card transfers, where either card can break the same rule. */
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

test.each(TWO_CARDS)('reports %s at %s between two cards: %j', async (code, field, body) => {
  const { fields, headers } = await sendRaw(running().url, { body: { amount: 1, type: 'card_to_card', ...body } });
  expect([fields.Code, headers['error-field']]).toEqual([code, field]);
});

test('reports all missing fields in one error, before any other error', async () => {
  const { fields } = await sendRaw(running().url, { body: { amount: '', card_id: null, type: 'gift', Capture: 'x' } });
  expect(fields.Message).toBe("The required fields 'amount' and 'card_id' are missing.");
  const variant = await sendRaw(running().url, {
    body: { amount: 85.5, card_id: 'card_missing', type: 'gift', Capture: 'x' },
  });
  expect(variant.fields.Message).toContain("'Capture'");
  expect(variant.fields.Code).toBe('create_transfer_schema');
});

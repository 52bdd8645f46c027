import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OPERATIONS, precedenceOf } from '../../contract/operations.ts';
import { CATALOGUE, type ErrorCode } from '../../domain/errors.ts';
import { type RawAnswer, type RawRequest, sendRaw } from './raw-request.ts';
import { expectBalancedBooks, refusalOf, useService } from './running-service.ts';

const running = useService();
const send = (raw: RawRequest): Promise<RawAnswer> => sendRaw(running().url, raw);
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
});

/** The natural cause of each refusal that create_transfer's own rules can answer with. */
const CAUSES: readonly (readonly [code: ErrorCode, body: object, field: string | undefined])[] = [
  ['invalid_amount', { amount: 85.5, card_id: 'card_active' }, '/amount'],
  ['idempotency_key_exists', { amount: 2, card_id: 'card_active' }, undefined],
  ['card_dne', { amount: 1, card_id: 'card_missing' }, '/card_id'],
  ['preactive_card', { amount: 1, card_id: 'card_preactive' }, '/card_id'],
  ['inactive_card', { amount: 1, card_id: 'card_inactive' }, '/card_id'],
  ['inactive_card', { amount: 1, card_id: 'card_inactive', type: 'unload' }, '/card_id'],
  ['lost_card', { amount: 1, card_id: 'card_lost' }, '/card_id'],
  ['lost_card', { amount: 1, card_id: 'card_stolen' }, '/card_id'],
  ['card_fraud', { amount: 1, card_id: 'card_fraud' }, '/card_id'],
  ['card_fraud', { amount: 1, card_id: 'card_fraud', type: 'unload' }, '/card_id'],
  ['expired_card', { amount: 1, card_id: 'card_expired' }, '/card_id'],
  ['closed_card', { amount: 1, card_id: 'card_closed' }, '/card_id'],
  ['currency_mismatch', { amount: 1, card_id: 'card_active', currency: 'EUR' }, '/currency'],
  [
    'currency_mismatch',
    { amount: 1, card_id: 'card_active', type: 'card_to_card', destination_card_id: 'card_eur' },
    '/destination_card_id',
  ],
  ['duplicate_reference', { amount: 1, card_id: 'card_active', reference: 'taken' }, '/reference'],
  ['limit_exceeded', { amount: 1, card_id: 'card_full' }, '/amount'],
  ['insufficient_funds', { amount: 1, card_id: 'card_empty', type: 'unload' }, '/amount'],
  ['insufficient_funds', { amount: MORE_THAN_FUNDING, card_id: 'card_active' }, '/amount'],
];

describe('every refusal by its natural cause', () => {
  test('the table below and the contract name the same codes', () => {
    const named = new Set<ErrorCode>(['service_disabled', ...CAUSES.map(([code]) => code)]);
    expect([...named].sort()).toEqual([...OPERATIONS.create_transfer.rules].sort());
  });

  test.each(CAUSES)('%s: %j', async (code, body, field) => {
    const before = await running().client.trialBalance.get();
    const headers = code === 'idempotency_key_exists' ? { 'Idempotency-Key': USED_KEY } : {};
    const { status, members, headers: answered } = await send({ headers, body });
    const { status: Status, type: Type } = CATALOGUE[code];
    expect(Object.keys(members)).toEqual(['Message', 'Status', 'Code', 'Type']);
    expect([status, members]).toEqual([Status, { Message: members.Message, Status, Code: code, Type }]);
    expect([answered['money-moved'], answered['error-field']]).toEqual(['no', field]);
    expect((await running().client.trialBalance.get()).currencies).toEqual(before.currencies);
  });

  test('service_disabled', async () => {
    await disable();
    try {
      const { status, members, headers } = await send({ body: { amount: 1, card_id: 'card_active' } });
      expect([status, members.Code, members.Type]).toEqual([424, 'service_disabled', 'Process Error']);
      expect(members.Message).toContain('contact support');
      expect(headers['money-moved']).toBe('no');
    } finally {
      await enable();
    }
  });

  test('unknown_create_transfer: the database is really gone, and then it is back', async () => {
    const { client } = running();
    const body = { amount: 1, card_id: 'card_active' };
    await client.sandbox.stopDatabase();
    try {
      const refused = await refusalOf(client.transfers.create(body));
      expect(refused).toMatchObject({ Code: 'unknown_create_transfer', moneyMoved: 'no', shouldRetry: true });
      expect(refused.Message).toContain(refused.requestId);
      expect(await refusalOf(client.cards.list())).toMatchObject({ Code: 'unknown_list_cards', Status: 500 });
    } finally {
      await client.sandbox.startDatabase();
    }
    expect((await client.transfers.create(body)).status).toBe('completed');
  });
});

/** A fault as a change to a request that has none; `at` says which part of the request it needs for itself. */
type Fault = {
  readonly code: ErrorCode;
  readonly at: readonly string[];
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: object;
};

/** One fault a code, in the order in which they must be answered. */
const FAULTS: readonly Fault[] = [
  { code: 'malformed_request', at: ['twice'], headers: { Range: ['bytes=0-1', 'bytes=0-2'] } },
  { code: 'expectation_failed', at: ['expect'], headers: { Expect: 'something' } },
  { code: 'auth_err', at: ['authorization'], headers: { Authorization: 'Bearer nonsense' } },
  { code: 'forbidden', at: ['origin'], headers: { Origin: 'https://example.com' } },
  { code: 'program_dne', at: ['program'], headers: { 'Program-Id': 'prog_missing' } },
  { code: 'unsupported_media_type', at: ['type'], headers: { 'Content-Type': 'text/xml' } },
  { code: 'payload_too_large', at: ['padding'], body: { padding: 'x'.repeat(17_000) } },
  { code: 'invalid_idempotency_key', at: ['key'], headers: { 'Idempotency-Key': 'a b' } },
  { code: 'create_transfer_schema', at: ['capture'], body: { capture: 'never' } },
  { code: 'invalid_amount', at: ['amount'], body: { amount: 85.5 } },
  { code: 'idempotency_key_exists', at: ['key'], headers: { 'Idempotency-Key': USED_KEY } },
  { code: 'service_disabled', at: ['switch'] },
  { code: 'card_dne', at: ['card'], body: { card_id: 'card_missing' } },
  { code: 'closed_card', at: ['card'], body: { card_id: 'card_closed' } },
  { code: 'currency_mismatch', at: ['currency'], body: { currency: 'EUR' } },
  { code: 'duplicate_reference', at: ['reference'], body: { reference: 'taken' } },
  { code: 'limit_exceeded', at: ['card'], body: { card_id: 'card_full' } },
  { code: 'insufficient_funds', at: ['amount'], body: { amount: MORE_THAN_FUNDING } },
];

/** A request with these faults; where two need the same part, the first of them has it. */
function faulty(faults: readonly Fault[]): RawRequest {
  const inTurn = faults.toReversed();
  return {
    headers: Object.assign({}, ...inTurn.map(({ headers }) => headers)),
    body: Object.assign({ amount: 1, card_id: 'card_active' }, ...inTurn.map(({ body }) => body)),
  };
}

async function answerTo(faults: readonly Fault[]): Promise<unknown> {
  if (!faults.some(({ code }) => code === 'service_disabled')) return (await send(faulty(faults))).members.Code;
  await disable();
  try {
    return (await send(faulty(faults))).members.Code;
  } finally {
    await enable();
  }
}

const canMeet = (one: Fault, other: Fault) => !one.at.some((part) => other.at.includes(part));

/** Every two faults that can meet in one request, the one that must be answered first. */
const PAIRS = FAULTS.flatMap((first, index) =>
  FAULTS.slice(index + 1)
    .filter((second) => canMeet(first, second))
    .map((second) => [first, second] as const),
);

describe('of several faults the earlier in the contract is answered', () => {
  test('the faults stand in the order of the contract', () => {
    const order = precedenceOf('create_transfer');
    const places = FAULTS.map(({ code }) => order.indexOf(code));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(PAIRS.length).toBeGreaterThan(130);
  });

  test.each(FAULTS.map((fault) => [fault.code, fault] as const))('%s alone', async (code, fault) => {
    expect(await answerTo([fault])).toBe(code);
  });

  test.each(FAULTS.map((fault) => [fault.code, fault] as const))('%s, with each later one', async (code, first) => {
    for (const [, second] of PAIRS.filter(([one]) => one === first)) {
      expect(await answerTo([first, second]), `with ${second.code}`).toBe(code);
    }
  });

  test.each(FAULTS.map(({ code }, index) => [code, index] as const))(
    '%s, with all later ones at once',
    async (code, at) => {
      const together: Fault[] = [];
      for (const fault of FAULTS.slice(at)) if (together.every((other) => canMeet(other, fault))) together.push(fault);
      expect(await answerTo(together)).toBe(code);
    },
  );
});

/** Rules that look at the same member in one-card transfers meet where two cards take part. */
const TWO_CARDS: readonly (readonly [code: ErrorCode, field: string, body: object])[] = [
  ['card_dne', '/card_id', { card_id: 'card_missing', destination_card_id: 'card_gone' }],
  ['card_dne', '/destination_card_id', { card_id: 'card_closed', destination_card_id: 'card_missing' }],
  ['inactive_card', '/card_id', { card_id: 'card_inactive', destination_card_id: 'card_closed' }],
  ['closed_card', '/destination_card_id', { card_id: 'card_lost', destination_card_id: 'card_closed' }],
  [
    'closed_card',
    '/destination_card_id',
    { card_id: 'card_active', destination_card_id: 'card_closed', currency: 'EUR' },
  ],
  ['preactive_card', '/card_id', { card_id: 'preactive_gbp', destination_card_id: 'card_full' }],
  ['currency_mismatch', '/currency', { card_id: 'card_active', destination_card_id: 'card_eur', currency: 'EUR' }],
  [
    'currency_mismatch',
    '/destination_card_id',
    { card_id: 'card_eur', destination_card_id: 'card_full', reference: 'taken' },
  ],
  ['duplicate_reference', '/reference', { card_id: 'empty_gbp', destination_card_id: 'card_full', reference: 'taken' }],
  ['limit_exceeded', '/amount', { card_id: 'empty_gbp', destination_card_id: 'card_full' }],
];

test.each(TWO_CARDS)('from card to card: %s at %s of %j', async (code, field, body) => {
  const { members, headers } = await send({ body: { amount: 1, type: 'card_to_card', ...body } });
  expect([members.Code, headers['error-field']]).toEqual([code, field]);
});

test('all missing fields are named together, before anything that is wrong with the others', async () => {
  const { members } = await send({ body: { amount: '', card_id: null, type: 'gift', Capture: 'x' } });
  expect(members.Message).toBe("The required fields 'amount' and 'card_id' are missing.");
  const variant = await send({ body: { amount: 85.5, card_id: 'card_missing', type: 'gift', Capture: 'x' } });
  expect(variant.members.Message).toContain("'Capture'");
  expect(variant.members.Code).toBe('create_transfer_schema');
});

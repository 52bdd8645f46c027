import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { errorRecord } from '../../contract/errors/catalogue.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import { useConnection, useLedger, useServer } from '../../test/harness/use-ledger.ts';
import { type Commits, readCommits, recordCommits, type Transaction } from './commits.ts';
import type { AdministrativeChange, Operation, Response } from './history.ts';
import { checkSerialOrder } from './serial-order.ts';

// Tests that the checker accepts a correct history, and finds the mistake in each incorrect version of it.

const server = await useServer();
const ledger = useLedger(server.connection);
const client = await useConnection(server.connection);
await recordCommits(client);

const operations: Operation[] = [];
const changes: AdministrativeChange[] = [];
let programId = '';

async function change(what: string, ...call: Parameters<typeof ledger.call>): Promise<string> {
  const sentAt = performance.now();
  const { status, body: text } = await ledger.call(...call);
  changes.push({ what, sentAt, gotAt: performance.now(), status, text });
  return text;
}

async function transfer(type: 'load' | 'unload', amount: number, more: object = {}): Promise<void> {
  const key = `key-${operations.length}`;
  const terms = { type, amount, card: 'a', destination: null, capture: 'automatic', reference: null } as const;
  const asked = { does: 'create', ...terms, ...more, expiresAt: null } as const;
  const sentAt = performance.now();
  const inner = { programId: fromWireId('prog', programId) ?? '', idempotencyKey: key };
  const body = { amount, card_id: 'a', type, description: key, ...more };
  const { status, text } = await ledger.call('create_transfer', body, inner).then(
    (reply) => ({ status: reply.status, text: reply.body }),
    (error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
      const record = errorRecord(error.code, error.message);
      return { status: record.Status, text: JSON.stringify(record) };
    },
  );
  const headers = { moneyMoved: 'no', shouldRetry: 'false', transferId: undefined, replayed: false };
  const response: Response = { requestId: key, status, text, ...headers, at: performance.now() };
  operations.push({ key, programId, asked, sentAt, responses: [response], unanswered: 0 });
}

const program = JSON.parse(await change('program', 'create_program', { name: 'A', currency: 'USD' }));
programId = program.program_id;
const params = { program_id: programId };
await change('deposit', 'create_deposit', { amount: 1_000 }, { params, idempotencyKey: randomUUID() });
const of = { programId: fromWireId('prog', programId) ?? '' };
await change('threshold', 'update_program', { funding_low_threshold: 905 }, { params });
await change('card', 'create_card', { card_id: 'a' }, of);
await transfer('load', 100);
await change('suspend', 'update_card', { status: 'inactive' }, { ...of, params: { card_id: 'a' } });
await transfer('load', 10);
await change('activate', 'update_card', { status: 'active' }, { ...of, params: { card_id: 'a' } });
await transfer('unload', 90);
await transfer('unload', 90);
await change('disable', 'change_switch', { disabled: true, reason: 'test' });
await transfer('load', 5);
await change('enable', 'change_switch', { disabled: false, reason: 'test' });
await change('limit', 'update_card', { limits: { in: { daily_amount: 130 } } }, { ...of, params: { card_id: 'a' } });
await transfer('load', 20);
await transfer('load', 20);
await change('limit of all', 'update_program', { limits: { in: { maximum_amount: 15 } } }, { params });
const both = { in: { daily_amount: 130, maximum_amount: 10 } };
await change('second limit', 'update_card', { limits: both }, { ...of, params: { card_id: 'a' } });
// Exceeds both limits. The message names only the one of the card.
await transfer('load', 16);

const commits = await readCommits(client, new Date(0));

/** Returns the history with its transactions in a different order. The list of positions stays the same. */
function reordered(order: (transactions: Transaction[]) => readonly Transaction[]): Commits {
  const positions = commits.transactions.map(({ position }) => position);
  const moved = order([...commits.transactions]);
  const placeOf = new Map(moved.map(({ position }, index) => [position, positions[index] ?? 0]));
  return {
    ...commits,
    transactions: moved.map((one) => ({ ...one, position: placeOf.get(one.position) ?? 0 })),
    keys: new Map(
      [...commits.keys].map(([name, stored]) => [name, { ...stored, position: placeOf.get(stored.position) ?? 0 }]),
    ),
  };
}

type Condition = (one: Transaction) => boolean;

const isAbout = (text: string): Condition => {
  return ({ events }) => events.some(({ payload }) => payload.includes(text));
};
const isOf = (request: number): Condition => isAbout(`"description":"key-${request}"`);
const [SUSPENDED, DISABLED] = [isAbout('"status":"inactive"'), isAbout('"reason":"test"')];
const REFUSED: Condition = ({ position }) => position === commits.keys.get('create_transfer key-1')?.position;

/** Returns the history with the transaction `late` moved before `early`. */
const before = (late: Condition, early: Condition): Commits =>
  reordered((all) => {
    const moved = all.splice(all.findIndex(late), 1);
    all.splice(all.findIndex(early), 0, ...moved);
    return all;
  });

const edited = (edit: (one: Transaction) => Transaction): Commits => ({
  ...commits,
  transactions: commits.transactions.map(edit),
});

const withWrongBalances = (one: Transaction): Transaction => {
  return { ...one, accounts: one.accounts.map((account) => ({ ...account, balance: account.balance + 1n })) };
};
const withoutLowFunds = (one: Transaction): Transaction => {
  return { ...one, events: one.events.filter(({ type }) => type !== 'funding.low') };
};

/** Returns the history, with some text in the events replaced. */
const rewritten = (from: string, to: string): Commits =>
  edited((one) => ({
    ...one,
    events: one.events.map((event) => ({ ...event, payload: event.payload.replace(from, to) })),
  }));

test('accepts a correct history', () => {
  const { problems, figures } = checkSerialOrder(commits, operations, changes);
  expect(problems).toEqual([]);
  expect(figures).toMatchObject({
    create: 3,
    refused_card_suspended: 1,
    refused_insufficient_funds: 1,
    refused_service_disabled: 1,
    refused_limit_exceeded: 1,
    refused_amount_too_large: 1,
    refusals_replayed: 3,
    funding_low: 1,
  });
});

test.for<readonly [string, Commits, RegExp]>([
  ['a load to a suspended card', before(SUSPENDED, isOf(0)), /at that point it is refused: card_suspended/],
  ['a transfer in a disabled service', before(DISABLED, isOf(2)), /at that point it is refused: service_disabled/],
  ['a load above a lowered limit', before(isAbout('"daily_amount":130'), isOf(0)), /instead of/],
  ['a transfer before a change that its caller knew', before(isOf(2), SUSPENDED), /was sent after the response to/],
  ['a refusal that was no longer correct', before(REFUSED, isOf(2)), /key-1 got a refusal that was not correct/],
  ['a lost transfer', edited((one) => (isOf(2)(one) ? { ...one, events: [] } : one)), /lost: it was done at undefined/],
  ['a transfer without a request', rewritten('key-2', 'key-x'), /it was done at undefined/],
  ['an account with a wrong balance', edited(withWrongBalances), /has balance .* instead of balance/],
  ['a missing funding.low', edited(withoutLowFunds), /there is no event funding.low/],
  [
    'a funding.low with a wrong amount',
    rewritten('"available":900', '"available":901'),
    /funding.low is .* instead of/,
  ],
  ['a record with a wrong captured amount', rewritten('"captured_amount":90', '"captured_amount":89'), /instead of/],
  ['a response without a stored key', { ...commits, keys: new Map() }, /is not stored/],
])('finds %s', ([, lie, problem]) => {
  expect(checkSerialOrder(lie, operations, changes).problems).toContainEqual(expect.stringMatching(problem));
});

/** Returns the operations, with a different time of sending or other responses for one of them. */
const replaced = (key: string, changed: (response: Response) => Response, sentAt?: number): readonly Operation[] =>
  operations.map((one) =>
    one.key === key ? { ...one, sentAt: sentAt ?? one.sentAt, responses: one.responses.map(changed) } : one,
  );

const atOf = (key: string): number => operations.find((one) => one.key === key)?.responses[0]?.at ?? 0;

test('accepts a refusal before a change that took its number early and was committed late', () => {
  const answeredAt = changes.find(({ what }) => what === 'limit')?.gotAt ?? 0;
  const nextAt = operations.find(({ key }) => key === 'key-5')?.sentAt ?? 0;
  const at = (answeredAt + nextAt) / 2;
  // key-4 was refused because the service was disabled. `limit` comes after `enable`, and was answered before key-4 was sent.
  const late = replaced('key-4', (one) => ({ ...one, at }), at);
  const enabledLate = changes.map((one) => (one.what === 'enable' ? { ...one, gotAt: nextAt } : one));
  expect(checkSerialOrder(commits, late, enabledLate).problems).toEqual([]);
  expect(checkSerialOrder(commits, late, changes).problems).toEqual([expect.stringContaining(`key-4 ${WRONG}`)]);
});

/** Returns the operations, with some text in the responses to one of them replaced. */
const reworded = (key: string, from: string, to: string): readonly Operation[] =>
  replaced(key, (one) => ({ ...one, text: one.text.replace(from, to) }));

const SERVICE = 'The service is disabled';
const WRONG = 'got a refusal that was not correct';

test.for<readonly [string, readonly Operation[], string]>([
  [
    'a transfer that was sent after the response to a change but executed before the change',
    replaced('key-0', (one) => one, performance.now()),
    'key-0 was sent after the response to',
  ],
  [
    'an unstored refusal that was never correct between the request and its response',
    replaced('key-4', (one) => ({ ...one, at: atOf('key-5') }), atOf('key-5')),
    `key-4 ${WRONG}`,
  ],
  ['a refusal with an outdated balance', reworded('key-3', '0.10 USD avail', '0.20 USD avail'), `key-3 ${WRONG}`],
  ['a refusal with outdated figures of a limit', reworded('key-6', '1.20 USD used', '1.00 USD used'), `key-6 ${WRONG}`],
  [
    'a refusal with a different scope',
    reworded('key-4', SERVICE, `${SERVICE} for this card program`),
    `key-4 ${WRONG}`,
  ],
])('finds %s', ([, lie, problem]) => {
  expect(checkSerialOrder(commits, lie, changes).problems).toContainEqual(expect.stringContaining(problem));
});

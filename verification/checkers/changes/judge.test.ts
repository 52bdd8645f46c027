import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { isStored } from '../../../contract/errors/catalogue.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { useConnection, useLedger, useServer } from '../../../test/harness/use-ledger.ts';
import type { Asked, Change, Heard, Record, Sent } from '../../generators/changes/requests.ts';
import { type History, readHistory, recordHistory, type Transaction } from './history.ts';
import { judgeHistory } from './judge.ts';

// Tests the judge of the row `changes` with a correct history and with versions of it that have one mistake each.

const server = await useServer();
const ledger = useLedger(server.connection);
const client = await useConnection(server.connection);
await recordHistory(client);

const record: Record = { sent: [], changes: [], unanswered: 0 };
let programId = '';

async function change(what: string, ...call: Parameters<typeof ledger.call>): Promise<string> {
  const sentAt = performance.now();
  const { status, body: text } = await ledger.call(...call);
  const made: Change = { what, sentAt, gotAt: performance.now(), status, text };
  record.changes.push(made);
  return text;
}

async function transfer(type: 'load' | 'unload', amount: number): Promise<void> {
  const key = `key-${record.sent.length}`;
  const asked: Asked = {
    does: 'create',
    type,
    amount,
    card: 'a',
    destination: null,
    isHeld: false,
    endsIn: null,
    reference: null,
  };
  const sent: Sent = { key, programId, asked, sentAt: performance.now(), heard: [] };
  record.sent.push(sent);
  const inner = { programId: fromWireId('prog', programId) ?? '', idempotencyKey: key };
  const heard = await ledger.call('create_transfer', { amount, card_id: 'a', type, description: key }, inner).then(
    ({ status, body: text }): Omit<Heard, 'at'> => ({ status, text, code: null, message: null, moneyMoved: 'yes' }),
    (error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
      const { code, message } = error;
      return { status: isStored(code) ? 409 : 424, text: code, code, message, moneyMoved: 'no' };
    },
  );
  sent.heard.push({ ...heard, at: performance.now() });
}

const program = JSON.parse(await change('program', 'create_program', { name: 'A', currency: 'USD' }));
programId = program.program_id;
const params = { program_id: programId };
await change('deposit', 'create_deposit', { amount: 1_000 }, { params, idempotencyKey: randomUUID() });
const of = { programId: fromWireId('prog', programId) ?? '' };
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

const history = await readHistory(client, new Date(0));

/** The history with its transactions in another order. The list of positions stays the same. */
function reordered(order: (transactions: Transaction[]) => readonly Transaction[]): History {
  const positions = history.transactions.map(({ position }) => position);
  const moved = order([...history.transactions]);
  const placeOf = new Map(moved.map(({ position }, index) => [position, positions[index] ?? 0]));
  return {
    ...history,
    transactions: moved.map((one) => ({ ...one, position: placeOf.get(one.position) ?? 0 })),
    keys: new Map(
      [...history.keys].map(([name, stored]) => [name, { ...stored, position: placeOf.get(stored.position) ?? 0 }]),
    ),
  };
}

const isAbout = (text: string) => (one: Transaction) => one.events.some(({ payload }) => payload.includes(text));

/** The history with the transaction `late` moved in front of `early`. */
const before = (late: string, early: string): History =>
  reordered((all) => {
    const moved = all.splice(all.findIndex(isAbout(late)), 1);
    all.splice(all.findIndex(isAbout(early)), 0, ...moved);
    return all;
  });

const edited = (edit: (one: Transaction) => Transaction): History => ({
  ...history,
  transactions: history.transactions.map(edit),
});

test('accepts a correct history', () => {
  const { problems, figures } = judgeHistory(history, record);
  expect(problems).toEqual([]);
  expect(figures).toMatchObject({
    create: 3,
    refused_card_suspended: 1,
    refused_insufficient_funds: 1,
    refused_service_disabled: 1,
    refused_limit_exceeded: 1,
    refusals_replayed: 3,
  });
});

test.for<readonly [string, History, RegExp]>([
  [
    'a load to a suspended card',
    before('"status":"inactive"', '"description":"key-0"'),
    /at that point it is refused: card_suspended/,
  ],
  [
    'a transfer while the service was disabled',
    before('"reason":"test"', '"description":"key-2"'),
    /at that point it is refused: service_disabled/,
  ],
  ['a load above a lowered limit', before('"daily_amount":130', '"description":"key-0"'), /instead of/],
  [
    'a transfer before a change that its caller already knew',
    before('"description":"key-2"', '"status":"inactive"'),
    /was sent after the response to/,
  ],
  [
    'a refusal that was no longer correct',
    reordered((all) => {
      const at = all.findIndex(({ position }) => position === history.keys.get('create_transfer key-1')?.position);
      const moved = all.splice(at, 1);
      all.splice(all.findIndex(isAbout('"description":"key-2"')), 0, ...moved);
      return all;
    }),
    /key-1 got a refusal that was not correct/,
  ],
  [
    'a lost transfer',
    edited((one) => (isAbout('"description":"key-2"')(one) ? { ...one, events: [] } : one)),
    /lost: no event for/,
  ],
  [
    'a transfer without a request',
    edited((one) => ({
      ...one,
      events: one.events.map((event) => ({ ...event, payload: event.payload.replace('key-2', 'key-x') })),
    })),
    /no response contains/,
  ],
  [
    'an account with a wrong balance',
    edited((one) => ({
      ...one,
      accounts: one.accounts.map((account) => ({ ...account, balance: account.balance + 1n })),
    })),
    /has balance .* instead of balance/,
  ],
  ['a response without a stored key', { ...history, keys: new Map() }, /is not stored/],
])('finds %s', ([, lie, problem]) => {
  expect(judgeHistory(lie, record).problems).toContainEqual(expect.stringMatching(problem));
});

test('finds a transfer that was sent after the response to a change but done before it', () => {
  const sent = record.sent.map((each) => (each.key === 'key-0' ? { ...each, sentAt: performance.now() } : each));
  expect(judgeHistory(history, { ...record, sent }).problems).toContainEqual(
    expect.stringMatching(/^key-0 was sent after the response to/),
  );
});

test('finds an unstored refusal that was never correct between the request and its response', () => {
  const at = record.sent.findLast(({ key }) => key === 'key-5')?.heard[0]?.at ?? 0;
  const late = record.sent.map((each) =>
    each.key === 'key-4' ? { ...each, sentAt: at, heard: each.heard.map((heard) => ({ ...heard, at })) } : each,
  );
  expect(judgeHistory(history, { ...record, sent: late }).problems).toContainEqual(
    expect.stringMatching(/key-4 got a refusal that was not correct/),
  );
});

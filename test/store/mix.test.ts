import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { OperationId } from '../../contract/operations.ts';
import { Refusal } from '../../domain/refusal.ts';
import { connect, type Ledger, openLedger, trialBalance, UNLIMITED } from '../harness/ledger.ts';
import { useServer } from '../harness/use-ledger.ts';

/** The number of clients of both processes together, and the number of calls by each client. */
const CLIENTS = 64;
const CALLS = 40;

const server = await useServer();
let ledgers: readonly [Ledger, Ledger];

beforeAll(async () => {
  // The ledgers have no time limits, because on a slow machine a limit would end correct statements.
  const open = (): Ledger => openLedger(server.connection, undefined, undefined, UNLIMITED);
  ledgers = [open(), open()];
});

afterAll(async () => {
  await Promise.all(ledgers.map((ledger) => ledger.close()));
});

/**
 * Returns a generator of numbers below `limit` from a seed (mulberry32). The same seed always gives the same numbers.
 */
function random(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}

const CARDS = Array.from({ length: 8 }, (_, index) => `mix_${index}`);
const PARAMETERS = { program_id: 'prog_019000000000700080000000000000de' };

/** Returns a random call that takes locks. There are few cards, keys and references, so that calls collide. */
function someCall(pick: (limit: number) => number): readonly [OperationId, object, object] {
  const card_id = CARDS[pick(CARDS.length)];
  const amount = 1 + pick(50);
  const key = pick(3) === 0 ? { idempotencyKey: `mix ${pick(40)}` } : {};
  const kinds = [
    ['create_transfer', { card_id, amount }, key],
    ['create_transfer', { card_id, amount, type: 'unload' }, key],
    ['create_transfer', { card_id, amount, type: 'card_to_card', destination_card_id: CARDS[pick(CARDS.length)] }, key],
    ['create_transfer', { card_id, amount, reference: `mix ${pick(400)}` }, key],
    ['explain_transfer', { card_id, amount, reference: `mix ${pick(400)}` }, key],
    ['create_deposit', { amount }, { params: PARAMETERS, idempotencyKey: `mix ${pick(200)}` }],
    ['create_withdrawal', { amount }, { params: PARAMETERS, idempotencyKey: randomUUID() }],
    ['create_card', { card_id: `made ${pick(500)}` }, {}],
    [
      'change_switch',
      { disabled: pick(2) === 0, reason: 'mix', program_id: PARAMETERS.program_id, type: 'unload' },
      {},
    ],
  ] as const;
  return kinds[pick(kinds.length)] ?? kinds[0];
}

test('any mix of operations from 64 clients on two processes ends without a deadlock or a fault', async () => {
  for (const card_id of CARDS) await ledgers[0].call('create_card', { card_id });
  const faults: unknown[] = [];
  let answered = 0;
  const client = async (number: number): Promise<void> => {
    const pick = random(number);
    const ledger = ledgers[number % 2 === 0 ? 0 : 1];
    for (let call = 0; call < CALLS; call += 1) {
      const [operation, members, more] = someCall(pick);
      await ledger
        .call(operation, members, { deadline: performance.now() + 240_000, ...more })
        .catch((error: unknown) => {
          if (!(error instanceof Refusal)) faults.push(error);
        });
      answered += 1;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
  expect(faults).toEqual([]);
  expect(answered).toBe(CLIENTS * CALLS);
  const observer = await connect(server.connection);
  const { rows } = await observer.query('select deadlocks from pg_stat_database where datname = current_database()');
  await observer.end();
  expect(Number(rows[0].deadlocks)).toBe(0);
  expect(await trialBalance(ledgers[0])).toMatchObject({ balanced: true, postings_compared: true });
});

import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Refusal } from '../../domain/refusal.ts';
import { type Ledger, openLedger, trialBalance } from '../harness/ledger.ts';
import { useServer } from '../harness/use-ledger.ts';

/**
 * The sizes of groups and the number of rounds for each. In tests, this many rounds were enough to make every wrong
 * order of locks and reads fail.
 */
const GROUPS = [
  { batch: 256, rounds: 100 },
  { batch: 1, rounds: 25 },
  { batch: 2, rounds: 25 },
  { batch: 7, rounds: 25 },
] as const;

const server = await useServer();
/** Two processes from PostgreSQL's point of view, with separate connections and lanes. */
let ledgers: readonly [Ledger, Ledger];

afterEach(async () => {
  expect(await trialBalance(ledgers[0])).toMatchObject({ balanced: true });
});

/** Returns the outcome of a call: its body, or the code of its refusal. */
async function outcome(call: Promise<{ body: string }>): Promise<string> {
  try {
    return (await call).body;
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

async function newCard(amount: number): Promise<string> {
  const name = `race_${randomUUID()}`;
  await ledgers[0].call('create_card', { card_id: name });
  if (amount > 0) await ledgers[0].call('create_transfer', { amount, card_id: name });
  return name;
}

describe.each(GROUPS)('in groups of up to $batch,', ({ batch, rounds }) => {
  beforeAll(() => {
    const bounds = { batch, waiting: 4096 };
    ledgers = [openLedger(server.connection, bounds), openLedger(server.connection, bounds)];
  });

  afterAll(async () => {
    await Promise.all(ledgers.map((ledger) => ledger.close()));
  });

  describe.each([
    ['in one process', () => [ledgers[0], ledgers[0]] as const],
    ['from two processes', () => [ledgers[0], ledgers[1]] as const],
  ])('two requests at the same time, %s', (_where, pair) => {
    test('spend the same last balance: one succeeds, the other has insufficient funds', async () => {
      const [left, right] = pair();
      for (let round = 0; round < rounds; round += 1) {
        const card = await newCard(700);
        const answers = await Promise.all(
          [left, right].map((ledger) =>
            outcome(ledger.call('create_transfer', { type: 'unload', amount: 700, card_id: card })),
          ),
        );
        expect(answers.filter((answer) => answer === 'insufficient_funds')).toHaveLength(1);
        expect(JSON.parse((await left.call('get_card', {}, { params: { card_id: card } })).body)).toMatchObject({
          balance: 0,
        });
      }
    });

    test('have the same reference: one succeeds, the other is a duplicate', async () => {
      const [left, right] = pair();
      for (let round = 0; round < rounds; round += 1) {
        const reference = randomUUID();
        const body = { amount: 1, card_id: 'card_active', reference };
        const answers = await Promise.all([left, right].map((ledger) => outcome(ledger.call('create_transfer', body))));
        expect(answers.filter((answer) => answer === 'duplicate_reference')).toHaveLength(1);
      }
    });

    test('move money between two cards in opposite directions without a deadlock', async () => {
      const [left, right] = pair();
      const [one, other] = [await newCard(1000), await newCard(1000)];
      const move = (ledger: Ledger, from: string, to: string) =>
        outcome(
          ledger.call('create_transfer', { type: 'card_to_card', amount: 1, card_id: from, destination_card_id: to }),
        );
      for (let round = 0; round < rounds; round += 1) {
        const answers = await Promise.all([move(left, one, other), move(right, other, one)]);
        for (const answer of answers) expect(answer).toContain('"status":"completed"');
      }
    });

    test('register the same card id: one succeeds, the other is a duplicate', async () => {
      const [left, right] = pair();
      for (let round = 0; round < rounds / 4; round += 1) {
        const body = { card_id: `twin_${randomUUID()}` };
        const answers = await Promise.all([left, right].map((ledger) => outcome(ledger.call('create_card', body))));
        expect(answers.filter((answer) => answer === 'duplicate_card')).toHaveLength(1);
      }
    });

    test('deposit with the same key: money arrives once, and both responses are equal', async () => {
      const [left, right] = pair();
      const params = { program_id: 'prog_019000000000700080000000000000de' };
      for (let round = 0; round < rounds / 4; round += 1) {
        const idempotencyKey = randomUUID();
        const answers = await Promise.all(
          [left, right].map((ledger) =>
            outcome(ledger.call('create_deposit', { amount: 5 }, { idempotencyKey, params })),
          ),
        );
        expect(answers[0]).toBe(answers[1]);
      }
    });
  });

  test('50 simultaneous requests with one key create one transfer, and get equal responses', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const card = await newCard(0);
      const idempotencyKey = randomUUID();
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, index) => {
          const ledger = index % 2 === 0 ? ledgers[0] : ledgers[1];
          return ledger.call('create_transfer', { amount: 3, card_id: card }, { idempotencyKey });
        }),
      );
      expect(new Set(replies.map(({ body }) => body)).size).toBe(1);
      expect(replies.filter(({ replayed }) => replayed !== true)).toHaveLength(1);
      const { data } = JSON.parse((await ledgers[0].call('list_transfers', { card_id: card })).body) as {
        data: object[];
      };
      expect(data).toHaveLength(1);
    }
  });

  test('one of two different requests with one key is executed, and the other caller learns that the key exists', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const idempotencyKey = randomUUID();
      const answers = await Promise.all(
        [1, 2].map((amount, index) => {
          const ledger = index === 0 ? ledgers[0] : ledgers[1];
          return outcome(ledger.call('create_transfer', { amount, card_id: 'card_active' }, { idempotencyKey }));
        }),
      );
      expect(answers.filter((answer) => answer === 'idempotency_key_exists')).toHaveLength(1);
    }
  });

  test('requests are decided in sequence: of ten unloads from a card with enough money for four, four succeed', async () => {
    const card = await newCard(450);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        outcome(ledgers[0].call('create_transfer', { type: 'unload', amount: 100, card_id: card })),
      ),
    );
    expect(answers.filter((answer) => answer === 'insufficient_funds')).toHaveLength(6);
  });
});

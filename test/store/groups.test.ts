import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Refusal } from '../../domain/refusal.ts';
import { trialBalance } from '../harness/ledger.ts';
import { useLedger, useProxy, useServer } from '../harness/use-ledger.ts';

// The database corrects wrong decisions: the group fails, is retried, and is halved until it succeeds. So the number of
// round trips reveals a wrong decision.

/**
 * The maximum number of round trips for two transactions. Each transaction loads and then saves. The second is chained
 * to the first and may save in two parts. A failed group would take at least two more round trips.
 */
const TURNS_OF_TWO = 2 + 3;

const server = await useServer();
const proxy = await useProxy(server);
const ledger = useLedger({ ...server.connection, host: proxy.host });

beforeAll(async () => {
  await ledger.call('create_transfer', { amount: 1, card_id: 'card_active' });
});

afterAll(async () => {
  expect(await trialBalance(ledger)).toMatchObject({ balanced: true });
});

/**
 * Returns the outcome of each call: its status, or the code of its refusal. All calls except the first are in one
 * group.
 */
async function sendTogether(bodies: readonly object[]): Promise<{ outcomes: readonly string[]; turns: number }> {
  const before = proxy.turns();
  const outcomes = await Promise.all(
    bodies.map(async (body) => {
      try {
        return String((await ledger.call('create_transfer', body)).status);
      } catch (error) {
        if (error instanceof Refusal) return error.code;
        throw error;
      }
    }),
  );
  return { outcomes, turns: proxy.turns() - before };
}

const first = { amount: 1, card_id: 'card_active' };

test('a second request with the same reference is refused when the group decides', async () => {
  const twice = { ...first, reference: randomUUID() };
  const { outcomes, turns } = await sendTogether([first, twice, twice]);
  expect(outcomes).toEqual(['201', '201', 'duplicate_reference']);
  expect(turns).toBeLessThanOrEqual(TURNS_OF_TWO);
});

test('a group decides each request on the balance that the previous requests left', async () => {
  await ledger.call('create_card', { card_id: 'spent_in_a_group' });
  await ledger.call('create_transfer', { amount: 100, card_id: 'spent_in_a_group' });
  const spend = { amount: 40, card_id: 'spent_in_a_group', type: 'unload' };
  const { outcomes, turns } = await sendTogether([first, spend, spend, spend, spend]);
  expect(outcomes).toEqual(['201', '201', '201', 'insufficient_funds', 'insufficient_funds']);
  expect(turns).toBeLessThanOrEqual(TURNS_OF_TWO);
});

test('a group executes the first request with a key and replays its response for the others', async () => {
  const idempotencyKey = randomUUID();
  const before = proxy.turns();
  const replies = await Promise.all([
    ledger.call('create_transfer', first),
    ...Array.from({ length: 5 }, () => ledger.call('create_transfer', first, { idempotencyKey })),
  ]);
  expect(new Set(replies.slice(1).map(({ body }) => body)).size).toBe(1);
  expect(replies.filter(({ replayed }) => replayed === true)).toHaveLength(4);
  expect(proxy.turns() - before).toBeLessThanOrEqual(TURNS_OF_TWO);
});

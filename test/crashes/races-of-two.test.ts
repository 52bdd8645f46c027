import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { TransferServiceError } from '../../sdk/error.ts';
import { startTwoServices, type TwoServices } from '../../verification/environments/processes/two-services.ts';
import { connect } from '../harness/ledger.ts';
import { type ServiceProcess, waitFor } from '../harness/process.ts';

// Two real processes on one database, and 64 clients that want the same thing at the same time.
const CLIENTS = 64;

let services: TwoServices;
let first: ServiceProcess;
let second: ServiceProcess;
beforeAll(async () => {
  services = await startTwoServices();
  [first, second] = services.both;
});
afterAll(() => services?.end());
afterEach(async () => {
  await first.client.sandbox.moveClock({ seconds_ahead: 0 });
  expect(await first.client.trialBalance.get()).toMatchObject({ balanced: true, differing_holds: 0 });
});

const clientOf = (index: number) => (index % 2 === 0 ? first : second).client;

/**
 * Runs a call for each client at the same time. Returns the result of each call, or the code of its refusal. Calls that the
 * service was too busy for are retried, as the SDK also does.
 */
function all<Result>(ask: (index: number) => Promise<Result>): Promise<readonly (Result | string)[]> {
  return Promise.all(
    Array.from({ length: CLIENTS }, async (_, index) => {
      for (;;) {
        try {
          return await ask(index);
        } catch (error) {
          if (!(error instanceof TransferServiceError)) throw error;
          const isBusy = error.code === 'service_unavailable' && error.moneyMoved === 'no';
          if (!isBusy) return error.code;
        }
      }
    }),
  );
}

const successes = <Result>(outcomes: readonly (Result | string)[]): readonly Result[] =>
  outcomes.filter((outcome): outcome is Result => typeof outcome !== 'string');

test('a hold is captured, canceled or expires exactly once, and all other requests are refused', async () => {
  const { card_id } = await first.client.cards.create();
  const seen = new Set<string>();
  for (let round = 0; round < 12; round += 1) {
    const isOver = round % 4 === 3;
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const made = await first.client.transfers.create({ amount: 640, card_id, capture: 'manual', expires_at });
    const before = (await first.client.cards.get(card_id)).balance;
    if (isOver) await second.client.sandbox.moveClock({ seconds_ahead: 3_601 });
    const outcomes = await all((index) =>
      index % 3 === 0
        ? clientOf(index).transfers.cancel(made.transfer_id)
        : clientOf(index).transfers.capture(made.transfer_id, { amount: 10 * (index + 1) }),
    );
    const won = successes(outcomes);
    expect(won.length).toBe(isOver ? 0 : 1);
    for (const outcome of outcomes) if (typeof outcome === 'string') expect(outcome).toBe('invalid_transfer_status');
    const now = await second.client.transfers.get(made.transfer_id);
    seen.add(now.status);
    expect(now.status).toBe(isOver ? 'expired' : won[0]?.status);
    await released(card_id);
    expect(await first.client.cards.get(card_id)).toMatchObject({ balance: before + now.captured_amount, incoming: 0 });
    if (isOver) await second.client.sandbox.moveClock({ seconds_ahead: 0 });
  }
  expect(seen).toContain('expired');
  expect(seen.size).toBeGreaterThan(1);
});

/** Waits for the release of an expired hold. Both processes look for expired holds every second. */
async function released(card: string): Promise<void> {
  await waitFor('the release of an expired hold', async () => (await first.client.cards.get(card)).incoming === 0);
}

test('a daily limit allows exactly its amount', async () => {
  const limits = { in: { daily_amount: 1_000, daily_count: 9 }, maximum_balance: 100_000 };
  for (const amount of [100, 150]) {
    const { card_id } = await first.client.cards.create({ limits });
    const ask = (index: number) =>
      clientOf(index).transfers.create({
        amount,
        card_id,
        capture: index % 5 === 0 ? 'manual' : 'automatic',
      });
    const outcomes = await all(ask);
    const made = successes(outcomes);
    expect(made.length).toBe(amount === 100 ? 9 : 6);
    expect(new Set(outcomes.filter((outcome) => typeof outcome === 'string'))).toEqual(new Set(['limit_exceeded']));
    const held = made.filter(({ status }) => status === 'pending');
    await Promise.all(held.map(({ transfer_id }, index) => clientOf(index).transfers.cancel(transfer_id)));
    expect(successes(await all(ask)).length).toBe(held.length);
    const state = (await second.client.cards.limits(card_id)).in.limits.find(({ name }) => name === 'daily_amount');
    expect(state?.used).toBe(amount * made.length);
  }
});

test('a maximum balance includes incoming holds', async () => {
  const { card_id } = await second.client.cards.create({ limits: { maximum_balance: 500 } });
  const made = successes(
    await all((index) =>
      clientOf(index).transfers.create({ amount: 100, card_id, capture: index % 2 === 0 ? 'manual' : 'automatic' }),
    ),
  );
  expect(made.length).toBe(5);
  const { balance, incoming } = await first.client.cards.get(card_id);
  expect(balance + incoming).toBe(500);
});

test('concurrent reversals never exceed the captured amount', async () => {
  const { card_id } = await first.client.cards.create();
  await first.client.transfers.create({ amount: 50_000, card_id });
  const { transfer_id } = await first.client.transfers.create({ amount: 1_000, card_id });
  const outcomes = await all((index) => clientOf(index).transfers.reverse(transfer_id, { amount: 30 }));
  expect(successes(outcomes).length).toBe(33);
  expect(await second.client.transfers.get(transfer_id)).toMatchObject({ reversed_amount: 990 });
  expect(await second.client.cards.get(card_id)).toMatchObject({ balance: 50_010 });
});

/** Only a superuser sees the waits of all other users and may change deadlock_timeout. */
const asSuperuser = () => connect({ connectionString: services.databaseUrl.replace(/\/\/[^@]*@/, '//postgres@') });

/** Reads every backend that waits for a lock, with the backends that block it. */
const WAITS = `select pid, pg_blocking_pids(pid) as blocked_by from pg_stat_activity where wait_event_type = 'Lock'`;

/**
 * Whether backends wait for each other in a circle during some work. A wait ends after half a second here, before PostgreSQL
 * looks for a deadlock, and the service retries. So a deadlock would cause no error and no log line.
 */
async function deadlocksDuring(work: Promise<unknown>): Promise<boolean> {
  const watcher = await asSuperuser();
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  void work.then(end, end);
  try {
    while (!isOver) {
      const { rows } = await watcher.query<{ pid: number; blocked_by: readonly number[] }>(WAITS);
      const blockers = new Map(rows.map(({ pid, blocked_by }) => [pid, blocked_by]));
      const reaches = (from: number, to: number, seen = new Set<number>()): boolean =>
        (blockers.get(from) ?? []).some((next) => {
          if (next === to) return true;
          return !seen.has(next) && reaches(next, to, seen.add(next));
        });
      if (rows.some(({ pid }) => reaches(pid, pid))) return true;
      await sleep(20);
    }
    return false;
  } finally {
    await watcher.end();
  }
}

test('deadlocksDuring finds a deadlock', async () => {
  const [one, other, killer] = await Promise.all([asSuperuser(), asSuperuser(), asSuperuser()]);
  const lock = (client: pg.Client, key: number) => client.query('select pg_advisory_xact_lock($1)', [key]);
  try {
    // Otherwise PostgreSQL could end the deadlock before a slow machine looks for it.
    for (const client of [one, other]) await client.query("set deadlock_timeout = '1h'; begin");
    await lock(one, 7201);
    await lock(other, 7202);
    const waits = Promise.allSettled([lock(one, 7202), lock(other, 7201)]);
    expect(await deadlocksDuring(waits)).toBe(true);
  } finally {
    await killer.query(
      "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objid in (7201, 7202)",
    );
    for (const client of [one, other, killer]) await client.end().catch(() => undefined);
  }
});

test('transfers around a ring of cards never deadlock', async () => {
  const ring = await Promise.all(Array.from({ length: 4 }, () => first.client.cards.create()));
  for (const { card_id } of ring) await first.client.transfers.create({ amount: 10_000, card_id });
  for (let round = 0; round < 4; round += 1) {
    const ask = (index: number) =>
      clientOf(index).transfers.create({
        type: 'card_to_card',
        amount: 1 + (index % 7),
        card_id: ring[index % 4]?.card_id ?? '',
        destination_card_id: ring[(index + 1 + (round % 3)) % 4]?.card_id ?? '',
        reference: randomUUID(),
      });
    const work = all(ask);
    expect(await deadlocksDuring(work)).toBe(false);
    const outcomes = await work;
    expect(successes(outcomes).length).toBe(CLIENTS);
  }
  const balances = await Promise.all(ring.map(async ({ card_id }) => (await second.client.cards.get(card_id)).balance));
  expect(balances.reduce((sum, balance) => sum + balance, 0)).toBe(40_000);
});

test('a card closes empty during concurrent loads', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { card_id } = await first.client.cards.create();
    await first.client.transfers.create({ amount: 500, card_id });
    const outcomes = await all<unknown>((index) =>
      index === 31
        ? clientOf(index).cards.update(card_id, { status: 'closed', balance_to: 'funding' })
        : clientOf(index).transfers.create({ amount: 10, card_id }),
    );
    expect(typeof outcomes[31]).toBe('object');
    const refused = outcomes.filter((outcome) => typeof outcome === 'string');
    expect(new Set(refused).size).toBeLessThanOrEqual(1);
    for (const code of refused) expect(code).toBe('card_closed');
    expect(await second.client.cards.get(card_id)).toMatchObject({
      status: 'closed',
      balance: 0,
      held: 0,
      incoming: 0,
    });
  }
});

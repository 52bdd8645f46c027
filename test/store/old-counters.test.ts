import { afterEach, expect, test } from 'vitest';
import type { CardLimitsRecord } from '../../contract/limits.ts';
import type { TransferRecord } from '../../contract/transfers.ts';
import { DEMO_PROGRAM_ID as PROGRAM } from '../../domain/sandbox.ts';
import { MAX_HOLD_MILLISECONDS } from '../../domain/transfers/transfer.ts';
import { deleteExpired, startDeletingExpired } from '../../server/background/jobs/retention.ts';
import { KEPT_COUNTER_DAYS, READ_DAYS } from '../../server/store/ledger/limits.ts';
import { settleDue } from '../../server/subjects/transfers/change-transfer.ts';
import { connect } from '../harness/ledger.ts';
import { waitFor } from '../harness/process.ts';
import { checkBalances, useConnection, useLedger, useServer } from '../harness/use-ledger.ts';

// Tests that limit counters are removed once nothing can read them or subtract from them.

const server = await useServer();
const ledger = useLedger(server.connection);
const client = await useConnection(server.connection);

checkBalances(ledger);

afterEach(async () => {
  await client.query('truncate limit_counter; update card set limits = null');
});

/** Inserts a counter for each of these moments (SQL), with accounts that no other test uses. */
async function countOn(...moments: readonly string[]): Promise<void> {
  for (const moment of moments) {
    await client.query(
      `insert into limit_counter (program_id, account_id, direction, day_start, amount, count)
       values ($1, gen_random_uuid(), 'in', ${moment}, 1, 1)`,
      [PROGRAM],
    );
  }
}

/** Returns the age of each stored counter in whole UTC days, oldest first. */
async function agesLeft(): Promise<readonly number[]> {
  const { rows } = await client.query<{ age: number }>(
    `select (now() at time zone 'UTC')::date - (day_start at time zone 'UTC')::date as age
     from limit_counter order by age desc`,
  );
  return rows.map(({ age }) => age);
}

/** Returns SQL for the first moment of the day this many days ago, in a time zone. */
const dayStart = (ago: number, zone = 'UTC') =>
  `((now() at time zone '${zone}')::date - ${ago})::timestamp at time zone '${zone}'`;

/** Runs the test again if midnight passed during the test. */
async function withinOneDay(run: () => Promise<void>): Promise<void> {
  const today = async () =>
    String((await client.query("select (now() at time zone 'UTC')::date::text as day")).rows[0].day);
  const before = await today();
  try {
    await run();
  } catch (error) {
    if ((await today()) === before) throw error;
    await client.query('truncate limit_counter');
    await run();
  }
}

test('every counter older than the last kept day in any time zone is removed, and no others', async () => {
  await withinOneDay(async () => {
    const days = [0, 30, 39, 41, 92, KEPT_COUNTER_DAYS - 1, KEPT_COUNTER_DAYS, KEPT_COUNTER_DAYS + 1, 900];
    await countOn(...days.map((ago) => dayStart(ago)));
    await countOn(`${dayStart(KEPT_COUNTER_DAYS - 1)} - interval '1 microsecond'`);
    expect(await deleteExpired(ledger.database)).toBe(2);
    expect(await agesLeft()).toEqual([KEPT_COUNTER_DAYS, KEPT_COUNTER_DAYS, KEPT_COUNTER_DAYS - 1, 92, 41, 39, 30, 0]);
  });
  await client.query('truncate limit_counter');
  // These zones are from fourteen hours ahead of UTC to twelve hours behind it. Each zone keeps two calendar days
  // around the limit.
  for (const zone of ['Pacific/Kiritimati', 'Etc/GMT+12', 'Asia/Kolkata']) {
    await countOn(dayStart(KEPT_COUNTER_DAYS - 1, zone), dayStart(KEPT_COUNTER_DAYS + 2, zone));
    expect(await deleteExpired(ledger.database)).toBe(1);
  }
});

test('counters are kept longer than any read period and any hold', async () => {
  const longest = MAX_HOLD_MILLISECONDS / 86_400_000;
  expect(longest).toBe(90);
  // A hold counts on a day that began up to 25 hours before it. A period is read back to its first day.
  expect(KEPT_COUNTER_DAYS).toBeGreaterThan(longest + 2);
  expect(KEPT_COUNTER_DAYS).toBeGreaterThan(READ_DAYS + 1);
});

/** Opens a hold, and moves the hold and the day of its counter into the past. Returns the hold's transfer. */
async function openHold(ago: { readonly counted: number; readonly ended: string }): Promise<TransferRecord> {
  const { body } = await ledger.call('create_transfer', { amount: 70, card_id: 'card_active', capture: 'manual' });
  const { rowCount } = await client.query(
    `update hold set day_start = ${dayStart(ago.counted)}, expires_at = ${ago.ended}`,
  );
  expect(rowCount).toBe(1);
  await client.query(
    'update transfer set expires_at = hold.expires_at from hold where hold.transfer_id = transfer.transfer_id',
  );
  await client.query(`update limit_counter set day_start = ${dayStart(ago.counted)}`);
  return JSON.parse(body) as TransferRecord;
}

const counted = async () =>
  (await client.query('select amount::int, count::int from limit_counter')).rows as readonly object[];

test('a hold of the maximum length is still subtracted from its counter when it is canceled', async () => {
  const { transfer_id } = await openHold({ counted: 92, ended: "now() + interval '1 hour'" });
  expect(await deleteExpired(ledger.database)).toBe(0);
  await ledger.call('cancel_transfer', {}, { params: { transfer_id } });
  expect(await counted()).toEqual([
    { amount: 0, count: 0 },
    { amount: 0, count: 0 },
  ]);
});

test('a counter stays while a hold on it is open, and is removed after that', async () => {
  const { transfer_id } = await openHold({ counted: 400, ended: "now() - interval '308 days'" });
  await countOn(dayStart(401));
  expect(await deleteExpired(ledger.database)).toBe(1);
  expect(await counted()).toEqual([
    { amount: 70, count: 1 },
    { amount: 70, count: 1 },
  ]);
  const { settled } = await settleDue(ledger.service);
  expect(settled).toBe(1);
  expect((await ledger.call('get_transfer', {}, { params: { transfer_id } })).body).toContain('"expired"');
  expect(await counted()).toEqual([
    { amount: 0, count: 0 },
    { amount: 0, count: 0 },
  ]);
  expect(await deleteExpired(ledger.database)).toBe(2);
  expect(await counted()).toEqual([]);
});

/** Returns the used amount of the card's first limit on incoming transfers. */
async function used(): Promise<unknown> {
  const { body } = await ledger.call('get_card_limits', {}, { params: { card_id: 'card_active' } });
  return (JSON.parse(body) as CardLimitsRecord).in.limits[0]?.used;
}

test('used amounts are exact even above the largest number in JSON', async () => {
  await ledger.call('create_transfer', { amount: 1, card_id: 'card_active' });
  await ledger.call('update_card', { limits: { in: { monthly_amount: 9 } } }, { params: { card_id: 'card_active' } });
  await client.query('update limit_counter set amount = 9007199254740991');
  expect(await used()).toBe(9007199254740991);
  await client.query('update limit_counter set amount = 9007199254740993');
  expect(await used()).toBe('9007199254740993');
});

test("no counter is removed too early and no usage changes when a sandbox's clock moves forward and back", async () => {
  await ledger.call('update_card', { limits: { in: { monthly_count: 9 } } }, { params: { card_id: 'card_active' } });
  await ledger.call('create_transfer', { amount: 1, card_id: 'card_active' });
  expect(await used()).toBe(1);
  await ledger.call('move_clock', { seconds_ahead: 400 * 86_400 });
  expect(await used()).toBe(0);
  await ledger.call('create_transfer', { amount: 1, card_id: 'card_active' });
  expect(await deleteExpired(ledger.database)).toBe(0);
  await ledger.call('move_clock', { seconds_ahead: 0 });
  expect(await used()).toBe(1);
});

test('the removal does not wait for accounts, and does nothing while another process removes counters', async () => {
  await countOn(dayStart(5 * KEPT_COUNTER_DAYS));
  const other = await connect(server.connection);
  try {
    await other.query('begin; select from account for update; select pg_advisory_xact_lock(7201, 2)');
    expect(await deleteExpired(ledger.database)).toBe(0);
    await other.query('rollback; begin; select from account for update');
    expect(await deleteExpired(ledger.database)).toBe(1);
  } finally {
    await other.end();
  }
});

test('many counters are removed in batches during transfers, and no batch begins after a stop', async () => {
  await client.query(
    `insert into limit_counter (program_id, account_id, direction, day_start, amount, count)
     select $1, gen_random_uuid(), 'out', ${dayStart(3 * KEPT_COUNTER_DAYS)}, 1, number
     from generate_series(1, 2500) as number`,
    [PROGRAM],
  );
  expect(await deleteExpired(ledger.database, AbortSignal.abort())).toBe(0);
  const [forgotten, ...transfers] = await Promise.all([
    deleteExpired(ledger.database),
    ...Array.from({ length: 20 }, () => ledger.call('create_transfer', { amount: 1, card_id: 'card_active' })),
  ]);
  expect(forgotten).toBe(2500);
  expect(transfers.map(({ status }) => status)).toEqual(transfers.map(() => 201));
  expect(await counted()).toEqual([
    { amount: 20, count: 20 },
    { amount: 20, count: 20 },
  ]);
});

test('the loop of a running service removes counters, and ends when it is stopped', async () => {
  await countOn(dayStart(5 * KEPT_COUNTER_DAYS));
  const failures: unknown[] = [];
  const loop = startDeletingExpired(ledger.database, (error) => failures.push(error), { firstDelayMilliseconds: 0 });
  await waitFor('the counter to be gone', async () => (await counted()).length === 0);
  await loop.stop();
  expect(failures).toEqual([]);
});

import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Overview } from '../../contract/service/overview.ts';
import { TransferService } from '../../sdk/client.ts';
import { startStoringTransferCounts } from '../../server/background/jobs/store-collected.ts';
import { readTransferCounts, toHourlyCount } from '../../server/store/overview/transfer-count.ts';
import { dropOldErrors } from '../../server/store/partition.ts';
import { Processes, TransferCounts } from '../../server/subjects/overview/overview.ts';
import { operatorKey, withSecret } from '../harness/keys.ts';
import { requireOwnPostgres } from '../harness/postgres/stock-postgres.ts';
import { waitFor } from '../harness/process.ts';
import { sendRaw } from '../harness/raw-request.ts';
import { refusalOf, useOwnService } from '../harness/service.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';

// Tests the figures of the overview, and the preview of a change to the switch.

const running = useOwnService('It compares the figures of the whole service.');
const client = () => running().client;
const server = await useServer();
const ledger = useLedger(server.connection);
const owner = await useConnection(server.connection);

const load = (amount = 1) => client().transfers.create({ amount, card_id: 'card_active' });

const sum = (values: readonly (number | null)[]): number =>
  values.reduce<number>((total, value) => total + (value ?? 0), 0);

describe('get_overview', () => {
  test('shows the responses of the process and the state of the database', async () => {
    await load();
    await load();
    await client()
      .transfers.create({ amount: 1, card_id: 'card_empty', type: 'unload' })
      .catch(() => undefined);
    const seen = () => client().status.overview();
    await waitFor('the figures of the seconds', async () => (await seen()).now.requests === 3);
    const overview = await seen();
    expect(overview.now).toMatchObject({ succeeded: 2, refused: 1, invalid: 0, failed: 0, success_ratio: 0.6667 });
    expect(overview.now.p50_milliseconds).toBeGreaterThan(0);
    expect(overview.lane_waiting).toBe(0);
    expect(overview.status).toMatchObject({ mode: 'sandbox', readiness: { ready: true }, database: { state: 'up' } });
    // The requests may span two points of the chart, and their counts may be stored in two rounds.
    await waitFor('the points of the chart', async () => {
      const { transfers, errors } = (await seen()).recent;
      return sum(transfers) === 2 && errors.length > 0;
    });
    const { recent } = await seen();
    expect(recent.errors).toEqual([{ code: 'insufficient_funds', counts: expect.arrayContaining([1]) }]);
    for (const values of [recent.succeeded, recent.failed, recent.p99_milliseconds, recent.lane_waiting]) {
      expect(values).toHaveLength(recent.transfers.length);
    }
    const counted = async () => sum(((await seen()).hours ?? []).map(({ transfers }) => transfers));
    await waitFor('the counts of the hour', async () => (await counted()) === 2);
  });

  test('shows all processes together, and marks the running ones', async () => {
    const { client: caller } = running();
    const database = ledger.database;
    const minute = (members: object) => ({
      ...{ milliseconds: 60_000, transfers: 0, succeeded: 0, refused: 0, invalid: 0, failed: 0, latencies: [] },
      ...members,
    });
    const [one, two] = [new Processes('1.0.0'), new Processes('1.1.0')];
    await one.store(database, minute({ transfers: 120, succeeded: 1 }));
    await two.store(database, minute({ transfers: 60, succeeded: 2, latencies: [[60, 3]] }));
    await two.store(database, minute({ transfers: 60, succeeded: 3, latencies: [[60, 3]] }));
    const seen = async (from = one) => from.show(await from.list(database), minute({ transfers: 180, succeeded: 1 }));
    const { all, processes } = await seen();
    // A process shows its own current figures, not its stored ones.
    expect(all).toMatchObject({ transfers_per_second: 4, requests: 4, p50_milliseconds: expect.any(Number) });
    expect(processes.map(({ version, alive, current }) => [version, alive, current]).toSorted()).toEqual([
      ['1.0.0', true, true],
      ['1.1.0', true, false],
    ]);
    await owner.query(
      "update service_process set seen_at = statement_timestamp() - interval '1 minute' where version = '1.1.0'",
    );
    const later = await seen();
    expect(later.all).toMatchObject({ transfers_per_second: 3, requests: 1 });
    expect(later.processes.find(({ version }) => version === '1.1.0')).toMatchObject({ alive: false, current: false });
    // Simulates a process that died before the clock was set back.
    await owner.query(
      "update service_process set seen_at = statement_timestamp() + interval '10 minutes' where version = '1.1.0'",
    );
    expect((await seen()).processes.find(({ version }) => version === '1.1.0')).toMatchObject({ alive: false });
    await owner.query(
      "update service_process set seen_at = statement_timestamp() + interval '2 hours' where version = '1.1.0'",
    );
    expect((await seen()).processes.map(({ version }) => version)).toEqual(['1.0.0']);
    await owner.query("update service_process set seen_at = statement_timestamp() - interval '2 hours'");
    await one.store(database, minute({}));
    expect((await seen(two)).processes.map(({ version }) => version).toSorted()).toEqual(['1.0.0', '1.1.0']);
    expect((await owner.query('select from service_process')).rowCount).toBe(1);
    await one.leave(database);
    expect((await owner.query('select from service_process')).rowCount).toBe(0);
    // The service is one of the processes, and counts itself immediately.
    await waitFor('the process', async () => (await caller.status.overview()).processes?.length === 1);
    expect((await caller.status.overview()).processes).toMatchObject([{ alive: true, current: true }]);
  });

  test('gives all callers the same bytes within a second', async () => {
    const read = async () => (await client().status.overview()).made_at;
    const begun = performance.now();
    const made = await Promise.all(Array.from({ length: 20 }, read));
    // If a second ends during the calls, there are two different responses. If the calls take several seconds on a slow
    // machine, there are more.
    expect(new Set(made).size).toBeLessThanOrEqual(2 + Math.floor((performance.now() - begun) / 1000));
  });

  test('shows only the figures of its own process while the database is stopped', async (context) => {
    requireOwnPostgres(context);
    const path = '/api/v0.1/operator/overview';
    const { key } = await withSecret(client().keys.create(operatorKey('overview')));
    const get = () => sendRaw(running().url, { method: 'GET', path, headers: { Authorization: `Bearer ${key}` } });
    expect((await get()).status).toBe(200);
    await client().sandbox.stopDatabase();
    try {
      // The parts are read in parallel, so one of them may have been read before the stop.
      let seen = await client().status.overview();
      await waitFor('the outage', async () => {
        seen = await client().status.overview();
        return seen.hours === null && seen.status.database.state === 'stopped';
      });
      const { status, now } = seen;
      expect(status).toMatchObject({
        unknown: ['ledger', 'webhooks', 'server', 'schema', 'days'],
        database: { state: 'stopped' },
      });
      expect(now.seconds).toBeGreaterThan(0);
      const found = await get();
      expect(found.status).toBe(200);
      expect((JSON.parse(found.text) as Overview).hours).toBeNull();
      expect(JSON.parse(found.text)).toMatchObject({ all: null, processes: null });
    } finally {
      await client().sandbox.startDatabase();
    }
    await waitFor('the database', async () => (await client().status.overview()).hours !== null);
  });
});

describe('counts of transfers', () => {
  const counted = async (programId: string | null = null) =>
    (await ledger.database.read(readTransferCounts(new Date(0), { programId, type: null }))).map(toHourlyCount);

  test('are exact across all processes, even if they are stored in two rounds', async () => {
    const [program, other] = [randomUUID(), randomUUID()];
    const [one, two] = [new TransferCounts(), new TransferCounts()];
    for (const counts of [one, two]) {
      for (let count = 0; count < 3; count += 1) counts.note(program, 'load');
      counts.note(program, 'card_to_card');
      counts.note(other, 'unload');
      await counts.store(ledger.database);
      counts.note(program, 'load');
      await counts.store(ledger.database);
      await counts.store(ledger.database);
    }
    const rows = await counted(program);
    const countOf = (wanted: string) => sum(rows.filter(({ type }) => type === wanted).map(({ count }) => count));
    // An hour may end during the test, and each hour has its own rows.
    expect([countOf('card_to_card'), countOf('load'), countOf('unload')]).toEqual([2, 8, 0]);
    expect(sum((await counted(other)).map(({ count }) => count))).toBe(2);
  });

  test('include only created transfers: no refusals, replays or changes', async () => {
    const before = (await counted()).reduce((sum, { count }) => sum + count, 0);
    const key = randomUUID();
    const create = (members: object, idempotencyKey: string = randomUUID()) =>
      ledger.call('create_transfer', { amount: 1, card_id: 'card_active', ...members }, { idempotencyKey });
    await create({}, key);
    await create({}, key);
    const held = JSON.parse((await create({ capture: 'manual' })).body) as { transfer_id: string };
    await ledger.call('capture_transfer', {}, { params: { transfer_id: held.transfer_id } });
    await create({ card_id: 'card_closed' }).catch(() => undefined);
    await ledger.counts.store(ledger.database);
    expect((await counted()).reduce((sum, { count }) => sum + count, 0)).toBe(before + 2);
  });

  test('are stored once more when the service stops, and a failure to store them is reported', async () => {
    const counts = new TransferCounts();
    const program = randomUUID();
    counts.note(program, 'load');
    const failures: unknown[] = [];
    const storing = { store: counts.store.bind(counts), leave: counts.store.bind(counts) };
    const job = startStoringTransferCounts(ledger.database, storing, (error) => failures.push(error));
    await owner.query('alter table transfer_count rename to away');
    try {
      await job.stop();
    } finally {
      await owner.query('alter table away rename to transfer_count');
    }
    expect(failures).toHaveLength(1);
    await job.stop();
    expect((await counted(program)).map(({ count }) => count)).toEqual([1]);
  });

  test('are removed together with the counts of errors', async () => {
    const [program, process] = [randomUUID(), randomUUID()];
    const old = 'insert into transfer_count values (now() - make_interval(days => $1), $2, $3, $4, 1)';
    for (const days of [39, 41]) await owner.query(old, [days, program, 'load', process]);
    await dropOldErrors(ledger.database, 40);
    expect(await counted(program)).toHaveLength(1);
  });
});

describe('preview_switch', () => {
  const preview = async (scope: object = {}) =>
    JSON.parse((await ledger.call('preview_switch', scope)).body) as Awaited<
      ReturnType<ReturnType<typeof client>['switch']['preview']>
    >;
  const programWithCards = async () => {
    const { program_id: programId } = await client().programs.create({ name: 'Switched', currency: 'USD' });
    await client().deposits.create(programId, { amount: 10_000 });
    const of = new TransferService({ baseUrl: running().url, programId, timeoutMilliseconds: 120_000 });
    const { card_id } = await of.cards.create({});
    return { programId, of, card_id };
  };

  test('shows every program and the counts of all processes for the whole service', async () => {
    await owner.query('truncate transfer_count');
    const counts = new TransferCounts();
    for (let count = 0; count < 5; count += 1) counts.note(randomUUID(), 'load');
    await counts.store(ledger.database);
    const all = await preview();
    expect(all).toMatchObject({ scope: 'service', program_id: null, type: null, in_force: [] });
    expect(all.programs).toEqual({
      count: 1,
      data: [{ program_id: expect.stringMatching(/^prog_/), name: expect.any(String) }],
    });
    expect(all.last_hour.transfers).toBe(5);
    expect(all.last_day.transfers).toBe(5);
    expect(Date.parse(all.last_hour.since) - Date.parse(all.last_day.since)).toBe(23 * 3_600_000);
    expect(all.stops.length).toBeGreaterThan(0);
    expect(all.goes_on.length).toBeGreaterThan(0);
  });

  test('shows only the transfers of the program and type, including scheduled ones', async () => {
    const { programId, of, card_id } = await programWithCards();
    const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
    const soon = await of.transfers.create({ amount: 1, card_id, scheduled_for: at(2) });
    await of.transfers.create({ amount: 1, card_id, scheduled_for: at(48) });
    await of.transfers.create({ amount: 1, card_id, type: 'unload', scheduled_for: at(3) });
    await load();
    const scheduled = { transfers: 3, at_least: false, within_day: 2, next_at: soon.scheduled_for };
    expect((await client().switch.preview({ program_id: programId })).scheduled).toEqual(scheduled);
    expect((await client().switch.preview({ program_id: programId, type: 'load' })).scheduled).toEqual({
      ...scheduled,
      transfers: 2,
      within_day: 1,
    });
    expect(
      (await client().switch.preview({ program_id: programId, type: 'card_to_card' })).scheduled.next_at,
    ).toBeNull();
    expect((await client().switch.preview()).scheduled.transfers).toBe(3);
    await waitFor('the counts', async () => {
      const { last_day: day } = await client().switch.preview({ program_id: programId });
      return day.transfers === 3;
    });
    const { last_hour: loads } = await client().switch.preview({ program_id: programId, type: 'load' });
    expect(loads.transfers).toBe(2);
  });

  test('names only the settings in force, the widest scope first', async () => {
    const { programId } = await programWithCards();
    const change = (disabled: boolean, scope: object = {}) =>
      client().switch.change({ disabled, ...(disabled && { reason: 'a test' }), ...scope });
    await change(true, { program_id: programId, type: 'load' });
    const scopes = async (scope: object) =>
      (await client().switch.preview({ program_id: programId, ...scope })).in_force.map((one) => one.scope);
    expect(await scopes({})).toEqual([]);
    expect(await scopes({ type: 'load' })).toEqual(['transfer_type']);
    expect(await scopes({ type: 'unload' })).toEqual([]);
    await change(true, { program_id: programId });
    await change(true);
    expect(await scopes({ type: 'load' })).toEqual(['service', 'program', 'transfer_type']);
    expect((await client().switch.preview()).in_force.map((one) => one.scope)).toEqual(['service']);
    await change(false);
    expect((await client().switch.preview()).in_force).toEqual([]);
  });

  test('requires a program for a type, and the program must exist', async () => {
    expect(await refusalOf(client().switch.preview({ type: 'load' }))).toMatchObject({ code: 'preview_switch_schema' });
    const unknown = { program_id: 'prog_00000000000000000000000000000000' };
    expect(await refusalOf(client().switch.preview(unknown))).toMatchObject({ code: 'program_not_found' });
  });
});

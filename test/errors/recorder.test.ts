import { randomUUIDv7 } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { type Databases, openDatabases } from '../../server/store/connection/databases.ts';
import {
  type ErrorRecorder,
  RECORDER_SETTINGS,
  type RecorderSettings,
  startErrorRecorder,
  UnauthenticatedBudget,
} from '../../server/subjects/errors/error-recorder.ts';
import { reportErrors } from '../../server/subjects/errors/error-storage.ts';
import { UNHURRIED, UNLIMITED } from '../harness/ledger.ts';
import { temporaryDirectory, waitFor } from '../harness/process.ts';
import { useConnection, useServer } from '../harness/use-ledger.ts';
import { linesOf, printFigure, spoolOf } from './log-reader.ts';

type Report = Parameters<ErrorRecorder['record']>[0];

const server = await useServer();
const admin = await useConnection(server.connection);
let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
const opened: Databases[] = [];

afterAll(async () => {
  await Promise.all(opened.map((databases) => databases.close()));
});
beforeEach(async () => {
  directory = await temporaryDirectory();
  await admin.query('truncate error, error_count, error_drop');
  return () => directory.remove();
});

function report(change: Partial<Report> = {}): Report {
  return {
    requestId: randomUUIDv7(),
    operation: 'create_transfer',
    code: 'insufficient_funds',
    status: 409,
    type: 'Request Error',
    message: "The card 'card_empty' has 0.00 USD available; the transfer is for 0.01 USD.",
    method: 'POST',
    path: '/api/v0.1/core/transfer',
    programId: undefined,
    caller: 'sandbox',
    moneyMoved: 'no',
    transferId: undefined,
    saw: { account: 'card', available: '0', amount: '1' },
    field: '/amount',
    idempotencyKey: 'order-17',
    fields: { amount: { source: '1', quoted: false }, card_id: 'card_empty', type: 'unload' },
    cause: undefined,
    ...change,
  };
}

function reports(count: number): readonly Report[] {
  return Array.from({ length: count }, () => report());
}

type Started = { readonly recorder: ErrorRecorder; readonly troubles: string[] };

/**
 * Starts a recorder like the one in a service process. Without a database, it connects to a port where nothing listens.
 */
async function start(
  settings: Partial<RecorderSettings> = {},
  { away = false, maxSpoolBytes = 1_000_000 }: { away?: boolean; maxSpoolBytes?: number } = {},
): Promise<Started> {
  const address = away ? { ...server.connection, host: '127.0.0.1', port: 1 } : server.connection;
  const databases = openDatabases(address, undefined, UNHURRIED);
  opened.push(databases);
  const troubles: string[] = [];
  const recorder = await startErrorRecorder(
    {
      database: databases.background,
      spoolDirectory: `${directory.path}/error-spool`,
      maxSpoolBytes,
      onProblem: (sentence, cause) => troubles.push(`${sentence} ${cause === undefined ? '' : String(cause)}`),
    },
    { ...RECORDER_SETTINGS, ...settings },
  );
  return { recorder, troubles };
}

/**
 * Stops a recorder. If a slow machine does not store all errors within a second, the next process loads the remaining
 * ones from the spool.
 */
async function stopAndStore(recorder: ErrorRecorder, bounds: { maxSpoolBytes?: number } = {}): Promise<void> {
  await recorder.stop();
  if (linesOf(spoolOf(directory.path)).length === 0) return;
  const next = await start({}, bounds);
  await waitFor('the spool to be loaded', async () => linesOf(spoolOf(directory.path)).length === 0);
  await next.recorder.stop();
}

async function stored(): Promise<number> {
  return Number((await admin.query('select count(*) as count from error')).rows[0]?.count);
}

async function counted(): Promise<number> {
  return Number((await admin.query('select coalesce(sum(count), 0) as count from error_count')).rows[0]?.count);
}

async function dropped(): Promise<Record<string, number>> {
  const { rows } = await admin.query('select reason, sum(count)::int as count from error_drop group by reason');
  return Object.fromEntries(rows.map(({ reason, count }) => [reason, count]));
}

describe('with the database', () => {
  test('stores and counts an error once, even if it is reported twice', async () => {
    const { recorder, troubles } = await start();
    const all = reports(700);
    for (const one of [...all, ...all]) recorder.record(one);
    await stopAndStore(recorder);
    expect(await stored()).toBe(700);
    expect(await counted()).toBe(700);
    expect(troubles).toEqual([]);
  });

  test('stores queued errors when it stops', async () => {
    const { recorder } = await start({ gatherMilliseconds: 60_000 });
    for (const one of reports(300)) recorder.record(one);
    await recorder.stop();
    // At least the first batch is stored. If storing took more than a second, the remaining errors go to the spool.
    expect(await stored()).toBeGreaterThanOrEqual(250);
    expect((await stored()) + linesOf(spoolOf(directory.path)).length).toBe(300);
  });

  test('counts an error that the database refuses as dropped, and stores all others', async () => {
    const { recorder, troubles } = await start();
    for (const one of reports(20)) recorder.record(one);
    recorder.record(report({ status: 99 }));
    for (const one of reports(20)) recorder.record(one);
    await stopAndStore(recorder);
    expect(await stored()).toBe(40);
    expect(await dropped()).toEqual({ row_refused: 1 });
    expect(troubles.join()).toContain('refused the error of request');
  });

  test('replaces characters that PostgreSQL cannot store, and shortens long text', async () => {
    const { recorder } = await start();
    const recorded = recorder.record(
      report({
        message: `nul \0, half a pair \ud800, long ${'x'.repeat(5000)}`,
        fields: { description: 'a\0b', metadata: { '\udfff': '\u2028' }, amount: { source: '9'.repeat(9000) } },
      }),
    );
    await stopAndStore(recorder);
    const { rows } = await admin.query('select message, request from error where request_id = $1', [
      recorded?.requestId,
    ]);
    expect(rows[0]?.message).toHaveLength(2001);
    expect(rows[0]?.request.description).toBe('a\ufffdb');
  });

  test('bounds the queue when errors flood in, and counts every error as stored or dropped', async () => {
    const { recorder, troubles } = await start(
      { maxQueuedErrors: 1_000, spoolFirstAbove: 500 },
      { maxSpoolBytes: 300_000 },
    );
    const flood = reports(50_000);
    const started = performance.now();
    for (const [index, one] of flood.entries()) {
      recorder.record(one);
      // Pauses from time to time, as there are pauses between the requests to a real service. The first errors arrive
      // without a pause, and they are more than the queue can hold.
      if (index % 500 === 499 && index > 2_000) await pause(1);
    }
    printFigure('report in a flood', ((performance.now() - started) * 1000) / flood.length, 'us, pauses included');
    await stopAndStore(recorder, { maxSpoolBytes: 300_000 });
    const drops = await dropped();
    expect(drops.queue_full).toBeGreaterThan(0);
    const lost = Object.values(drops).reduce((sum, count) => sum + count, 0);
    expect((await stored()) + lost).toBe(50_000);
    const isOfSlowMachine = (trouble: string): boolean => /timeout|canceling statement|spool/i.test(trouble);
    expect(troubles.filter((trouble) => !isOfSlowMachine(trouble))).toEqual([]);
  });

  test('bounds the bytes of a queue of large errors', async () => {
    const { recorder } = await start({ gatherMilliseconds: 60_000, maxQueuedBytes: 100_000 });
    for (let count = 0; count < 100; count += 1) recorder.record(report({ fields: { description: 'é'.repeat(1900) } }));
    await stopAndStore(recorder);
    const { queue_full: lost = 0 } = await dropped();
    expect(lost).toBeGreaterThan(50);
    expect((await stored()) + lost).toBe(100);
  });
});

describe('unauthenticated errors', () => {
  const stranger = (address: string | undefined): Report =>
    report({ caller: undefined, programId: undefined, code: 'route_not_found', address });

  test('are recorded up to a budget per address, then only counted, and do not affect other errors', async () => {
    const { recorder } = await start({ maxUnauthenticatedPerAddressMinute: 20 });
    for (let count = 0; count < 300; count += 1) {
      recorder.record(stranger('203.0.113.9'));
      recorder.record(stranger(undefined));
      if (count < 15) recorder.record(stranger('198.51.100.7'));
      if (count >= 290) recorder.record(report());
    }
    await stopAndStore(recorder);
    const { unauthenticated = 0 } = await dropped();
    // A minute may have ended in the meantime, which renews the budget of each address.
    expect([20 + 20 + 15 + 10, 2 * (20 + 20) + 15 + 10]).toContain(await stored());
    expect((await stored()) + unauthenticated).toBe(300 + 300 + 15 + 10);
  });

  test('are recorded up to a total budget for all addresses', async () => {
    const { recorder } = await start({ maxUnauthenticatedBurst: 100, unauthenticatedPerSecond: 0 });
    for (let count = 0; count < 1_000; count += 1) {
      const recorded = recorder.record(stranger(`2001:db8:0:${count.toString(16)}::/64`));
      // An error that is not recorded is not logged either.
      expect(recorded === undefined).toBe(count >= 100);
    }
    await stopAndStore(recorder);
    expect(await stored()).toBe(100);
    expect(await dropped()).toEqual({ unauthenticated: 900 });
  });

  test('have a budget that refills', () => {
    const budget = new UnauthenticatedBudget({
      maxUnauthenticatedBurst: 5,
      unauthenticatedPerSecond: 2,
      maxUnauthenticatedPerAddressMinute: 3,
    });
    const take = (count: number, address: string, now: number): number =>
      Array.from({ length: count }, () => budget.take(address, now)).filter(Boolean).length;
    expect([take(9, 'a', 60_000), take(9, 'b', 60_000), take(9, 'c', 60_000)]).toEqual([3, 2, 0]);
    expect([take(9, 'a', 61_000), take(9, 'c', 61_000)]).toEqual([0, 2]);
    expect([take(9, 'a', 130_000), take(9, 'c', 130_000)]).toEqual([3, 2]);
  });
});

describe('without the database', () => {
  test('spools errors, and the next process loads them once', async () => {
    const first = await start({}, { away: true });
    const all = reports(600);
    for (const one of all) first.recorder.record(one);
    await waitFor('the spool to be written', async () => linesOf(spoolOf(directory.path)).length === 600);
    await first.recorder.stop();
    expect(first.troubles[0]).toContain('they are spooled');
    const order = linesOf(spoolOf(directory.path)).map((line) => JSON.parse(line).error.requestId);
    expect(order).toEqual(all.map(({ requestId }) => requestId));

    // The database already has half of the errors, because the process was killed before it could record that.
    const second = await start();
    for (const one of all.slice(0, 300)) second.recorder.record(one);
    await waitFor('the spool to be loaded', async () => linesOf(spoolOf(directory.path)).length === 0);
    await second.recorder.stop();
    expect(await stored()).toBe(600);
    expect(await counted()).toBe(600);
    expect(await dropped()).toEqual({});
  });

  test('loads an error that an earlier version spooled without a key', async () => {
    const first = await start({}, { away: true });
    const keyId = randomUUIDv7();
    for (const one of reports(2)) first.recorder.record({ ...one, keyId });
    await first.recorder.stop();
    const path = spoolOf(directory.path);
    writeFileSync(path, readFileSync(path, 'utf8').replace(`"keyId":"${keyId}",`, ''));
    const second = await start();
    await waitFor('the spool to be loaded', async () => linesOf(path).length === 0);
    await second.recorder.stop();
    const { rows } = await admin.query('select key_id from error order by key_id');
    expect(rows).toEqual([{ key_id: keyId }, { key_id: null }]);
  });

  test('counts a line that a kill left incomplete, and loads the lines around it', async () => {
    const first = await start({}, { away: true });
    for (const one of reports(5)) first.recorder.record(one);
    await first.recorder.stop();
    const path = spoolOf(directory.path);
    appendFileSync(path, linesOf(path)[0]?.slice(0, 100) ?? '');

    const second = await start({}, { away: true });
    for (const one of reports(5)) second.recorder.record(one);
    await second.recorder.stop();
    expect(linesOf(path)).toHaveLength(11);
    appendFileSync(path, '{"error":{"requestId":"torn');

    const third = await start();
    await waitFor('the spool to be loaded', async () => statSync(path).size === 0);
    await third.recorder.stop();
    expect(await stored()).toBe(10);
    expect(await dropped()).toEqual({ spool_torn: 2 });
  });

  test('empties a spool with unexpected content', async () => {
    mkdirSync(`${directory.path}/error-spool/1`, { recursive: true });
    const junk = [
      'null',
      '17',
      '{}',
      '{"error":{"requestId":"nonsense"}}',
      '{"drop":{}}',
      'not json',
      'x'.repeat(600_000),
    ];
    const halfRight = [
      JSON.stringify({ error: { requestId: randomUUIDv7(), status: 'many' } }),
      JSON.stringify({ drop: { dropId: randomUUIDv7(), count: 'many' } }),
    ];
    writeFileSync(spoolOf(directory.path), `${[...junk, ...halfRight].join('\n')}\n`);
    const { recorder } = await start();
    recorder.record(report());
    await waitFor('the spool to be emptied', async () => statSync(spoolOf(directory.path)).size === 0);
    await recorder.stop();
    expect(await stored()).toBe(1);
    const { row_refused, spool_torn = 0 } = await dropped();
    expect(row_refused).toBe(1);
    expect(spool_torn).toBeGreaterThanOrEqual(8);
  });

  test('bounds the spool and the queue, and counts errors beyond the bounds as dropped', async () => {
    const settings = {
      maxQueuedErrors: 50,
      spoolFirstAbove: 50,
      batchSize: 10,
      gatherMilliseconds: 5,
      loadIntervalMilliseconds: 20,
    };
    const first = await start(settings, { away: true, maxSpoolBytes: 20_000 });
    for (let count = 0; count < 40; count += 1) {
      for (const one of reports(10)) first.recorder.record(one);
      await pause(10);
    }
    await first.recorder.stop();
    const { size } = statSync(spoolOf(directory.path));
    expect(size).toBeGreaterThan(10_000);
    expect(size).toBeLessThanOrEqual(20_000);

    const second = await start(settings, { maxSpoolBytes: 20_000 });
    await waitFor('the spool to be loaded', async () => linesOf(spoolOf(directory.path)).length === 0);
    await second.recorder.stop();
    const { queue_full = 0, spool_full = 0 } = await dropped();
    expect(queue_full).toBeGreaterThan(0);
    expect((await stored()) + queue_full + spool_full).toBe(400);
  });

  test('gives each process its own spool, and lets another process adopt the spool of a dead one', async () => {
    const first = await start({ adoptIntervalMilliseconds: 100 });
    const second = await start({}, { away: true });
    for (const one of reports(30)) second.recorder.record(one);
    await waitFor('its own spool to be written', async () => linesOf(spoolOf(directory.path, 2)).length === 30);
    await pause(300);
    expect(await stored()).toBe(0);
    await second.recorder.stop();
    await waitFor('the spool to be adopted', async () => linesOf(spoolOf(directory.path, 2)).length === 0);
    await first.recorder.stop();
    expect(await stored()).toBe(30);
  });

  test('keeps errors in memory if it cannot write a spool', async () => {
    writeFileSync(`${directory.path}/error-spool`, 'a file where a directory should be');
    const { recorder, troubles } = await start();
    for (const one of reports(10)) recorder.record(one);
    await recorder.stop();
    expect(troubles.join()).toContain('cannot spool errors');
    expect(await stored()).toBe(10);
    const without = await start({}, { away: true });
    for (const one of reports(10)) without.recorder.record(one);
    await without.recorder.stop();
    expect(without.troubles.join()).toContain('10 errors were dropped, and the count could not be stored');
  });
});

test('prints the cost of a report and the number of errors stored per second', async () => {
  const settings = {
    maxQueuedErrors: 100_000,
    maxQueuedBytes: 1e9,
    spoolFirstAbove: 100_000,
    pauseFactor: 0,
    gatherMilliseconds: 0,
  };
  const { recorder } = await start(settings);
  const failure = new Error('the database failed', { cause: new Error('connect ECONNREFUSED') });
  const refusals = reports(10_000);
  const failures = refusals.map((one) => report({ ...one, requestId: randomUUIDv7(), status: 500, cause: failure }));
  for (const [name, list] of [
    ['refusal', refusals],
    ['failure', failures],
  ] as const) {
    const started = performance.now();
    for (const one of list) recorder.record(one);
    printFigure(`a report of a ${name} in onError`, ((performance.now() - started) * 1000) / list.length, 'us');
  }
  const started = performance.now();
  await waitFor('all errors to be stored', async () => (await stored()) === 20_000);
  const seconds = (performance.now() - started) / 1000;
  await recorder.stop();
  printFigure('stored without a pause', 20_000 / seconds, 'errors a second');
});

/** The key of the lock for which a process waits before it writes an event. */
const GATE = 7_400;

describe('the events of errors', () => {
  test('are written once by two processes, and count every error that is stored in the meantime', async () => {
    const code = 'unknown_create_transfer';
    const failed = (): Report => report({ code, status: 500, type: 'Server Error' });
    const { recorder } = await start();
    for (let count = 0; count < 3; count += 1) recorder.record(failed());
    await waitFor('the errors to be stored', async () => (await stored()) === 3);
    await admin.query(`
      create function wait_at_gate() returns trigger language plpgsql as $$
        begin perform pg_advisory_xact_lock_shared(${GATE}); return null; end $$;
      create trigger wait_at_gate after insert on event for each row execute function wait_at_gate()`);
    await admin.query('select pg_advisory_lock($1)', [GATE]);
    const waiting = async (type: string): Promise<number> => {
      const text = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and wait_event = $1`;
      return (await admin.query(text, [type])).rowCount ?? 0;
    };
    const [one, other] = [1, 2].map(() => openDatabases(server.connection, undefined, UNLIMITED));
    if (one === undefined || other === undefined) throw new Error('a database is missing');
    opened.push(one, other);
    const first = reportErrors(one.background);
    await waitFor('the first process to write', async () => (await waiting('advisory')) === 1);
    let isDone = false;
    const second = reportErrors(other.background).then(() => {
      isDone = true;
    });
    await waitFor(
      'the second process to write, too, or to end',
      async () => isDone || (await waiting('advisory')) === 2,
    );
    recorder.record(failed());
    await admin.query('select pg_advisory_unlock($1)', [GATE]);
    await Promise.all([first, second]);
    await recorder.stop();
    await admin.query('drop function wait_at_gate cascade');
    const { rows } = await admin.query(
      "select payload::json -> 'count' as count from event where type = 'error.recorded'",
    );
    expect(rows).toEqual([{ count: 3 }]);
    const { rows: pending } = await admin.query('select count::int from error_report where code = $1', [code]);
    expect(pending).toEqual([{ count: 1 }]);
  });
});

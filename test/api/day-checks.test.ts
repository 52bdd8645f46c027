import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { ServiceStatus } from '../../sdk/client.ts';
import { startCheckingDays } from '../../server/background/jobs/verify-books.ts';
import { checkDueDays, type DayChecks, READ_DUE_DAYS } from '../../server/store/ledger/day-check.ts';
import { waitFor } from '../harness/process.ts';
import { startForTest, useDirectory } from '../harness/service.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';

// Tests that the last day of each card program is checked once after it is over, and that the status shows the result.

const server = await useServer();
const ledger = useLedger(server.connection);
/** A ledger that acts as another process. */
const other = useLedger(server.connection);
const superuser = await useConnection({ ...server.connection, user: 'postgres' });
const { path: directory } = await useDirectory();

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** The first full day of the tests, by UTC. */
const FIRST = Math.ceil(Date.now() / DAY) * DAY;
const dateOf = (time: number) => new Date(time).toISOString().slice(0, 10);

type Found = { readonly differing: string[]; readonly unchecked: string[]; readonly failures: unknown[] };
const running: (() => Promise<void>)[] = [];

/** Starts the job, which looks for due days every 10 ms. */
function start(of = ledger): Found {
  const found: Found = { differing: [], unchecked: [], failures: [] };
  const reports = {
    onMismatch: (_: string, day: string) => found.differing.push(day),
    onUnchecked: (programId: string, day: string, error: unknown) =>
      found.unchecked.push(`${programId.replaceAll('-', '')} ${day} ${String(error)}`),
    onFailure: (error: unknown) => found.failures.push(error),
  };
  running.push(startCheckingDays(of.database, reports, 10).stop);
  return found;
}

async function stopAll(): Promise<void> {
  for (const stop of running.splice(0)) await stop();
}

afterEach(stopAll);

const moveClock = (moment: number) =>
  ledger.call('move_clock', { seconds_ahead: Math.ceil((moment - Date.now()) / 1000) });
/** Moves the clock as if that had been two minutes ago, so that days without a result are late. */
async function setClock(moment: number): Promise<void> {
  await moveClock(moment);
  await superuser.query("update sandbox_clock set moved_at = moved_at - interval '2 minutes'");
}

const status = async () => JSON.parse((await ledger.call('get_status')).body) as ServiceStatus;
const yesterday = async () => (await status()).yesterday;
const isChecked = async () => {
  const { programs, checked } = await yesterday();
  return programs === checked && (await ledger.database.read(READ_DUE_DAYS)).length === 0;
};
const stored = async (day: number) =>
  (await superuser.query('select program_id, adds_up, checked_at from day_check where day = $1', [dateOf(day)])).rows;

async function programWith(name: string, time_zone: string): Promise<string> {
  const created = await ledger.call('create_program', { name, time_zone, currency: 'USD' });
  const { program_id } = JSON.parse(created.body) as { readonly program_id: string };
  await ledger.call('create_deposit', { amount: 1_000 }, { params: { program_id } });
  return program_id;
}

const inner = (programId: string) => programId.replace('prog_', '');

/** Changes the amount of a deposit, which the service itself never does. */
async function plant(programId: string, by: number): Promise<void> {
  await superuser.query('alter table posting disable trigger posting_append_only');
  await superuser.query("update posting set amount = amount + $2 where program_id = $1 and purpose = 'deposit'", [
    inner(programId),
    by,
  ]);
  await superuser.query('alter table posting enable trigger posting_append_only');
}

let right: string;
let wrong: string;

beforeAll(async () => {
  // Noon in UTC is 21:00 in Tokyo and 06:00 in Bogota, where no day is longer than another.
  await setClock(FIRST + 12 * HOUR);
  right = await programWith('Right', 'Asia/Tokyo');
  wrong = await programWith('Wrong', 'America/Bogota');
});

test('counts no card program that was created today, and checks no day that can still get postings', async () => {
  await setClock(FIRST + 12 * HOUR);
  start();
  await waitFor('the check', isChecked);
  // Only the sandbox's card program is older than a day.
  expect(await yesterday()).toMatchObject({ programs: 1, not_adding_up: 0, days: [] });
  expect((await yesterday()).message).toBe('Yesterday added up for 1 card program.');
  await stopAll();
  // Midnight in Tokyo, and a minute later.
  await setClock(FIRST + 15 * HOUR + 1_000);
  expect(await ledger.database.read(READ_DUE_DAYS)).toEqual([]);
  expect((await yesterday()).message).toBe('Yesterday is being checked: 1 of 2 card programs.');
  await setClock(FIRST + 15 * HOUR + 60_000);
  expect(await ledger.database.read(READ_DUE_DAYS)).toHaveLength(1);
});

test('checks each day once with two processes, each in its time zone, and names the day that does not add up', async () => {
  await setClock(FIRST + 16 * HOUR);
  start();
  await waitFor('the day in Tokyo', isChecked);
  expect(await yesterday()).toMatchObject({ programs: 2, not_adding_up: 0 });
  const [ofTokyo] = await stored(FIRST);
  await stopAll();
  await plant(wrong, 1);
  await setClock(FIRST + DAY + 12 * HOUR);
  const found = [start(), start(other), start()];
  await waitFor('the other days', isChecked);
  await stopAll();
  expect(found.flatMap(({ differing }) => differing)).toEqual([dateOf(FIRST)]);
  expect(found.flatMap(({ failures }) => failures)).toEqual([]);
  const day = { program_id: wrong, program_name: 'Wrong', day: dateOf(FIRST) };
  const message = 'Yesterday does not add up for 1 of 3 card programs: Wrong.';
  const { yesterday: shown, degraded } = await status();
  expect(shown).toEqual({ programs: 3, checked: 3, not_checked: 0, not_adding_up: 1, days: [day], message });
  expect(degraded).toContainEqual({
    name: 'day_not_adding_up',
    message,
    runbook: 'docs/runbook/books-not-balanced.md',
  });
  const report = JSON.parse((await ledger.call('get_day', {}, { params: { program_id: wrong } })).body);
  expect(report).toMatchObject({ day: dateOf(FIRST), adds_up: false });
  // The day in Tokyo was not checked again.
  expect(await stored(FIRST)).toContainEqual(ofTokyo);
});

test('checks a day that does not add up again after an hour, until it adds up', async () => {
  await setClock(FIRST + DAY + 12.5 * HOUR);
  expect(await ledger.database.read(READ_DUE_DAYS)).toEqual([]);
  await plant(wrong, -1);
  await setClock(FIRST + DAY + 13.5 * HOUR);
  start();
  await waitFor('the check', async () => (await yesterday()).not_adding_up === 0);
  expect((await yesterday()).message).toBe('Yesterday added up for all 3 card programs.');
});

test('checks the other days if one cannot be checked, and then tries again', async () => {
  await setClock(FIRST + 2 * DAY + 12 * HOUR);
  // The report of a closed day is unreadable for the check of the next day.
  await superuser.query('insert into closed_day values ($1, $2, $3)', [inner(right), dateOf(FIRST + DAY), '"damaged"']);
  const found = start();
  await waitFor('the failure', async () => found.unchecked.length === 1);
  expect(found.unchecked[0]).toMatch(`${inner(right)} ${dateOf(FIRST + DAY)} `);
  await waitFor('the other checks', async () => (await yesterday()).checked === 2);
  const message = 'Yesterday was not checked for 1 of 3 card programs: Right.';
  const { yesterday: shown, degraded } = await status();
  expect(shown).toMatchObject({ programs: 3, checked: 2, not_checked: 1, not_adding_up: 0, message });
  expect(degraded).toContainEqual({ name: 'day_not_checked', message, runbook: 'docs/runbook/books-not-verified.md' });
  await stopAll();
  await superuser.query('delete from closed_day');
  start();
  await waitFor('the check', isChecked);
});

test('checks only yesterday if no process ran for days, and replaces the good results', async () => {
  await setClock(FIRST + 40 * DAY + 12 * HOUR);
  start();
  await waitFor('the check', isChecked);
  const { rows } = await superuser.query('select count(*)::integer, day::text from day_check group by day');
  expect(rows).toEqual([{ count: 3, day: dateOf(FIRST + 39 * DAY) }]);
});

/** Makes the day that begins at this time one that does not add up, and checks it on the next day. */
async function damage(day: number): Promise<void> {
  await setClock(day + 12 * HOUR);
  await ledger.call('create_deposit', { amount: 500 }, { params: { program_id: wrong } });
  await plant(wrong, 1);
  await setClock(day + DAY + 12 * HOUR);
  start();
  await waitFor('the check', isChecked);
  await stopAll();
}

test('shows a day that does not add up on later days, too, until it adds up', async () => {
  const day = FIRST + 42 * DAY;
  await damage(day);
  await setClock(day + 2 * DAY + 12 * HOUR);
  // Days that were never checked come first.
  const due = (await ledger.database.read(READ_DUE_DAYS)).map((row) => row.day);
  expect(due).toEqual([...Array(3).fill(dateOf(day + DAY)), dateOf(day)]);
  start();
  await waitFor('the check', isChecked);
  await stopAll();
  const earlier = `1 earlier day does not add up: ${dateOf(day)} of Wrong.`;
  const { yesterday: shown, degraded } = await status();
  expect(shown).toMatchObject({
    ...{ checked: 3, not_adding_up: 1, message: `Yesterday added up for all 3 card programs. ${earlier}` },
    days: [{ program_id: wrong, program_name: 'Wrong', day: dateOf(day) }],
  });
  expect(degraded).toContainEqual(expect.objectContaining({ name: 'day_not_adding_up', message: earlier }));
  await setClock(day + 2 * DAY + 12.5 * HOUR);
  expect(await ledger.database.read(READ_DUE_DAYS)).toEqual([]);
  await plant(wrong, -1);
  await setClock(day + 2 * DAY + 13.5 * HOUR);
  start();
  await waitFor('the check', async () => (await yesterday()).not_adding_up === 0);
});

test('shows a day that does not add up only on the next day if someone has closed it', async () => {
  const day = FIRST + 45 * DAY;
  await damage(day);
  const note = 'The bank has corrected this.';
  await ledger.call('close_day', { day: dateOf(day), note }, { params: { program_id: wrong } });
  expect((await yesterday()).message).toBe('Yesterday does not add up for 1 of 3 card programs: Wrong.');
  await setClock(day + 2 * DAY + 12 * HOUR);
  start();
  await waitFor('the check', isChecked);
  expect((await yesterday()).message).toBe('Yesterday added up for all 3 card programs.');
  expect(await stored(day)).toEqual([]);
  await superuser.query('delete from closed_day');
  await plant(wrong, -1);
});

test('does not count a result from before a clock went back', async () => {
  const day = FIRST + 50 * DAY;
  await setClock(day + DAY + 12 * HOUR);
  start();
  await waitFor('the check', isChecked);
  await stopAll();
  const store = (by: string, isRight: boolean) =>
    superuser.query(`update day_check set adds_up = $3, checked_at = ${by} where program_id = $1 and day = $2`, [
      inner(right),
      dateOf(day),
      isRight,
    ]);
  for (const time of ["service_now() + interval '1 minute'", "day::timestamp at time zone 'Asia/Tokyo'"])
    for (const isRight of [true, false]) {
      await store(time, isRight);
      expect(await ledger.database.read(READ_DUE_DAYS)).toMatchObject([{ time_zone: 'Asia/Tokyo' }]);
      expect(await yesterday()).toMatchObject({ checked: 2, not_adding_up: 0 });
    }
  start();
  await waitFor('the check', isChecked);
});

test('ends the round if its connection is lost, and in the next round checks the remaining days first', async () => {
  await setClock(FIRST + 52 * DAY + 12 * HOUR);
  const [first] = await ledger.database.read(READ_DUE_DAYS);
  const checked: string[] = [];
  const failures: boolean[] = [];
  const checks: DayChecks = {
    check: async (read, { programId }) => {
      checked.push(programId);
      if (programId !== first?.program_id) return true;
      const [session] = await read({ name: 'session', text: 'select pg_backend_pid() as pid', values: [] });
      await superuser.query('select pg_terminate_backend($1)', [session?.pid]);
      await read({ name: 'lost', text: 'select 1', values: [] });
      return true;
    },
    onFailure: (_, __, isRepeated) => failures.push(isRepeated),
    failed: new Set(),
  };
  for (const _ of [1, 2, 3]) {
    await checkDueDays(ledger.database, checks, new AbortController().signal).catch(() => undefined);
  }
  const id = String(first?.program_id);
  expect(checked[0]).toBe(id);
  expect(checked.slice(1, 3)).not.toContain(id);
  expect(checked.slice(3)).toEqual([id, id]);
  expect(failures).toEqual([false, true, true]);
});

test('waits longer while another process checks days', async () => {
  await setClock(FIRST + 53 * DAY + 12 * HOUR);
  await superuser.query("select pg_advisory_lock(7204, 'day_check'::regclass::oid::int)");
  const alone = vi.spyOn(ledger.database, 'alone');
  try {
    start();
    await waitFor('the attempt', async () => alone.mock.calls.length > 0);
    await pause(300);
    expect(alone.mock.calls.length).toBe(1);
  } finally {
    alone.mockRestore();
    await superuser.query('select pg_advisory_unlock_all()');
  }
});

test('no day is late just after the clock of a sandbox was moved', async () => {
  await moveClock(FIRST + 53 * DAY + 12 * HOUR);
  expect((await yesterday()).message).toMatch(/^Yesterday is being checked/);
  await setClock(FIRST + 53 * DAY + 12 * HOUR);
  expect((await yesterday()).message).toMatch(/^Yesterday was not checked for 3 of 3 card programs/);
});

test('a card program with a time zone that the server does not know affects no other', async () => {
  await setClock(FIRST + 54 * DAY + 12 * HOUR);
  const setZone = (zone: string) =>
    superuser.query('update program set time_zone = $2 where program_id = $1', [inner(right), zone]);
  try {
    await setZone('Mars/Olympus');
    const found = start();
    await waitFor('the other checks', async () => (await yesterday()).checked === 2);
    await waitFor('the failure', async () => found.unchecked.length === 1);
    expect(found.unchecked[0]).toMatch(new RegExp(`^${inner(right)} .*time zone "Mars/Olympus" not recognized`));
    const { yesterday: shown, unknown, relay_lag_seconds: lag } = await status();
    expect(shown).toMatchObject({ programs: 3, checked: 2, not_checked: 1 });
    expect(shown.message).toBe('Yesterday was not checked for 1 of 3 card programs: Right.');
    expect(unknown).toEqual([]);
    expect(lag).not.toBeNull();
  } finally {
    await setZone('Asia/Tokyo');
  }
});

test('ends the round if a result cannot be stored', async () => {
  await setClock(FIRST + 55 * DAY + 12 * HOUR);
  const checked: string[] = [];
  const checks: DayChecks = {
    check: async (read, { programId }) => {
      checked.push(programId);
      await read({ name: 'read_only', text: 'set default_transaction_read_only = on', values: [] });
      return true;
    },
    onFailure: () => undefined,
    failed: new Set(),
  };
  expect(await checkDueDays(ledger.database, checks, new AbortController().signal)).toBe('failed');
  expect(checked).toHaveLength(1);
});

test('shows all other figures if the days cannot be read', async () => {
  await superuser.query('revoke select on day_check from transfer_service_background');
  try {
    const { yesterday: shown, unknown, relay_lag_seconds: lag } = await status();
    expect(new Set(Object.values(shown))).toEqual(new Set([null]));
    expect(unknown).toEqual(['days']);
    expect(lag).not.toBeNull();
  } finally {
    await superuser.query('grant select on day_check to transfer_service_background');
  }
});

test('checks a day in another process if the first one is killed before it has stored the result', async () => {
  await setClock(FIRST + 61 * DAY + 12 * HOUR);
  const startProcess = (name: string) =>
    startForTest({ DATABASE_URL: server.embedded.url, DATA_DIR: `${directory}/${name}` });
  const first = await startProcess('first');
  await superuser.query('begin; lock table day_check in share mode');
  const waiting = async () => {
    const { rows } = await superuser.query("select from pg_locks where locktype = 'advisory' and classid = 7204");
    return rows.length > 0;
  };
  try {
    await waitFor('a check that cannot be stored', waiting);
    await first.kill();
  } finally {
    await superuser.query('rollback');
  }
  const second = await startProcess('second');
  await waitFor('the check', async () => {
    const { programs, checked } = (await second.client.status.get()).yesterday;
    return programs === checked;
  });
  expect(await stored(FIRST + 60 * DAY)).toHaveLength(3);
  await waitFor('the overview', async () => (await second.client.status.overview()).status.yesterday.checked === 3);
  const { yesterday: shown } = (await second.client.status.overview()).status;
  expect(shown.message).toBe('Yesterday added up for all 3 card programs.');
});

test('the log names the card program and the day of a check that fails', async () => {
  await setClock(FIRST + 63 * DAY + 12 * HOUR);
  const day = dateOf(FIRST + 62 * DAY);
  await superuser.query('insert into closed_day values ($1, $2, $3)', [inner(right), day, '"damaged"']);
  const { output } = await startForTest({ DATABASE_URL: server.embedded.url, DATA_DIR: `${directory}/third` });
  const line = () =>
    output()
      .split('\n')
      .find((text) => text.includes('"job":"day_checks"'));
  await waitFor('the line', async () => line() !== undefined);
  expect(JSON.parse(line() ?? '')).toMatchObject({ event: 'job_failed', programId: right, day });
});

import { afterEach, beforeAll, expect, test } from 'vitest';
import type { ServiceStatus } from '../../sdk/client.ts';
import { startCheckingDays } from '../../server/background/jobs/check-days.ts';
import { READ_DUE_DAYS } from '../../server/store/ledger/day-check.ts';
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

type Found = { readonly differing: string[]; readonly failures: unknown[] };
const running: (() => Promise<void>)[] = [];

/** Starts the job, which looks for due days every 10 ms. */
function start(of = ledger): Found {
  const found: Found = { differing: [], failures: [] };
  const reports = {
    onMismatch: (_: string, day: string) => found.differing.push(day),
    onFailure: (error: unknown) => found.failures.push(error),
  };
  running.push(startCheckingDays(of.database, reports, 10).stop);
  return found;
}

async function stopAll(): Promise<void> {
  for (const stop of running.splice(0)) await stop();
}

afterEach(stopAll);

const setClock = (moment: number) =>
  ledger.call('move_clock', { seconds_ahead: Math.ceil((moment - Date.now()) / 1000) });

const status = async () => JSON.parse((await ledger.call('get_status')).body) as ServiceStatus;
const yesterday = async () => (await status()).yesterday;
const isChecked = async () => {
  const { programs, checked } = await yesterday();
  return programs === checked;
};
const stored = async (day: number) =>
  (await superuser.query('select program_id, adds_up, checked_at from day_check where day = $1', [dateOf(day)])).rows;

async function programWith(name: string, time_zone: string): Promise<string> {
  const created = await ledger.call('create_program', { name, time_zone, currency: 'USD' });
  const { program_id } = JSON.parse(created.body) as { readonly program_id: string };
  await ledger.call('create_deposit', { amount: 1_000 }, { params: { program_id } });
  return program_id;
}

/** Changes the amount of a deposit, which the service itself never does. */
async function plant(programId: string, by: number): Promise<void> {
  await superuser.query('alter table posting disable trigger posting_append_only');
  await superuser.query("update posting set amount = amount + $2 where program_id = $1 and purpose = 'deposit'", [
    programId.replace('prog_', ''),
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
  expect(shown).toEqual({ programs: 3, checked: 3, not_adding_up: 1, days: [day], message });
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
  await superuser.query('insert into closed_day values ($1, $2, $3)', [
    right.replace('prog_', ''),
    dateOf(FIRST + DAY),
    '"damaged"',
  ]);
  const found = start();
  await waitFor('the failure', async () => found.failures.length === 1);
  expect(await yesterday()).toMatchObject({ programs: 3, checked: 2, not_adding_up: 0 });
  await stopAll();
  await superuser.query('delete from closed_day');
  start();
  await waitFor('the check', isChecked);
});

test('checks only yesterday if no process ran for days, and replaces the results', async () => {
  await setClock(FIRST + 40 * DAY + 12 * HOUR);
  start();
  await waitFor('the check', isChecked);
  const { rows } = await superuser.query('select count(*)::integer, day::text from day_check group by day');
  expect(rows).toEqual([{ count: 3, day: dateOf(FIRST + 39 * DAY) }]);
});

test('checks a day in another process if the first one is killed before it has stored the result', async () => {
  await setClock(FIRST + 41 * DAY + 12 * HOUR);
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
  expect(await stored(FIRST + 40 * DAY)).toHaveLength(3);
  await waitFor('the overview', async () => (await second.client.status.overview()).status.yesterday.checked === 3);
  const { yesterday: shown } = (await second.client.status.overview()).status;
  expect(shown.message).toBe('Yesterday added up for all 3 card programs.');
});

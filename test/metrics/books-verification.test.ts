import { afterEach, beforeEach, expect, test } from 'vitest';
import { startVerifyingBooks } from '../../server/background/jobs/verify-books.ts';
import { readLedgerFigures } from '../../server/store/figures.ts';
import type { BooksVerification } from '../../server/store/ledger/books-verification.ts';
import { waitFor } from '../harness/process.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';

const server = await useServer();
const ledger = useLedger(server.connection);
/** A ledger that acts as another process. */
const other = useLedger(server.connection);
const superuser = await useConnection({ ...server.connection, user: 'postgres' });
/** A separate session, because PostgreSQL caches the list of sessions within a transaction. */
const watcher = await useConnection({ ...server.connection, user: 'postgres' });

/** Checks every 10 ms whether a verification is due, which is an hour after the last one. */
const TIMES = { checkMilliseconds: 10, pauseMilliseconds: 3_600_000 };

type Found = {
  readonly verified: BooksVerification[];
  readonly differing: BooksVerification[];
  readonly failures: unknown[];
  readonly repeated: unknown[];
};
const running: (() => Promise<void>)[] = [];

function start(of = ledger, times = TIMES): Found {
  const found: Found = { verified: [], differing: [], failures: [], repeated: [] };
  const { stop } = startVerifyingBooks(
    of.database,
    {
      onVerified: (verification) => found.verified.push(verification),
      onMismatch: (verification) => found.differing.push(verification),
      onFailure: (error, isRepeated) => (isRepeated === true ? found.repeated : found.failures).push(error),
    },
    times,
  );
  running.push(stop);
  return found;
}

async function stored(): Promise<readonly { balanced: boolean; accounts: bigint }[]> {
  return (await superuser.query('select * from books_verification order by finished_at')).rows;
}

/** Stores a verification that ended `agoSeconds` ago and took `durationSeconds`. */
async function note(agoSeconds: number, durationSeconds: number): Promise<void> {
  await superuser.query(
    `insert into books_verification values (
      clock_timestamp() - make_interval(secs => $1), clock_timestamp() - make_interval(secs => $1 + $2),
      true, 1, 0, 0, '{}')`,
    [agoSeconds, durationSeconds],
  );
}

beforeEach(async () => void (await superuser.query('delete from books_verification')));
afterEach(async () => {
  for (const stop of running.splice(0)) await stop();
});

test('verifies the books once with several processes, and stores the result', async () => {
  await ledger.call('create_transfer', { amount: 5, card_id: 'card_active' });
  const found = [start(), start(other), start()];
  await waitFor('a verification', async () => found.some(({ verified }) => verified.length > 0));
  // Gives every process time to check many times.
  await new Promise((wake) => setTimeout(wake, 200));
  const verified = found.flatMap((one) => one.verified);
  expect(verified).toHaveLength(1);
  expect(verified[0]).toMatchObject({
    balanced: true,
    differingAccounts: 0,
    differingHolds: 0,
    unbalancedCurrencies: [],
  });
  expect(await stored()).toMatchObject([{ balanced: true }]);
  expect(found.flatMap((one) => [...one.differing, ...one.failures])).toEqual([]);
});

test('verifies again after the pause, but not before 19 times the duration of the last verification has passed', async () => {
  await note(3_700, 300);
  const found = start();
  await new Promise((wake) => setTimeout(wake, 200));
  expect(found.verified).toEqual([]);
  await superuser.query('delete from books_verification');
  await note(3_700, 100);
  await waitFor('the verification', async () => found.verified.length === 1);
});

test('ignores a verification from before the clock was set back', async () => {
  await note(-36_000, 1);
  expect((await readLedgerFigures(ledger.database)).booksVerifiedAt).toBeNull();
  const found = start();
  await waitFor('the verification', async () => found.verified.length === 1);
  const { booksVerifiedAt } = await readLedgerFigures(ledger.database);
  expect(booksVerifiedAt).toEqual(found.verified[0]?.finishedAt);
  // The row is deleted. Otherwise, it would count again once the clock reaches its time.
  expect(await stored()).toHaveLength(1);
  await new Promise((wake) => setTimeout(wake, 200));
  expect(found.verified).toHaveLength(1);
});

test('reports and stores a balance that was changed without the service', async () => {
  const change = (by: number) =>
    superuser.query("update account set balance = balance + $1 where kind = 'world' and currency = 'USD'", [by]);
  await change(7);
  try {
    const found = start();
    await waitFor('the report', async () => found.differing.length === 1);
    expect(found.differing).toMatchObject([{ balanced: false, differingAccounts: 1, unbalancedCurrencies: ['USD'] }]);
    expect(await stored()).toMatchObject([{ balanced: false }]);
  } finally {
    await change(-7);
  }
});

test('ends a waiting verification at once when the service stops, and its statement soon after', async () => {
  await superuser.query('begin; lock table posting in access exclusive mode');
  const waiting = "select count(*)::integer as count from pg_stat_activity where wait_event_type = 'Lock'";
  const count = async () => Number((await watcher.query<{ count: number }>(waiting)).rows[0]?.count);
  try {
    const found = start();
    await waitFor('the wait', async () => (await count()) === 1);
    // No other process begins a verification in the meantime.
    const second = start(other);
    await Promise.all(running.splice(0).map((stop) => stop()));
    await waitFor('the end of the statement', async () => (await count()) === 0);
    expect([...found.verified, ...second.verified, ...found.failures, ...second.failures]).toEqual([]);
  } finally {
    await superuser.query('rollback');
  }
  const found = start();
  await waitFor('a verification', async () => found.verified.length === 1);
});

test('reports whether a failure is the first or a repeated one, and retries the verification', async () => {
  await superuser.query('alter table hold rename to hold_away');
  let found: Found;
  try {
    found = start();
    await waitFor('the failure', async () => found.failures.length === 1);
    await waitFor('another one', async () => found.repeated.length > 0);
    expect(found.failures).toHaveLength(1);
  } finally {
    await superuser.query('alter table hold_away rename to hold');
  }
  await waitFor('a verification', async () => found.verified.length === 1);
});

import type pg from 'pg';
import type { Database, Row, Statement } from '../connection/database.ts';
import { toQuery } from '../connection/work.ts';
import { BOOLEAN, columns, INTEGER, many, NUMBER, type RowOf, statement, TEXT, TIME } from '../sql.ts';
import { COUNT_DIFFERING_HOLDS, FIND_DIFFERING_ACCOUNTS, SUM_KINDS, toKindSum } from './trial-balance.ts';

// Invariant: The books are verified by one process at a time, and differences are reported
// Kept by: an advisory lock, and a second check of the last result
// Tested by: `test/metrics/books-verification.test.ts`

const VERIFICATION = columns({
  finishedAt: TIME,
  startedAt: TIME,
  balanced: BOOLEAN,
  accounts: NUMBER,
  /** At most 100 are counted. */
  differingAccounts: INTEGER,
  differingHolds: NUMBER,
});

/** The result of a verification of the books. Times are in milliseconds since 1970, by the database's clock. */
export type BooksVerification = RowOf<typeof VERIFICATION.columns> & {
  readonly unbalancedCurrencies: readonly string[];
};

/**
 * SQL: runs before a verification. As with the relay, the lock belongs to the whole database, so its number depends on the schema.
 * It is released when the connection ends. If the client is gone, a statement ends within a second. No statement uses more than one
 * core.
 */
const PREPARE = `select set_config('client_connection_check_interval', '1000', false),
  set_config('max_parallel_workers_per_gather', '0', false),
  pg_try_advisory_lock(7203, 'books_verification'::regclass::oid::int) as taken, clock_timestamp() as now`;

export const VERIFICATION_RETENTION_DAYS = 400;

/**
 * SQL: the last verification. If it is in the future, it is from before the clock was set back, and says nothing about the
 * current state.
 */
export const LAST_VERIFICATION =
  'from books_verification where finished_at <= clock_timestamp() order by finished_at desc limit 1';

export const READ_LAST_VERIFICATION: Statement = {
  name: 'read_last_books_verification',
  text: `select ${VERIFICATION.names}, unbalanced_currencies, clock_timestamp() as now ${LAST_VERIFICATION}`,
  values: [],
};

export type LastVerification = BooksVerification & { readonly ageMilliseconds: number };

export function toLastVerification([row]: readonly Row[]): LastVerification | undefined {
  if (row === undefined) return undefined;
  const verification = toVerification(row);
  return { ...verification, ageMilliseconds: (row.now as Date).getTime() - verification.finishedAt };
}

function toVerification(row: Row): BooksVerification {
  return { ...VERIFICATION.read(row), unbalancedCurrencies: row.unbalanced_currencies as readonly string[] };
}

const INSERT_VERIFICATION = statement(
  'insert_books_verification',
  {
    startedAt: TIME,
    balanced: BOOLEAN,
    accounts: NUMBER,
    differingAccounts: INTEGER,
    differingHolds: NUMBER,
    unbalancedCurrencies: many(TEXT),
    days: INTEGER,
  },
  `with old as (
      delete from books_verification
      where finished_at not between statement_timestamp() - make_interval(days => :days) and statement_timestamp()
    )
    insert into books_verification (finished_at, started_at, balanced, accounts, differing_accounts, differing_holds,
      unbalanced_currencies)
    values (statement_timestamp(), :startedAt, :balanced, :accounts, :differingAccounts, :differingHolds,
      :unbalancedCurrencies)
    returning ${VERIFICATION.names}, unbalanced_currencies`,
);

/**
 * Compares every balance with its postings and holds, each in one snapshot, and stores the result. Uses a separate connection
 * during that time. Undefined if another process is verifying, or has just done so (`isDue` is false for its result). Rejects when
 * the signal aborts.
 */
export function verifyAndStore(
  database: Database,
  isDue: (last: LastVerification | undefined) => boolean,
  signal: AbortSignal,
): Promise<BooksVerification | undefined> {
  return database.alone(async (client) => {
    const [prepared] = (await client.query<{ taken: boolean; now: Date }>(PREPARE)).rows;
    if (prepared?.taken !== true) return undefined;
    if (!isDue(toLastVerification(await run(client, READ_LAST_VERIFICATION)))) return undefined;
    const sums = (await run(client, SUM_KINDS)).map(toKindSum);
    const differingAccounts = (await run(client, FIND_DIFFERING_ACCOUNTS)).length;
    const differingHolds = Number((await run(client, COUNT_DIFFERING_HOLDS))[0]?.accounts);
    const byCurrency = new Map<string, bigint>();
    for (const { currency, balance } of sums) byCurrency.set(currency, (byCurrency.get(currency) ?? 0n) + balance);
    const unbalancedCurrencies = [...byCurrency].flatMap(([currency, sum]) => (sum === 0n ? [] : [currency]));
    const [stored] = await run(
      client,
      INSERT_VERIFICATION({
        startedAt: prepared.now.getTime(),
        balanced: differingAccounts === 0 && differingHolds === 0 && unbalancedCurrencies.length === 0,
        accounts: sums.reduce((count, { accounts }) => count + accounts, 0),
        differingAccounts,
        differingHolds,
        unbalancedCurrencies,
        days: VERIFICATION_RETENTION_DAYS,
      }),
    );
    return stored && toVerification(stored);
  }, signal);
}

async function run(client: pg.ClientBase, statement: Statement): Promise<readonly Row[]> {
  return (await client.query<Row>(toQuery(statement))).rows;
}

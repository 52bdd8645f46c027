import pg from 'pg';
import { CommitUnknown, describeFailure, isFatal, StoreFailure } from './failure.ts';

/** A prepared statement with its values. One name, one text: PostgreSQL keeps its plan under the name. */
export type Statement = { readonly name: string; readonly text: string; readonly values: readonly unknown[] };

/** A row as PostgreSQL gives it; `bigint` columns are JavaScript bigints, `timestamptz` columns Dates. */
export type Row = Record<string, unknown>;

/**
 * One transaction in two round trips: BEGIN with every statement of `load`, then every statement of the decision with
 * COMMIT. `decide` is pure and gets the rows of each load statement under its name.
 */
export type Work<Result, Name extends string = string> = Steps<Result, Name> & {
  /** Fences the transaction: a commit whose answer is lost is settled by this id (see {@link Database.settle}). */
  readonly batchId: string;
};

/** What a transaction does, before it has an id. */
export type Steps<Result, Name extends string = string> = {
  /** Sent in this order; null where there is nothing to ask, which loads no rows. */
  readonly load: { readonly [Key in Name]: Statement | null };
  readonly decide: (loaded: Loaded<Name>, batchId: string) => Decision<Result>;
};

/** The rows that each load statement gave. */
export type Loaded<Name extends string = string> = { readonly [Key in Name]: readonly Row[] };

/** What a decision comes to: the result, and the statements that write it; none means nothing changes. */
export type Decision<Result> = { readonly result: Result; readonly writes: readonly Statement[] };

/** How a transaction with a lost answer ended: it `committed`, it never can (`abandoned`), or it is not known yet. */
export type Settlement = 'committed' | 'abandoned' | 'unknown';

/** Where PostgreSQL is, as `pg` takes it. */
export type ConnectionSettings =
  | { readonly connectionString: string }
  | { readonly host: string; readonly port: number; readonly user: string; readonly database: string };

/** Time limits in milliseconds; nothing in the store waits longer for anything. */
export const LIMITS = {
  /** For a connection: a server that is there answers in a few. */
  connect: 1000,
  /** For a lock: the longest that a batch stands behind a stranger. */
  lock: 500,
  statement: 1500,
  /** Between two round trips: only a frozen process takes longer. */
  idleInTransaction: 3000,
  /** For an answer on an open connection; a little over `statement`, so that a server that lives speaks first. */
  answer: 1800,
} as const;

type Begun<Name extends string> = { readonly client: pg.PoolClient; readonly loaded: Loaded<Name> };

const READERS = 6;
const WRITERS = 6;

/**
 * Every statement of a transaction finds its rows by key. One plan therefore suits every call, and planning the merged
 * write of a group anew would take longer than running it for a lone transfer. But a plan that is made once must not be
 * made for a young, nearly empty table and kept when it has grown: reading whole tables and joining by hash, which the
 * planner prefers then, are ruled out.
 */
export const WRITER_OPTIONS = [
  '-c plan_cache_mode=force_generic_plan',
  '-c enable_seqscan=off',
  '-c enable_hashjoin=off',
  '-c enable_mergejoin=off',
];

/**
 * How long a writing connection, and with it each of its plans, lives, in seconds. A plan that was made for a nearly
 * empty table may probe the wrong one of two indexes; when the table has grown it must not stay.
 */
const WRITER_LIFETIME = 60;

const FENCE = {
  name: 'fence_batch',
  text: 'insert into write_batch (batch_id, created_at) values ($1, clock_timestamp())',
};

const ABANDON = {
  name: 'abandon_batch',
  text: `insert into write_batch (batch_id, abandoned, created_at) values ($1, true, clock_timestamp())
    on conflict (batch_id) do nothing`,
};

const LOOK_UP_FENCE = { name: 'look_up_batch', text: 'select abandoned from write_batch where batch_id = $1' };

/** The door to PostgreSQL. Everything that reads or writes goes through one of its three methods. */
export class Database {
  readonly #settings: ConnectionSettings;
  readonly #readers: pg.Pool;
  readonly #writers: pg.Pool;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
    this.#readers = openPool(settings, { max: READERS }, []);
    this.#writers = openPool(settings, { max: WRITERS, maxLifetimeSeconds: WRITER_LIFETIME }, WRITER_OPTIONS);
  }

  /**
   * Runs one statement outside any transaction of ours. Throws {@link StoreFailure}.
   * A connection that the server closed while it was idle is replaced once, silently.
   */
  async read(statement: Statement): Promise<readonly Row[]> {
    try {
      return (await this.#readers.query(toQuery(statement))).rows as Row[];
    } catch (error) {
      const failure = new StoreFailure(error);
      if (!failure.connectionLost || failure.timedOut) throw failure;
    }
    try {
      return (await this.#readers.query(toQuery(statement))).rows as Row[];
    } catch (error) {
      throw new StoreFailure(error);
    }
  }

  /**
   * Runs a transaction. Throws {@link StoreFailure} when it certainly changed nothing and {@link CommitUnknown} when
   * the answer to COMMIT was lost; whatever `decide` throws is passed on after a rollback.
   */
  async transact<Result, Name extends string>(work: Work<Result, Name>): Promise<Result> {
    const { client, loaded } = await this.#begin(work);
    let sound = false;
    try {
      const { result, writes } = await decideOrRollBack(client, work, loaded);
      await save(client, work.batchId, writes, result);
      sound = true;
      return result;
    } catch (error) {
      sound = !(error instanceof CommitUnknown) && !(error instanceof StoreFailure && error.connectionLost);
      throw error;
    } finally {
      client.release(!sound);
    }
  }

  /** Like {@link transact}, but settles a lost commit before it answers, until `deadline` (`performance.now()`). */
  async transactSettled<Result, Name extends string>(work: Work<Result, Name>, deadline: number): Promise<Result> {
    try {
      return await this.transact(work);
    } catch (error) {
      if (!(error instanceof CommitUnknown)) throw error;
      const settlement = error.settleable ? await this.settle(work.batchId, deadline) : 'unknown';
      if (settlement === 'committed') return error.result as Result;
      if (settlement === 'abandoned') throw new StoreFailure(error.cause);
      throw error;
    }
  }

  /**
   * Ends the doubt about a commit whose answer was lost. Reading back is not enough: the server may be committing still.
   * So the same batch id is inserted as abandoned: if that succeeds the transaction can never commit, and if it
   * conflicts the row says who was first.
   */
  async settle(batchId: string, deadline: number): Promise<Settlement> {
    const remaining = Math.max(0, deadline - performance.now());
    let timer: NodeJS.Timeout | undefined;
    const outOfTime = new Promise<Settlement>((resolve) => {
      timer = setTimeout(() => resolve('unknown'), remaining);
    });
    // A look that hangs must not keep the caller waiting beyond its deadline; it ends by itself a little later.
    const settlement = await Promise.race([this.#fence(batchId, deadline), outOfTime]);
    clearTimeout(timer);
    return settlement;
  }

  async #fence(batchId: string, deadline: number): Promise<Settlement> {
    while (performance.now() < deadline) {
      try {
        await this.read({ ...ABANDON, values: [batchId] });
        const [row] = await this.read({ ...LOOK_UP_FENCE, values: [batchId] });
        if (row !== undefined) return row.abandoned === true ? 'abandoned' : 'committed';
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    return 'unknown';
  }

  /** Reads something large on a connection of its own, for at most `limit_ms`; undefined when that was not enough. */
  async survey(statement: Statement, limit_ms: number): Promise<readonly Row[] | undefined> {
    try {
      return await this.administer(async (client) => {
        await client.query(`set statement_timeout = ${limit_ms}`);
        return (await client.query(toQuery(statement))).rows as Row[];
      });
    } catch (error) {
      const failure = new StoreFailure(error);
      if (failure.sqlState === '57014') return undefined;
      throw failure;
    }
  }

  /** Connects and asks for nothing much. Throws whatever `pg` says when that is not possible. */
  async probe(): Promise<void> {
    await this.administer((client) => client.query('select 1'));
  }

  /** Runs work of the schema on a connection of its own, without time limits: migrations, partitions. */
  async administer<Result>(run: (client: pg.ClientBase) => Promise<Result>): Promise<Result> {
    const types = { getTypeParser: parserOf };
    const client = new pg.Client({ ...this.#settings, connectionTimeoutMillis: LIMITS.connect, types });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await run(client);
    } finally {
      await client.end();
    }
  }

  /** Closes every connection, after what runs on them. */
  async close(): Promise<void> {
    await Promise.all([this.#readers.end(), this.#writers.end()]);
  }

  /** BEGIN and the load; once more on a new connection when the server had closed the first while it was idle. */
  async #begin<Result, Name extends string>(work: Work<Result, Name>, again = true): Promise<Begun<Name>> {
    let client: pg.PoolClient;
    try {
      client = await this.#writers.connect();
    } catch (error) {
      throw new StoreFailure(error);
    }
    try {
      return { client, loaded: await load(client, work.load) };
    } catch (error) {
      const failure = error instanceof StoreFailure ? error : new StoreFailure(error);
      client.release(failure.connectionLost);
      if (!again || !failure.connectionLost || failure.timedOut) throw failure;
      return this.#begin(work, false);
    }
  }
}

function openPool(settings: ConnectionSettings, pooling: pg.PoolConfig, more: readonly string[]): pg.Pool {
  const pool = new pg.Pool({
    ...settings,
    ...pooling,
    pipeline: true,
    keepAlive: true,
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: LIMITS.connect,
    query_timeout: LIMITS.answer,
    application_name: 'transfer-service',
    options: [
      `-c lock_timeout=${LIMITS.lock}`,
      `-c statement_timeout=${LIMITS.statement}`,
      `-c idle_in_transaction_session_timeout=${LIMITS.idleInTransaction}`,
      // A backend that waits for a lock notices within a second that its client has gone.
      '-c client_connection_check_interval=1000',
      '-c timezone=UTC',
      '-c default_transaction_isolation=read\\ committed',
      ...more,
    ].join(' '),
    types: { getTypeParser: parserOf },
  });
  // A dead idle connection is taken out of the pool; without a listener it would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

function parserOf(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === pg.types.builtins.INT8) return BigInt;
  return pg.types.getTypeParser(oid, format ?? 'text') as (value: string) => unknown;
}

function toQuery(statement: Statement): pg.QueryConfig {
  return { name: statement.name, text: statement.text, values: statement.values as unknown[] };
}

async function load<Name extends string>(
  client: pg.PoolClient,
  statements: Readonly<Record<Name, Statement | null>>,
): Promise<Loaded<Name>> {
  const asked = Object.entries<Statement | null>(statements);
  const [begun, ...answers] = await sendTogether(client, () => [
    client.query('begin'),
    ...asked.map(([, statement]) => (statement === null ? null : client.query(toQuery(statement)))),
  ]);
  const failed = [begun, ...answers].find((answer) => answer?.status === 'rejected');
  if (failed !== undefined) throw await rolledBack(client, failed.reason);
  const loaded = {} as Record<Name, readonly Row[]>;
  for (const [index, answer] of answers.entries()) {
    const name = asked[index]?.[0] as Name;
    loaded[name] = answer.status === 'fulfilled' ? (answer.value?.rows ?? []) : [];
  }
  return loaded;
}

async function decideOrRollBack<Result, Name extends string>(
  client: pg.PoolClient,
  work: Work<Result, Name>,
  loaded: Loaded<Name>,
): Promise<Decision<Result>> {
  try {
    return work.decide(loaded, work.batchId);
  } catch (error) {
    await rolledBack(client, error);
    throw error;
  }
}

async function save<Result>(
  client: pg.PoolClient,
  batchId: string,
  writes: readonly Statement[],
  result: Result,
): Promise<void> {
  if (writes.length === 0) {
    await client.query('rollback').catch(() => undefined);
    return;
  }
  let warned = false;
  const listen = (notice: { severity?: string | undefined; code?: string | undefined }): void => {
    // A server that shuts down at once warns, too (class 57), but not about a commit that it has answered.
    warned ||= notice.severity === 'WARNING' && notice.code?.startsWith('57') !== true;
  };
  client.on('notice', listen);
  const answers = await sendTogether(client, () => [
    ...[{ ...FENCE, values: [batchId] }, ...writes].map((statement) => client.query(toQuery(statement))),
    client.query('commit'),
  ]);
  client.off('notice', listen);
  const [commit] = answers.slice(-1);
  const failed = answers.find((answer) => answer.status === 'rejected');
  if (commit === undefined || commit.status === 'rejected') {
    const reason: unknown = commit?.reason;
    // Only an ordinary error says that the server has undone the transaction; a lost or dying connection says nothing.
    if (describeFailure(reason).connectionLost || isFatal(reason)) throw new CommitUnknown(reason, result, true);
    throw await rolledBack(client, failed?.reason);
  }
  // PostgreSQL answers COMMIT with ROLLBACK when a statement before it has failed.
  if (commit.value?.command !== 'COMMIT') throw new StoreFailure(failed?.reason ?? new Error('rolled back at commit'));
  // "Committed locally": the server could not wait for its replica. Nobody can promise that it stays.
  if (warned) throw new CommitUnknown(new Error('the server warned at commit'), result, false);
}

/** Sends queries in one packet where they fit: what is written between cork and uncork leaves together. */
function sendTogether(
  client: pg.PoolClient,
  send: () => readonly (Promise<pg.QueryResult> | null)[],
): Promise<readonly PromiseSettledResult<pg.QueryResult | null>[]> {
  const { stream } = client.connection;
  stream.cork();
  try {
    return Promise.allSettled(send());
  } finally {
    stream.uncork();
  }
}

/** The failure to throw, after the transaction has been ended on a connection that still lives. */
async function rolledBack(client: pg.PoolClient, reason: unknown): Promise<StoreFailure> {
  const failure = new StoreFailure(reason);
  if (!isFatal(reason)) await client.query('rollback').catch(() => undefined);
  return failure;
}

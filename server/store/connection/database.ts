import type pg from 'pg';
import type { Connections } from './connections.ts';
import { CommitUnknown, describeFailure, isFatal, StoreFailure } from './failure.ts';
import type { Pool } from './pool.ts';
import { serverOf } from './session-settings.ts';
import { REPLICATED, type Standby } from './standby.ts';

/** A prepared statement with its values. One name, one text: PostgreSQL keeps its plan under the name. */
export type Statement = { readonly name: string; readonly text: string; readonly values: readonly unknown[] };

/** A row of PostgreSQL; `bigint` columns are JavaScript bigints, `timestamptz` columns Dates. */
export type Row = Record<string, unknown>;

/**
 * One transaction in two round trips: BEGIN with every statement of `load`, then every statement of the decision with
 * COMMIT. `decide` is pure and gets the rows of each load statement under its name.
 */
export type Work<Result, Name extends string = string> = Steps<Result, Name> & {
  /** Identifies the transaction: a commit whose response is lost is settled by this id (see {@link Database.settle}). */
  readonly batchId: string;
};

/** What a transaction does, before it has an id. */
export type Steps<Result, Name extends string = string> = {
  /** Sent in this order; null loads no rows. */
  readonly load: { readonly [Key in Name]: Statement | null };
  readonly decide: (loaded: Loaded<Name>, batchId: string) => Decision<Result>;
};

/** The rows of each load statement. */
export type Loaded<Name extends string = string> = { readonly [Key in Name]: readonly Row[] };

/**
 * The result of a decision, and the statements that write it; none means that nothing changes. A result without writes
 * usually reports what was done before, as a replay does, and is returned when that is on the standby (where there is
 * one); `readsOnly` when it reports no such thing.
 */
export type Decision<Result> = {
  readonly result: Result;
  readonly writes: readonly Statement[];
  readonly readsOnly?: boolean;
};

/** How a transaction with an unknown outcome ended: it `committed`, it never can (`abandoned`), or it is not known yet. */
export type Settlement = 'committed' | 'abandoned' | 'unknown';

type Begun<Name extends string> = { readonly client: pg.PoolClient; readonly loaded: Loaded<Name> };

const FENCE = {
  name: 'fence_batch',
  text: `insert into write_batch (batch_id, created_at) values ($1, clock_timestamp())
    returning created_at, ${REPLICATED}`,
};

const ABANDON = {
  name: 'abandon_batch',
  text: `insert into write_batch (batch_id, abandoned, created_at) values ($1, true, clock_timestamp())
    on conflict (batch_id) do nothing`,
};

const LOOK_UP_FENCE = {
  name: 'look_up_batch',
  text: `select abandoned, ${REPLICATED} from write_batch where batch_id = $1`,
};

const READ_REPLICATED = { name: 'read_replicated', text: `select ${REPLICATED}`, values: [] };

/**
 * PostgreSQL as one role of the service. Everything but the migrations uses its methods.
 *
 * The role `application` sees only the rows of the programs given to {@link forProgram}: a statement without a condition
 * on its program finds nothing of the others.
 */
export class Database {
  readonly #connections: Connections;
  readonly #standby: Standby;
  /** The setting of the programs, for `set` before a statement or after `begin`; null for all programs. */
  readonly #programs: string | null;

  constructor(connections: Connections, standby: Standby, programIds?: readonly string[]) {
    this.#connections = connections;
    this.#standby = standby;
    this.#programs = programIds === undefined ? null : `service.programs = '{${programIds.map(insistOnUuid).join()}}'`;
  }

  /** The same database, limited to the rows of these programs (inner UUIDs). */
  forProgram(...programIds: readonly string[]): Database {
    return new Database(this.#connections, this.#standby, programIds);
  }

  /**
   * Runs one statement, in a transaction of its own. Throws {@link StoreFailure}.
   * A connection that the server closed while it was idle is replaced once, silently.
   */
  async read(statement: Statement): Promise<readonly Row[]> {
    try {
      return await this.#readOnce(statement);
    } catch (error) {
      if (!(error instanceof StoreFailure) || !error.connectionLost || error.timedOut) throw error;
    }
    return this.#readOnce(statement);
  }

  async #readOnce(statement: Statement): Promise<readonly Row[]> {
    const { readers } = this.#connections;
    if (this.#programs === null) {
      return readers.query<Row>(toQuery(statement)).then(
        ({ rows }) => rows,
        (error: unknown) => Promise.reject(this.#noted(new StoreFailure(error))),
      );
    }
    const client = await connect(readers);
    // For the session: it is set again before every statement of a connection of this pool.
    const [set, response] = await sendTogether(client, () => [
      client.query(`set ${this.#programs}`),
      client.query(toQuery(statement)),
    ]);
    const failed = [set, response].find((one) => one?.status === 'rejected');
    const failure = failed === undefined ? undefined : new StoreFailure(failed.reason);
    client.release(failure?.unfit);
    if (failure !== undefined) throw this.#noted(failure);
    return response?.status === 'fulfilled' ? (response.value?.rows ?? []) : [];
  }

  /**
   * Runs a transaction. Throws {@link StoreFailure} when it certainly changed nothing and {@link CommitUnknown} when
   * it is not known whether it was committed; whatever `decide` throws is thrown again after a rollback.
   */
  async transact<Result, Name extends string>(work: Work<Result, Name>, deadline?: number): Promise<Result> {
    const { client, loaded } = await this.#begin(work, deadline);
    let isFit = false;
    try {
      const decision = await decideOrRollBack(client, work, loaded);
      if (decision.writes.length === 0) await leave(client, decision);
      else await save(client, work.batchId, decision, this.#standby);
      isFit = true;
      if (decision.writes.length > 0) this.#connections.group.committedAt = performance.now();
      return decision.result;
    } catch (error) {
      const isUnknown = error instanceof CommitUnknown && error.doubt !== 'unconfirmed';
      isFit = !isUnknown && !(error instanceof StoreFailure && error.unfit);
      if (error instanceof StoreFailure) this.#noted(error);
      if (error instanceof CommitUnknown) this.#noteUnknown(error);
      throw error;
    } finally {
      client.release(!isFit);
    }
  }

  /** Like {@link transact}, but resolves an unknown commit before it returns, until `deadline` (`performance.now()`). */
  async transactSettled<Result, Name extends string>(work: Work<Result, Name>, deadline: number): Promise<Result> {
    try {
      return await this.transact(work, deadline);
    } catch (error) {
      if (!(error instanceof CommitUnknown)) throw error;
      const settlement = await this.clear(error, work.batchId, deadline);
      if (settlement === 'committed') return error.result as Result;
      if (settlement === 'abandoned') throw new StoreFailure(error.cause);
      throw error;
    }
  }

  /** Resolves an unknown commit, if possible until `deadline` (`performance.now()`). */
  async clear({ doubt, server }: CommitUnknown, batchId: string, deadline: number): Promise<Settlement> {
    if (doubt === 'response_lost') return this.settle(batchId, deadline);
    if (doubt === 'local') return 'unknown';
    return (await this.confirm(server, deadline)) ? 'committed' : 'unknown';
  }

  /**
   * Whether everything that was visible on a server before the call is on its standby; false when it is not known by
   * `deadline` (`performance.now()`). True, for a commit, without synchronous replication.
   */
  confirm(server: string | undefined, deadline: number): Promise<boolean> {
    return this.#standby.confirm(server, deadline);
  }

  /** Whether what was last changed on a server at this moment is known to be on its standby. */
  isConfirmed(changedAt: Date, server: string): boolean {
    return this.#standby.has(changedAt, server);
  }

  /**
   * Resolves a commit whose response was lost. Reading back is not enough: the server may still be committing. So the
   * same batch id is inserted as abandoned: if that succeeds, the transaction can never commit, and if it conflicts, the
   * row says which was first. That row may itself have been committed on this server alone, so under synchronous
   * replication a later commit must be acknowledged.
   */
  async settle(batchId: string, deadline: number): Promise<Settlement> {
    const remaining = Math.max(0, deadline - performance.now());
    let timer: NodeJS.Timeout | undefined;
    const outOfTime = new Promise<Settlement>((resolve) => {
      timer = setTimeout(() => resolve('unknown'), remaining);
    });
    // A query that hangs must not delay the caller beyond its deadline; it ends by itself a little later.
    const settlement = await Promise.race([this.#fence(batchId, deadline), outOfTime]);
    clearTimeout(timer);
    return settlement;
  }

  async #fence(batchId: string, deadline: number): Promise<Settlement> {
    while (performance.now() < deadline) {
      try {
        await this.read({ ...ABANDON, values: [batchId] });
        const [row] = await this.read({ ...LOOK_UP_FENCE, values: [batchId] });
        if (row?.abandoned === true) return 'abandoned';
        if (row?.replicated === null) return 'committed';
        if (row !== undefined) return (await this.confirm(String(row.replicated), deadline)) ? 'committed' : 'unknown';
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    return 'unknown';
  }

  /**
   * Reads something large, of all programs, on a connection of its own; undefined when it takes longer than
   * `timeoutMilliseconds`.
   */
  async survey(statement: Statement, timeoutMilliseconds: number): Promise<readonly Row[] | undefined> {
    try {
      return await this.#connections.alone(async (client) => {
        await client.query(`set statement_timeout = ${timeoutMilliseconds}`);
        return (await client.query(toQuery(statement))).rows as Row[];
      });
    } catch (error) {
      const failure = new StoreFailure(error);
      if (failure.sqlState === '57014') return undefined;
      throw failure;
    }
  }

  /** Runs several statements, about all programs, on a connection of its own, without time limits: housekeeping. */
  alone<Result>(run: (client: pg.ClientBase) => Promise<Result>): Promise<Result> {
    return this.#connections.alone(run);
  }

  /** Notes for all connections what a failure says about the database as a whole. */
  #noted(failure: StoreFailure): StoreFailure {
    const { group } = this.#connections;
    if (failure.readOnly) group.renew();
    if (failure.unwritten) group.commitFailedAt = performance.now();
    return failure;
  }

  #noteUnknown({ cause, doubt }: CommitUnknown): void {
    const hasNoResponse = doubt === 'response_lost' && new StoreFailure(cause).timedOut;
    if (hasNoResponse || doubt === 'local') this.#connections.group.commitFailedAt = performance.now();
  }

  /** BEGIN and the load; repeated on a new connection when the server had closed the first while it was idle. */
  async #begin<Result, Name extends string>(
    work: Work<Result, Name>,
    deadline: number | undefined,
    again = true,
  ): Promise<Begun<Name>> {
    const client = await connect(this.#connections.writers, deadline);
    try {
      return { client, loaded: await load(client, this.#programs, work.load) };
    } catch (error) {
      const failure = error instanceof StoreFailure ? error : new StoreFailure(error);
      client.release(failure.unfit);
      if (!again || !failure.connectionLost || failure.timedOut) throw this.#noted(failure);
      return this.#begin(work, deadline, false);
    }
  }
}

function toQuery(statement: Statement): pg.QueryConfig {
  return { name: statement.name, text: statement.text, values: statement.values as unknown[] };
}

async function connect(pool: Pool, deadline?: number): Promise<pg.PoolClient> {
  try {
    return await pool.take(deadline);
  } catch (error) {
    throw new StoreFailure(error);
  }
}

/** Becomes part of the text of a statement, so it must be a UUID. */
function insistOnUuid(id: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)) return id;
  throw new Error('the id of a card program is no UUID');
}

async function load<Name extends string>(
  client: pg.PoolClient,
  programs: string | null,
  statements: Readonly<Record<Name, Statement | null>>,
): Promise<Loaded<Name>> {
  const wanted = Object.entries<Statement | null>(statements);
  const [begun, ...responses] = await sendTogether(client, () => [
    client.query(programs === null ? 'begin' : `begin; set local ${programs}`),
    ...wanted.map(([, statement]) => (statement === null ? null : client.query(toQuery(statement)))),
  ]);
  const failed = [begun, ...responses].find((response) => response?.status === 'rejected');
  if (failed !== undefined) throw await rolledBack(client, failed.reason);
  const loaded = {} as Record<Name, readonly Row[]>;
  for (const [index, response] of responses.entries()) {
    const name = wanted[index]?.[0] as Name;
    loaded[name] = response.status === 'fulfilled' ? (response.value?.rows ?? []) : [];
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

/** Ends a transaction that changes nothing. */
async function leave(client: pg.PoolClient, { result, readsOnly }: Decision<unknown>): Promise<void> {
  const [, read] = await sendTogether(client, () => [
    client.query('rollback'),
    readsOnly === true ? null : client.query(toQuery(READ_REPLICATED)),
  ]);
  if (readsOnly === true) return;
  // No response is no proof either.
  const isLasting = read?.status === 'fulfilled' && read.value?.rows[0]?.replicated === null;
  const cause = new Error('the standby may lack what was found');
  if (!isLasting) throw new CommitUnknown(cause, result, 'unconfirmed', serverOf(client));
}

async function save<Result>(
  client: pg.PoolClient,
  batchId: string,
  { writes, result }: Decision<Result>,
  standby: Standby,
): Promise<void> {
  let warned = false;
  const listen = (notice: { severity?: string | undefined; code?: string | undefined }): void => {
    // A server that shuts down at once warns, too (class 57), but not about a commit that it has confirmed.
    warned ||= notice.severity === 'WARNING' && notice.code?.startsWith('57') !== true;
  };
  client.on('notice', listen);
  const responses = await sendTogether(client, () => [
    ...[{ ...FENCE, values: [batchId] }, ...writes].map((statement) => client.query(toQuery(statement))),
    client.query('commit'),
  ]);
  client.off('notice', listen);
  const [commit] = responses.slice(-1);
  const failed = responses.find((response) => response.status === 'rejected');
  if (commit === undefined || commit.status === 'rejected') {
    const reason: unknown = commit?.reason;
    // Only an ordinary error says that the server has rolled back; a lost or closing connection says nothing.
    if (describeFailure(reason).connectionLost || isFatal(reason))
      throw new CommitUnknown(reason, result, 'response_lost');
    throw await rolledBack(client, failed?.reason);
  }
  // PostgreSQL responds to COMMIT with ROLLBACK when an earlier statement has failed.
  if (commit.value?.command !== 'COMMIT') throw new StoreFailure(failed?.reason ?? new Error('rolled back at commit'));
  // "Committed locally": the server could not wait for its standby, so the commit may be lost.
  if (warned) throw new CommitUnknown(new Error('the server warned at commit'), result, 'local');
  const [fence] = responses;
  const begun: Row | undefined = fence?.status === 'fulfilled' ? fence.value?.rows[0] : undefined;
  if (typeof begun?.replicated === 'string') standby.note(begun.created_at as Date, begun.replicated);
}

/** Sends queries in one packet where they fit: what is written between cork and uncork is sent together. */
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

/** The failure to throw, after a rollback if the connection is still open. */
async function rolledBack(client: pg.PoolClient, reason: unknown): Promise<StoreFailure> {
  const failure = new StoreFailure(reason);
  if (!isFatal(reason)) await client.query('rollback').catch(() => undefined);
  return failure;
}

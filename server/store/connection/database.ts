import type pg from 'pg';
import { newBatchId } from '../../foundation/ids.ts';
import type { Connections } from './connections.ts';
import { CommitUnknown, DISK_FULL, QUERY_CANCELED, StoreFailure } from './failure.ts';
import { REQUIRE_PLACEMENT } from './placement.ts';
import type { Pool } from './pool.ts';
import {
  ABANDON,
  connect,
  decideOrRollBack,
  LOOK_UP_FENCE,
  leave,
  load,
  requireBase,
  save,
  sendTogether,
  toBegin,
} from './round-trips.ts';
import { isPlacement, LIMITS } from './session-settings.ts';
import type { Standby } from './standby.ts';
import {
  type ChainedSteps,
  type ChainPlace,
  type Loaded,
  type Row,
  type Statement,
  toQuery,
  type Work,
} from './work.ts';

export type { ChainedSteps, Decision, Loaded, Row, Statement, Steps, Work } from './work.ts';

/**
 * How a transaction with an unknown outcome ended: it was `committed`, it can never be committed (`abandoned`), or its outcome
 * is still `unknown`.
 */
export type Settlement = 'committed' | 'abandoned' | 'unknown';

type Begun<Name extends string> = { readonly client: pg.PoolClient; readonly loaded: Loaded<Name> };

/**
 * PostgreSQL as one role of the service. Everything except the migrations uses its methods.
 *
 * The role `application` sees only the rows of the programs that were given to {@link forProgram}. Even a statement without a
 * condition on its program finds no rows of other programs.
 */
export class Database {
  readonly #connections: Connections;
  readonly #standby: Standby;
  /** The setting for the programs, to use with `set` before a statement or after `begin`. Null for all programs. */
  readonly #programs: string | null;
  readonly #programIds: readonly string[] | undefined;
  readonly #isTrial: boolean;

  constructor(connections: Connections, standby: Standby, programIds?: readonly string[], isTrial = false) {
    this.#connections = connections;
    this.#standby = standby;
    this.#programIds = programIds;
    this.#isTrial = isTrial;
    this.#programs = programIds === undefined ? null : `service.programs = '{${programIds.map(requireUuid).join()}}'`;
  }

  /**
   * How often the server may have been replaced. Data remembered from before may come from transactions that the new server lacks.
   */
  get interruptions(): number {
    return this.#connections.group.interruptions;
  }

  /** Whether requests wait while no host accepts writes, because one of several hosts will take over. */
  get followsPrimary(): boolean {
    return this.#connections.group.followsPrimary;
  }

  /** Returns the same database, limited to the rows of these programs (inner UUIDs). */
  forProgram(...programIds: readonly string[]): Database {
    return new Database(this.#connections, this.#standby, programIds, this.#isTrial);
  }

  /** Returns the same database for trials: transactions decide and write nothing. A trial finds out what a request would do now. */
  forTrial(): Database {
    return new Database(this.#connections, this.#standby, this.#programIds, true);
  }

  /** Returns the same database, with transactions that write even within a trial. */
  forWrites(): Database {
    return new Database(this.#connections, this.#standby, this.#programIds);
  }

  /**
   * Runs one statement in a read-only transaction, so PostgreSQL refuses writes. Throws {@link StoreFailure}. If the server closed
   * the connection while it was idle, the connection is silently replaced once.
   */
  async read(statement: Statement): Promise<readonly Row[]> {
    try {
      return await this.#readOnce(statement);
    } catch (error) {
      if (!(error instanceof StoreFailure) || !error.connectionLost || error.timedOut) throw error;
    }
    // The same cause may have cut every idle connection, even if the process has not noticed it yet.
    this.#connections.readers.closeIdle(0);
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
    // Set for the session. Every statement on a connection of this pool sets it again.
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
   * Runs a transaction. Throws {@link StoreFailure} if it certainly changed nothing, and {@link CommitUnknown} if it is unknown
   * whether it was committed. An error that `decide` throws is rethrown after a rollback.
   */
  transact<Result, Name extends string>(work: Work<Result, Name>, deadline?: number): Promise<Result> {
    return this.#run(
      () => this.#begin(work, deadline),
      async (client, loaded) => {
        const decided = await decideOrRollBack(client, () => work.decide(loaded, work.batchId));
        const decision = this.#isTrial ? { ...decided, writes: [] } : decided;
        if (decision.writes.length === 0) await leave(client, decision);
        else await save(client, work.batchId, [decision.writes], decision.result, this.#standby);
        return { result: decision.result, hasWritten: decision.writes.length > 0 };
      },
    );
  }

  /**
   * Runs a transaction of a chain. Throws like {@link transact}, and throws the result of `whenBroken` if the previous
   * transaction was not committed.
   */
  transactChained<Result, Name extends string>(
    work: ChainedSteps<Result, Name> & { readonly batchId: string },
    place: ChainPlace,
    deadline: number,
  ): Promise<Result> {
    return this.#run(
      () => this.#begin(work, deadline),
      async (client, loaded) => {
        const { batchId } = work;
        const decision = await decideOrRollBack(client, () => work.decide(loaded, batchId));
        place.onDecided();
        const { early, late, result } = decision;
        const hasWritten = early.length > 0;
        const isAhead = place.baseCommitted() !== true;
        if (isAhead && !hasWritten && decision.check === null) await leave(client, decision);
        else if (!hasWritten) {
          await requireBase(client, place);
          await leave(client, decision, decision.check);
        } else if (!isAhead) await save(client, batchId, [[...early, ...late]], result, this.#standby);
        else await save(client, batchId, [early, late], result, this.#standby, place);
        return { result, hasWritten };
      },
    );
  }

  async #run<Result, Name extends string>(
    begin: () => Promise<Begun<Name>>,
    finish: (client: pg.PoolClient, loaded: Loaded<Name>) => Promise<{ result: Result; hasWritten: boolean }>,
  ): Promise<Result> {
    const { client, loaded } = await begin();
    let isFit = false;
    let done: { readonly result: Result; readonly hasWritten: boolean };
    try {
      done = await finish(client, loaded);
      isFit = true;
    } catch (error) {
      const isUnknown = error instanceof CommitUnknown && error.doubt !== 'unconfirmed';
      isFit = !isUnknown && !(error instanceof StoreFailure && error.unfit);
      if (error instanceof StoreFailure) this.#noted(error);
      if (error instanceof CommitUnknown) this.#noteUnknown(error);
      throw error;
    } finally {
      client.release(!isFit);
    }
    if (done.hasWritten) this.#connections.group.noteCommit();
    return done.result;
  }

  /**
   * Runs one statement that writes, with its fence, in one round trip. Returns its rows. Running it a second time must change
   * nothing. Throws {@link StoreFailure} if it certainly changed nothing, and {@link CommitUnknown} otherwise.
   */
  async write(statement: Statement, again = true): Promise<readonly Row[]> {
    const batchId = newBatchId();
    const begin = async () => {
      const client = await connect(this.#connections.writers);
      // Not awaited. If it fails, everything sent after it fails, too.
      client.query(toBegin(this.#programs)).catch(() => undefined);
      return { client, loaded: {} };
    };
    try {
      return await this.#run(begin, async (client) => ({
        result: await save(client, batchId, [[statement]], undefined, this.#standby),
        hasWritten: true,
      }));
    } catch (error) {
      if (!(error instanceof CommitUnknown) || error.doubt !== 'response_lost') throw error;
      // The connection may have been lost while it was idle.
      if ((await this.settle(batchId, performance.now() + LIMITS.crowded)) !== 'abandoned') throw error;
      if (!again) throw new StoreFailure(error.cause);
      this.#connections.writers.closeIdle(0);
      return this.write(statement, false);
    }
  }

  /**
   * Runs one statement that writes data that affects no response, such as errors, leases and times of use. It runs even if a
   * standby is required but none is configured. It has no fence, so running it a second time must change nothing. Throws
   * {@link StoreFailure}.
   */
  async writeUnguarded(statement: Statement): Promise<readonly Row[]> {
    const [rows] = await this.#sendPacket(
      this.#connections.readers,
      [statement],
      toBegin(this.#programs, 'begin read write'),
    );
    return rows ?? [];
  }

  /**
   * Takes a lock, and then runs a statement that sees the commits of the lock's previous holder. BEGIN and COMMIT are in one
   * packet, so that other processes do not have to wait for this one. It has no fence, so running the statement a second time
   * must change nothing. Throws {@link StoreFailure}.
   */
  async underLock(lock: Statement, statement: Statement): Promise<readonly Row[]> {
    // Hash joins are off for writers, because their tables grow. Here, only parts of the statement are joined, so they are allowed.
    const [, rows] = await this.inOnePacket([lock, statement], 'begin; set local enable_hashjoin = on');
    return rows ?? [];
  }

  /**
   * Runs statements in one transaction and one packet, and returns the rows of each. There is no fence, so running them a second
   * time must change nothing. Throws {@link StoreFailure}.
   */
  inOnePacket(statements: readonly Statement[], begin = 'begin'): Promise<readonly (readonly Row[])[]> {
    return this.#sendPacket(this.#connections.writers, statements, begin);
  }

  async #sendPacket(
    pool: Pool,
    statements: readonly Statement[],
    begin: string,
    again = true,
  ): Promise<readonly (readonly Row[])[]> {
    const client = await connect(pool);
    const responses = await sendTogether(client, () => [
      client.query(begin),
      ...statements.map((statement) => client.query(toQuery(statement))),
      isPlacement(client) ? client.query(toQuery(REQUIRE_PLACEMENT)) : null,
      client.query('commit'),
    ]);
    // On a standby `begin read write` also fails, but its error does not show that the server is a standby.
    const [begun, ...others] = responses;
    const failed = [...others, begun].find((response) => response?.status === 'rejected');
    const failure = failed === undefined ? undefined : new StoreFailure(failed.reason);
    client.release(failure?.unfit);
    if (failure === undefined) {
      return responses.slice(1, -2).map((one) => (one.status === 'fulfilled' ? (one.value?.rows ?? []) : []));
    }
    if (!again || !failure.connectionLost || failure.timedOut) throw this.#noted(failure);
    this.#connections.group.suspect(failure);
    pool.closeIdle(0);
    return this.#sendPacket(pool, statements, begin, false);
  }

  /**
   * Runs a transaction as {@link transact} does, but resolves an unknown commit before it returns, until `deadline`
   * (`performance.now()`).
   */
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

  /** Resolves an unknown commit, if possible by `deadline` (`performance.now()`). */
  async clear({ doubt, server }: CommitUnknown, batchId: string, deadline: number): Promise<Settlement> {
    if (doubt === 'response_lost') return this.settle(batchId, deadline);
    if (doubt === 'local') return 'unknown';
    return (await this.confirm(server, deadline)) ? 'committed' : 'unknown';
  }

  /**
   * Returns whether all rows that were visible on a server before the call are on its standby. False if that is unknown at
   * `deadline` (`performance.now()`). Always true without synchronous replication.
   */
  confirm(server: string | undefined, deadline: number): Promise<boolean> {
    return this.#standby.confirm(server, deadline);
  }

  /** Returns whether it is known that the standby has a row that was last changed on a server at this time. */
  isConfirmed(changedAt: Date, server: string): boolean {
    return this.#standby.has(changedAt, server);
  }

  /**
   * Resolves a commit whose response was lost. Reading the row is not enough, because the server may still be committing. So the
   * same batch id is inserted as abandoned. If that succeeds, the transaction can never commit. If it conflicts, the row shows
   * which of the two came first. That row itself may have been committed only on this server. So under synchronous replication, a
   * later commit must be acknowledged.
   */
  async settle(batchId: string, deadline: number): Promise<Settlement> {
    const remaining = Math.max(0, deadline - performance.now());
    let timer: NodeJS.Timeout | undefined;
    const outOfTime = new Promise<Settlement>((resolve) => {
      timer = setTimeout(() => resolve('unknown'), remaining);
    });
    // A query that hangs must not delay the caller beyond its deadline. The query ends a little later.
    const settlement = await Promise.race([this.#fence(batchId, deadline), outOfTime]);
    clearTimeout(timer);
    return settlement;
  }

  async #fence(batchId: string, deadline: number): Promise<Settlement> {
    while (performance.now() < deadline) {
      try {
        await this.writeUnguarded({ ...ABANDON, values: [batchId] });
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
   * Reads a large amount of data, of all programs, on a separate connection. Undefined if it takes longer than
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
      if (failure.sqlState === QUERY_CANCELED) return undefined;
      throw failure;
    }
  }

  /**
   * Runs several housekeeping statements, about all programs, on a separate connection and without time limits. If the signal is
   * aborted, the connection is closed, which ends the work.
   */
  alone<Result>(run: (client: pg.ClientBase) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    return this.#connections.alone(run, signal);
  }

  /** Records for all connections what a failure says about the database as a whole. */
  #noted(failure: StoreFailure): StoreFailure {
    const { group } = this.#connections;
    group.suspect(failure);
    if (failure.readOnly) group.renew();
    if (failure.unwritten) {
      group.commitFailedAt = performance.now();
      group.isDiskFull = failure.sqlState === DISK_FULL;
    }
    return failure;
  }

  #noteUnknown({ cause, doubt }: CommitUnknown): void {
    const { group } = this.#connections;
    const failure = new StoreFailure(cause);
    if (doubt === 'response_lost') group.suspect(failure);
    if (!(doubt === 'response_lost' && failure.timedOut) && doubt !== 'local') return;
    group.commitFailedAt = performance.now();
    group.isDiskFull = false;
  }

  /** Sends BEGIN and the load. If the server had closed the idle connection, sends them again on a new one. */
  async #begin<Name extends string>(
    work: { readonly load: Work<unknown, Name>['load'] },
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
      this.#connections.group.suspect(failure);
      this.#connections.writers.closeIdle(0);
      return this.#begin(work, deadline, false);
    }
  }
}

/** Checks that an id is a UUID, because it becomes part of the SQL. */
function requireUuid(id: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)) return id;
  throw new Error('the id of a card program is not a UUID');
}

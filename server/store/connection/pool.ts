import pg from 'pg';
import { notify } from '../../foundation/notify.ts';
import { isUnfit, NoConnection, NoWritableHost, type StoreFailure, TOO_MANY_CONNECTIONS } from './failure.ts';
import type { Hosts } from './hosts/hosts.ts';
import { serverOf } from './session-settings.ts';

// Invariant: A process opens no more connections than allowed and keeps one for transfers
// Kept by: `divideConnections`
// Tested by: `test/faults/few-connections.test.ts`

/** The time that must remain when a request gets a connection, because it may need a transaction. */
export const TRANSACTION_MILLISECONDS = 1500;

/** The first and the longest pause between attempts to connect to a server that has no free connection. */
const FIRST_PAUSE_MILLISECONDS = 25;
const LAST_PAUSE_MILLISECONDS = 200;

/** The purpose of a pool and its number of connections. `min` of them stay open, and the others are closed when idle. */
export type PoolSize = { readonly kind: 'readers' | 'writers'; readonly min: number; readonly max: number };

/**
 * How long a request waits for a connection, in milliseconds: while the database responds to other requests of the process, and
 * while it responds to none.
 */
export type PoolLimits = { readonly crowdedMilliseconds: number; readonly silentMilliseconds: number };

/** The state of the database, as seen by a process's connections. Times are values of `performance.now()`. */
export type Health = {
  /** The number of idle connections that broke, or that the server closed. */
  readonly losses: number;
  readonly committedAt: number;
  /** When a transaction last failed because of a full disk, an I/O error, or a missing response to COMMIT. */
  readonly commitFailedAt: number;
  /** Whether the cause was a full disk. */
  readonly isDiskFull: boolean;
  /** When the server last refused a connection, or when all connections of the process were last in use for too long. */
  readonly shortAt: number;
  /** The numbers of connections in use, of idle ones, and of requests that wait for a connection. */
  readonly lent: number;
  readonly idle: number;
  readonly waiting: number;
};

/**
 * All pools of a process for one database. They share their findings about its state. When a pool needs room, the group chooses
 * which idle connections to close.
 */
export class PoolGroup implements Health {
  readonly #hosts: Hosts | undefined;
  readonly #connectMilliseconds: number;
  readonly #pools: Pool[] = [];
  #stopFollowing: (() => void) | undefined;
  #renewedAt = Number.NEGATIVE_INFINITY;
  #server: string | undefined;
  /** How often the database has sent a response, on any connection. */
  responses = 0;
  losses = 0;
  /** How often the server may have been replaced by a server without the last commits. */
  interruptions = 0;
  /** Writers whose connection the server refused and that are trying again. */
  refusedWriters = 0;
  committedAt = Number.NEGATIVE_INFINITY;
  commitFailedAt = Number.NEGATIVE_INFINITY;
  isDiskFull = false;
  shortAt = Number.NEGATIVE_INFINITY;
  readonly #commitListeners = new Set<() => void>();

  /** `connectMilliseconds` limits the wait for a host that does not respond. 0 means no limit. */
  constructor(hosts?: Hosts, connectMilliseconds = 0) {
    this.#hosts = hosts;
    this.#connectMilliseconds = connectMilliseconds;
  }

  add(pool: Pool): void {
    this.#pools.push(pool);
    this.#stopFollowing ??= this.#hosts?.onChange(() => this.#renewAll());
  }

  close(): void {
    this.#stopFollowing?.();
  }

  /** Calls a listener after every commit of a transaction that writes. Returns a function that removes the listener. */
  onCommit(listener: () => void): () => void {
    this.#commitListeners.add(listener);
    return () => this.#commitListeners.delete(listener);
  }

  noteCommit(): void {
    this.committedAt = performance.now();
    for (const listener of this.#commitListeners) notify(listener);
  }

  get lent(): number {
    return this.#pools.reduce((sum, { lent }) => sum + lent, 0);
  }
  get idle(): number {
    return this.#pools.reduce((sum, { idle }) => sum + idle, 0);
  }
  get waiting(): number {
    return this.#pools.reduce((sum, { waiting }) => sum + waiting, 0);
  }

  /**
   * Closes idle connections of the other pools, because the server has no more for this one. Closes idle readers, or idle writers
   * if there are no idle readers. If a reader needs room, one writer of each pool stays open.
   */
  makeRoom(asking: Pool | undefined): void {
    const others = this.#pools.filter((pool) => pool !== asking && pool.idle > 0);
    const readers = others.filter(({ kind }) => kind === 'readers');
    for (const pool of readers.length > 0 ? readers : others) {
      pool.closeIdle(pool.kind === 'writers' && asking?.kind !== 'writers' ? 1 : 0);
    }
  }

  /**
   * Records the server of a new connection. After a failover, it may be a different server, while older connections still go to the
   * replaced primary. The older ones are closed, so that no more reads or settlements happen there.
   */
  follow(server: string | undefined): void {
    if (this.#server !== undefined && this.#server !== server) {
      this.interruptions += 1;
      this.renew();
    }
    this.#server = server;
  }

  /**
   * Closes idle connections now and others when they are released, at most once a second. After a read-only response,
   * the address may already lead to a different server, but open connections stay with the old one.
   */
  renew(): void {
    const now = performance.now();
    if (now - this.#renewedAt < 1000) return;
    this.#renewAll();
  }

  #renewAll(): void {
    this.#renewedAt = performance.now();
    for (const pool of this.#pools) pool.renew();
  }

  /** Records that an idle connection broke, or that the server closed it. */
  lose(client: pg.ClientBase): void {
    this.losses += 1;
    this.interruptions += 1;
    if (this.#hosts?.isUsedBy(client) === true) this.#doubt(true);
  }

  /**
   * If there are several hosts, a failure may mean that another host is now the primary. After a lost connection or with a
   * read-only server, all connections are suspect. If there was no response, only the hosts are asked.
   */
  suspect(failure: StoreFailure): void {
    const { primaryLost, crowded, timedOut, cause } = failure;
    if (crowded || cause instanceof NoWritableHost || !primaryLost) return;
    this.#doubt(!timedOut);
  }

  #doubt(isLost: boolean): void {
    if (!this.followsPrimary) return;
    if (isLost) this.renew();
    this.#hosts?.doubt();
  }

  get followsPrimary(): boolean {
    return this.#hosts?.mustWrite === true;
  }

  /**
   * Repeats an attempt to connect while the server has no free connection, until `until` (`performance.now()`), and closes idle
   * connections. Also repeats the attempt while no host accepts writes, until `primaryBy`. Throws {@link NoConnection} if a pool
   * gets no connection.
   */
  async connect<Client>(
    asking: Pool | undefined,
    until: number,
    attempt: () => Promise<Client>,
    primaryBy = until,
  ): Promise<Client> {
    const { responses } = this;
    let refusal: unknown;
    try {
      for (let pause = FIRST_PAUSE_MILLISECONDS; ; pause = Math.min(pause * 2, LAST_PAUSE_MILLISECONDS)) {
        if (asking === undefined || !this.#mustYield(asking)) {
          try {
            return await (this.#hosts?.connect(attempt, this.#connectMilliseconds, primaryBy) ?? attempt());
          } catch (error) {
            if (!isTooMany(error)) throw error;
            this.shortAt = performance.now();
            if (refusal === undefined && asking?.kind === 'writers') this.refusedWriters += 1;
            refusal = error;
            this.makeRoom(asking);
          }
        }
        if (performance.now() > until) {
          // Outside the pools, the server's error is thrown unchanged.
          if (asking === undefined) throw refusal;
          // The server itself refused the connection. This counts as too few connections if other connections of this process have
          // had responses in the meantime, or if none was in use.
          throw new NoConnection(this.responses !== responses || this.lent === 0, refusal);
        }
        await (asking === undefined ? rest(pause) : asking.rest(pause));
      }
    } finally {
      if (refusal !== undefined && asking?.kind === 'writers') this.refusedWriters -= 1;
    }
  }

  /** Returns whether a reader must wait: while a writer waits for a connection, the next free connection is for the writer. */
  #mustYield(pool: Pool): boolean {
    return pool.kind === 'readers' && this.refusedWriters > 0 && pool.idle === 0 && pool.open > 0;
  }
}

/**
 * The connections of one role for one purpose. Requests beyond their maximum wait here and not in `pg`, which cannot tell a busy
 * pool from a silent database.
 */
export class Pool {
  readonly kind: PoolSize['kind'];
  readonly #min: number;
  readonly #pool: pg.Pool;
  readonly #group: PoolGroup;
  readonly #queue: ConnectionQueue;
  readonly #crowdedMilliseconds: number;
  readonly #generations = new WeakMap<pg.PoolClient, number>();
  #generation = 0;
  #resting: (() => void)[] = [];
  #lent = 0;

  /** Does not connect yet. */
  constructor(pool: pg.Pool, { kind, min, max }: PoolSize, group: PoolGroup, limits: PoolLimits) {
    this.kind = kind;
    this.#min = min;
    this.#crowdedMilliseconds = limits.crowdedMilliseconds;
    this.#pool = pool;
    this.#group = group;
    this.#queue = new ConnectionQueue(max, () => group.responses, limits.silentMilliseconds);
    group.add(this);
    pool.on('connect', (client) => {
      group.follow(serverOf(client));
      this.#generations.set(client, this.#generation);
      group.responses += 1;
      client.connection.stream.on('data', () => {
        group.responses += 1;
      });
    });
    pool.on('error', (_error, client) => group.lose(client));
    pool.on('remove', () => this.#replace());
  }

  /**
   * The number of connections in use. The following properties count waiting requests, idle connections, and open or opening ones.
   */
  get lent(): number {
    return this.#lent;
  }
  get waiting(): number {
    return this.#queue.waiting + this.#resting.length;
  }
  get idle(): number {
    return this.#pool.idleCount;
  }
  get open(): number {
    return this.#pool.totalCount;
  }

  get max(): number {
    return this.#queue.max;
  }

  /**
   * Takes a connection. The caller must call its `release`. `release(true)` closes it. Throws {@link NoConnection} if none is free,
   * and the error of `pg` if the database cannot be reached. With a deadline (`performance.now()`), the wait ends early enough to
   * leave time for a transaction.
   */
  async take(deadline = Number.POSITIVE_INFINITY): Promise<pg.PoolClient> {
    const latest = deadline - TRANSACTION_MILLISECONDS;
    const until = Math.min(performance.now() + this.#crowdedMilliseconds, latest);
    const primaryBy = Number.isFinite(latest) ? latest : until;
    await this.#queue.enter(until).catch((error: unknown) => {
      if (error instanceof NoConnection && error.crowded) this.#group.shortAt = performance.now();
      throw error;
    });
    try {
      for (;;) {
        const client = await this.#group.connect(this, until, () => this.#pool.connect(), primaryBy);
        if (this.#generations.get(client) === this.#generation) return this.#lend(client);
        // While this connection was being opened, all connections of its generation were closed.
        client.release(true);
      }
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  async query<Row extends pg.QueryResultRow>(
    statement: string | pg.QueryConfig,
    values?: unknown[],
  ): Promise<pg.QueryResult<Row>> {
    const client = await this.take();
    let isFit = true;
    try {
      return await client.query<Row>(statement, values);
    } catch (error) {
      isFit = !isUnfit(error);
      throw error;
    } finally {
      client.release(!isFit);
    }
  }

  closeIdle(leave: number): void {
    for (let count = this.idle; count > leave; count -= 1) {
      this.#pool.connect().then(
        (client) => client.release(true),
        () => undefined,
      );
    }
  }

  /** Closes every connection: idle ones now, others when they are released. */
  renew(): void {
    this.#generation += 1;
    this.closeIdle(0);
  }

  /** Sets a new limit. If more connections are in use, the excess connections are closed some time after their release. */
  limit(max: number): void {
    this.#queue.limit(max);
    this.closeIdle(Math.max(0, max - this.#lent));
  }

  /** Resolves after some time, or when a connection is released. */
  async rest(milliseconds: number): Promise<void> {
    let wake = (): void => undefined;
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    this.#resting.push(wake);
    const timer = setTimeout(wake, milliseconds);
    await woken;
    clearTimeout(timer);
    this.#resting = this.#resting.filter((one) => one !== wake);
  }

  end(): Promise<void> {
    return this.#pool.end();
  }

  #lend(client: pg.PoolClient): pg.PoolClient {
    const { release } = client;
    this.#lent += 1;
    client.release = (destroy) => {
      this.#lent -= 1;
      const isStale = this.#generations.get(client) !== this.#generation;
      release.call(client, isStale ? true : destroy);
      this.#leave();
    };
    return client;
  }

  #leave(): void {
    // A request whose connection the server refused has waited longer than the requests in the queue.
    this.#resting.shift()?.();
    this.#queue.leave();
  }

  /**
   * Keeps the minimum number of connections open. If a connection was closed because of its age, replaces it before a request needs
   * it.
   */
  #replace(): void {
    if (this.#pool.ending || this.#group.refusedWriters > 0 || this.open >= this.#min) return;
    this.#pool.connect().then(
      (client) => client.release(),
      () => undefined,
    );
  }
}

function isTooMany(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === TOO_MANY_CONNECTIONS;
}

function rest(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

const WATCH_MILLISECONDS = 50;

type Waiter = { readonly until: number; readonly admit: () => void; readonly refuse: (error: NoConnection) => void };

/**
 * The requests that wait for a connection of a pool, in order of arrival.
 *
 * A wait fails as "too few connections" only after another connection of this process has received a response. Only that proves
 * that there are too few connections. If no connection receives a response, the database is silent, and the wait fails for that
 * reason.
 */
class ConnectionQueue {
  #max: number;
  /** How often the database has sent a response, on any connection of this process. */
  readonly #responses: () => number;
  readonly #silentMilliseconds: number;
  #lent = 0;
  #waiting: Waiter[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(max: number, responses: () => number, silentMilliseconds: number) {
    this.#max = max;
    this.#responses = responses;
    this.#silentMilliseconds = silentMilliseconds;
  }

  /**
   * Resolves when a connection is free. Each call that resolves requires a {@link leave}. Rejects with {@link NoConnection}. Rejects
   * for the reason "too few connections" only after `until` (`performance.now()`).
   */
  enter(until: number): Promise<void> {
    if (this.#lent < this.#max) {
      this.#lent += 1;
      return Promise.resolve();
    }
    return new Promise((admit, refuse) => {
      this.#waiting.push({ until, admit, refuse });
      if (this.#timer === undefined) this.#watch();
    });
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get max(): number {
    return this.#max;
  }

  leave(): void {
    const next = this.#lent > this.#max ? undefined : this.#waiting.shift();
    if (next === undefined) this.#lent -= 1;
    else next.admit();
  }

  limit(max: number): void {
    this.#max = Math.min(this.#max, max);
  }

  #watch(): void {
    let seen = this.#responses();
    let checkedAt = performance.now();
    let silence = 0;
    this.#timer = setInterval(() => {
      const now = performance.now();
      const responses = this.#responses();
      // A frozen process has not read the responses that arrived, so a late check counts for at most two intervals.
      silence = responses === seen ? silence + Math.min(now - checkedAt, 2 * WATCH_MILLISECONDS) : 0;
      if (silence > this.#silentMilliseconds) this.#refuse(() => true, false);
      else if (responses !== seen) this.#refuse(({ until }) => now > until, true);
      seen = responses;
      checkedAt = now;
      if (this.#waiting.length > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    }, WATCH_MILLISECONDS);
  }

  #refuse(which: (waiter: Waiter) => boolean, crowded: boolean): void {
    const refused = this.#waiting.filter(which);
    if (refused.length === 0) return;
    this.#waiting = this.#waiting.filter((waiter) => !which(waiter));
    for (const { refuse } of refused) refuse(new NoConnection(crowded));
  }
}

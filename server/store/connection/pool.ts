import pg from 'pg';
import { isUnfit, NoConnection, TOO_MANY_CONNECTIONS } from './failure.ts';
import { Gate } from './gate.ts';
import { LIMITS, serverOf } from './session-settings.ts';

/** What a request must have left of its time when it gets a connection, in milliseconds: enough for a transaction. */
const ENOUGH = 1500;

/** Between two attempts to connect to a server that has no connection left, in milliseconds: from first to last. */
const FIRST_PAUSE = 25;
const LAST_PAUSE = 200;

/** What a pool is for, and how many connections it has: `min` stay open, the others close when they are idle. */
export type PoolSize = { readonly kind: 'readers' | 'writers'; readonly min: number; readonly max: number };

/** What the connections of a process have seen of the database. Times are by `performance.now()`. */
export type Health = {
  /** How many idle connections were closed by the server, or broke. */
  readonly losses: number;
  /** When a transaction was last committed. */
  readonly committedAt: number;
  /** When one last failed for want of disk space, for an I/O error, or because COMMIT got no response. */
  readonly commitFailedAt: number;
};

/** All pools of a process on one database: what they know of it together, and whose connections make room for whose. */
export class PoolGroup implements Health {
  readonly #pools: Pool[] = [];
  #renewedAt = Number.NEGATIVE_INFINITY;
  #server: string | undefined;
  /** How often the database has sent something, on any connection. */
  responses = 0;
  losses = 0;
  /** Writers that the server has refused a connection and that are trying again. */
  refusedWriters = 0;
  committedAt = Number.NEGATIVE_INFINITY;
  commitFailedAt = Number.NEGATIVE_INFINITY;

  add(pool: Pool): void {
    this.#pools.push(pool);
  }

  /** Connections that are at work. */
  get lent(): number {
    return this.#pools.reduce((sum, { lent }) => sum + lent, 0);
  }

  /**
   * Closes idle connections of other pools because the server has none left for this one: readers first. Where no reader
   * is idle, idle writers of the other pools go; for a reader, one of each pool stays.
   */
  makeRoom(asking: Pool | undefined): void {
    const others = this.#pools.filter((pool) => pool !== asking && pool.idle > 0);
    const readers = others.filter(({ kind }) => kind === 'readers');
    for (const pool of readers.length > 0 ? readers : others) {
      pool.closeIdle(pool.kind === 'writers' && asking?.kind !== 'writers' ? 1 : 0);
    }
  }

  /**
   * Goes by the server that a new connection leads to: after a failover that may be another one, while older connections
   * still lead to the primary that was replaced. Those are closed, so that nothing is read there, or settled, any more.
   */
  follow(server: string | undefined): void {
    if (this.#server !== undefined && this.#server !== server) this.renew();
    this.#server = server;
  }

  /**
   * Closes every connection, those at work when they are given back: a read-only answer means that the address may lead
   * to another server by now, and open connections stay where they are. Not more than once a second.
   */
  renew(): void {
    const now = performance.now();
    if (now - this.#renewedAt < 1000) return;
    this.#renewedAt = now;
    for (const pool of this.#pools) pool.renew();
  }

  /**
   * Runs an attempt to connect, again and again while the server has no connection left, until then
   * (`performance.now()`). Idle connections make room meanwhile. Throws {@link NoConnection} when none was to be had for a
   * pool.
   */
  async connect<Client>(asking: Pool | undefined, until: number, attempt: () => Promise<Client>): Promise<Client> {
    const { responses } = this;
    let refusal: unknown;
    try {
      for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LAST_PAUSE)) {
        if (asking === undefined || !this.#mustYield(asking)) {
          try {
            return await attempt();
          } catch (error) {
            if (!isTooMany(error)) throw error;
            if (refusal === undefined && asking?.kind === 'writers') this.refusedWriters += 1;
            refusal = error;
            this.makeRoom(asking);
          }
        }
        if (performance.now() > until) {
          // Outside the pools what the server said is told as it is.
          if (asking === undefined) throw refusal;
          // The server itself has refused us. Where others of ours are at work they must have got responses, too.
          throw new NoConnection(this.responses !== responses || this.lent === 0, refusal);
        }
        await (asking === undefined ? rest(pause) : asking.rest(pause));
      }
    } finally {
      if (refusal !== undefined && asking?.kind === 'writers') this.refusedWriters -= 1;
    }
  }

  /** A reader opens no second connection while a writer waits for one: it would take what was closed for the writer. */
  #mustYield(pool: Pool): boolean {
    return pool.kind === 'readers' && this.refusedWriters > 0 && pool.idle === 0 && pool.open > 0;
  }
}

/**
 * The connections of one role for one purpose. Beyond its maximum requests wait here and not in `pg`, which cannot tell a
 * pool that is in use from a database that is silent.
 */
export class Pool {
  readonly kind: PoolSize['kind'];
  readonly #min: number;
  readonly #pool: pg.Pool;
  readonly #group: PoolGroup;
  readonly #gate: Gate;
  readonly #generations = new WeakMap<pg.PoolClient, number>();
  #generation = 0;
  #resting: (() => void)[] = [];
  #lent = 0;

  /** Connects to nothing yet. */
  constructor(pool: pg.Pool, { kind, min, max }: PoolSize, group: PoolGroup) {
    this.kind = kind;
    this.#min = min;
    this.#pool = pool;
    this.#group = group;
    this.#gate = new Gate(max, () => group.responses);
    group.add(this);
    pool.on('connect', (client) => {
      group.follow(serverOf(client));
      this.#generations.set(client, this.#generation);
      group.responses += 1;
      client.connection.stream.on('data', () => {
        group.responses += 1;
      });
    });
    pool.on('error', () => {
      group.losses += 1;
    });
    pool.on('remove', () => this.#replace());
  }

  /** Connections at work, idle ones, and all that are open or being opened. */
  get lent(): number {
    return this.#lent;
  }
  get idle(): number {
    return this.#pool.idleCount;
  }
  get open(): number {
    return this.#pool.totalCount;
  }

  /**
   * A connection, to be given back with its `release`; true closes it. Throws {@link NoConnection} when none is to be had,
   * and what `pg` throws when the database cannot be reached. With a deadline (`performance.now()`) the wait ends early
   * enough for a transaction.
   */
  async take(deadline = Number.POSITIVE_INFINITY): Promise<pg.PoolClient> {
    const until = Math.min(performance.now() + LIMITS.crowded, deadline - ENOUGH);
    await this.#gate.enter(until);
    try {
      const client = await this.#group.connect(this, until, () => this.#pool.connect());
      return this.#lend(client);
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  /** Runs one statement. */
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

  /** Closes idle connections but for some. */
  closeIdle(leave: number): void {
    for (let count = this.idle; count > leave; count -= 1) {
      this.#pool.connect().then(
        (client) => client.release(true),
        () => undefined,
      );
    }
  }

  /** Closes every connection: idle ones now, the others when they are given back. */
  renew(): void {
    this.#generation += 1;
    this.closeIdle(0);
  }

  /** Ends after a while, or as soon as a connection is given back. */
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

  /** Closes every connection, after what runs on them. */
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
    // Who was refused a connection has waited for longer than whoever is let in now.
    this.#resting.shift()?.();
    this.#gate.leave();
  }

  /** Keeps the connections that are to stay open: one that has reached its age is replaced before others need its place. */
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

import pg from 'pg';

/** Where PostgreSQL is, as `pg` takes it. */
export type ConnectionSettings =
  | { readonly connectionString: string }
  | { readonly host: string; readonly port: number; readonly user: string; readonly database: string };

/**
 * Under which role of the database a connection works; its rights are in migrations/0005_row_level_security.sql.
 * `application` serves the requests of card programs, and sees the rows of those programs only that it names.
 * `background` is for operators and loops, which look after all programs. `authentication` finds out who is calling.
 */
export type Role = 'application' | 'background' | 'authentication';

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

/** Connections at most, by role: `readers` run single statements, `writers` transactions. */
const MOST: Readonly<Record<Role, { readonly readers: number; readonly writers: number }>> = {
  application: { readers: 6, writers: 6 },
  background: { readers: 6, writers: 6 },
  // It never writes.
  authentication: { readers: 2, writers: 1 },
};

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

/** The open connections of one role, and how to make one more. */
export class Connections {
  readonly readers: pg.Pool;
  readonly writers: pg.Pool;
  readonly #settings: ConnectionSettings;
  readonly #role: Role;

  /** Nothing is connected before it is asked for. */
  constructor(settings: ConnectionSettings, role: Role) {
    this.#settings = settings;
    this.#role = role;
    const { readers, writers } = MOST[role];
    this.readers = openPool(settings, { max: readers }, [actAs(role)]);
    this.writers = openPool(settings, { max: writers, maxLifetimeSeconds: WRITER_LIFETIME }, [
      actAs(role),
      ...WRITER_OPTIONS,
    ]);
  }

  /**
   * What stands against working under the role, in a few words. An option in the connection string, or a pooler that drops
   * what it does not know, would put aside the role and the time limits without a word, and the wall between programs
   * with them.
   */
  async findRoleProblem(): Promise<string | undefined> {
    const asked = `select current_user::text as role, current_setting('lock_timeout') as lock_timeout,
      (select count(*) from switch) as count`;
    try {
      const statement = this.#role === 'authentication' ? asked.replace('switch', 'api_key') : asked;
      const { rows } = await this.readers.query<{ role: string; lock_timeout: string }>(statement);
      const { role, lock_timeout } = rows[0] ?? { role: '', lock_timeout: '' };
      if (role === nameOf(this.#role) && lock_timeout === `${LIMITS.lock}ms`) return undefined;
      return `the options of its connections do not arrive: it acts as ${role}, with a lock_timeout of ${lock_timeout}`;
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error;
      return error.message;
    }
  }

  /** Runs work on a connection of its own, without time limits. */
  alone<Result>(run: (client: pg.ClientBase) => Promise<Result>): Promise<Result> {
    return withClient({ ...this.#settings, options: actAs(this.#role) }, run);
  }

  /** Closes every connection, after what runs on them. */
  async close(): Promise<void> {
    await Promise.all([this.readers.end(), this.writers.end()]);
  }
}

/**
 * Runs work on a connection of its own, without time limits and with the rights that the user itself has: what makes
 * the schema and the roles. Throws whatever `pg` says when there is no connection to be had.
 */
export function administer<Result>(
  settings: ConnectionSettings,
  run: (client: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  return withClient(settings, run);
}

/** Whether the database takes connections and answers: throws whatever `pg` says when not. */
export async function probe(settings: ConnectionSettings): Promise<void> {
  await withClient(settings, (client) => client.query('select 1'));
}

/** The option of a connection that puts it under a role from its first statement on. */
function actAs(role: Role): string {
  return `-c role=${nameOf(role)}`;
}

function nameOf(role: Role): string {
  return `transfer_service_${role}`;
}

async function withClient<Result>(
  settings: pg.ClientConfig,
  run: (client: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  const types = { getTypeParser: parserOf };
  const client = new pg.Client({ ...settings, connectionTimeoutMillis: LIMITS.connect, types });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
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

import pg from 'pg';
import { noteWaiting } from './lock-holder.ts';
import { Pool, PoolGroup, type PoolLimits, type PoolSize } from './pool.ts';
import {
  applySettings,
  DEFAULT_SCHEMA,
  findDifferingSettings,
  LIMITS,
  REQUIRED_STANDBY,
  type Setting,
  sessionSettings,
  startupOptions,
  WITHIN_LIMITS,
  WITHOUT_LIMITS,
  WRITER_SETTINGS,
} from './session-settings.ts';

// Invariant: A start and a command wait for a slow database without a limit, and say what for
// Kept by: `STARTS`
// Tested by: `test/start/waits.test.ts`

/**
 * The address of PostgreSQL in the form of `pg`, the schema of the tables if it is not {@link DEFAULT_SCHEMA}, and
 * whether nothing may be committed that does not wait for a standby.
 */
export type ConnectionSettings = Address & { readonly schema?: string; readonly requiresStandby?: boolean };

type Address =
  | { readonly connectionString: string }
  | { readonly host: string; readonly port: number; readonly user: string; readonly database: string };

/**
 * The role of the database under which a connection works; migrations/0005_row_level_security.sql has its rights.
 * `application` serves the requests of card programs, and sees only the rows of the programs that it has named.
 * `background` is for operators and loops, for all programs. `authentication` finds the caller of a request.
 */
export type Role = 'application' | 'background' | 'authentication';

/** The minimum that a process needs: one of each kind, and one for work on a connection of its own. */
export const MIN_CONNECTIONS = 6;

/** The maximum that a process opens, unless DATABASE_CONNECTIONS is set. */
export const MAX_CONNECTIONS = 27;

/** Maximum number of connections by role: `readers` run single statements, `writers` transactions. */
type Sizes = Readonly<Record<Role, RoleSizes>>;
type RoleSizes = { readonly readers: number; readonly writers: number };

/**
 * Divides the connections that a process may open, at least {@link MIN_CONNECTIONS}; one is for work on a connection of
 * its own.
 */
export function divideConnections(total: number): Sizes {
  const sizes = {
    application: { readers: 1, writers: 1 },
    background: { readers: 1, writers: 1 },
    // It never writes.
    authentication: { readers: 1, writers: 0 },
  };
  let left = total - MIN_CONNECTIONS;
  for (let round = 0; left > 0; round += 1) {
    for (const kind of ['writers', 'readers'] as const) {
      for (const role of ['application', 'background'] as const) if (left-- > 0) sizes[role][kind] += 1;
    }
    // Keys are looked up in a fraction of a millisecond and cached for a second: two connections are plenty.
    if (round === 0 && left-- > 0) sizes.authentication.readers += 1;
  }
  return sizes;
}

/** An idle connection is closed after this time, because others may need its place on the server. */
const IDLE_MILLISECONDS = 5000;

/**
 * How long a writing connection, and each of its plans, is used. A plan made for a nearly empty table may use the wrong
 * one of two indexes, and must not stay when the table has grown.
 */
const WRITER_LIFETIME_SECONDS = 60;

/** For `pg`: no time limit. */
const NO_LIMIT = 0;

/**
 * Time limits of a pool's connections: for a connection, for a free one while the database responds to other requests
 * (`crowded`) or to none (`silent`), for a response, and in PostgreSQL for a lock and a statement.
 */
export type TimeLimits = PoolLimits & {
  readonly connectMilliseconds: number;
  readonly responseMilliseconds: number;
  readonly session: readonly Setting[];
};

/** For requests, which must be answered in time. */
export const REQUESTS: TimeLimits = {
  connectMilliseconds: LIMITS.connect,
  crowdedMilliseconds: LIMITS.crowded,
  silentMilliseconds: LIMITS.silent,
  responseMilliseconds: LIMITS.response,
  session: WITHIN_LIMITS,
};

/**
 * For starts and commands, which nobody waits for and which would only be repeated: they wait for a slow server or a
 * held lock. The wait ends for a reason: PostgreSQL refuses, its process ends, or its machine is gone.
 */
export const STARTS: TimeLimits = {
  connectMilliseconds: NO_LIMIT,
  crowdedMilliseconds: LIMITS.crowded,
  silentMilliseconds: LIMITS.silent,
  responseMilliseconds: NO_LIMIT,
  session: WITHOUT_LIMITS,
};

/**
 * The kernel of a running machine responds at once, however slow its PostgreSQL is; a machine that is gone is noticed.
 */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 30_000 } as const;

/** The settings that are not in force, or PostgreSQL's error about the role; in a few words. */
export type RoleProblem = { readonly differing: string } | { readonly refused: string };

/** The open connections of one role. */
export class Connections {
  readonly readers: Pool;
  readonly writers: Pool;
  /** All connections of this process. */
  readonly group: PoolGroup;
  readonly #settings: ConnectionSettings;
  readonly #role: Role;
  readonly #timeLimits: TimeLimits;

  /** Opens no connection before one is needed. */
  constructor(
    settings: ConnectionSettings,
    role: Role,
    group: PoolGroup,
    sizes: RoleSizes,
    timeLimits: TimeLimits = REQUESTS,
  ) {
    this.#settings = settings;
    this.#role = role;
    this.#timeLimits = timeLimits;
    this.group = group;
    const session: readonly Setting[] = [...timeLimits.session, actAs(role)];
    const readers = { kind: 'readers', min: 0, max: sizes.readers } as const;
    // One writer of transfers stays open, so that transfers continue even if others take the server's connections.
    const writers = { kind: 'writers', min: role === 'application' ? 1 : 0, max: sizes.writers } as const;
    this.readers = new Pool(openPool(settings, toPooling(readers), session, timeLimits), readers, group, timeLimits);
    const pooling = { ...toPooling(writers), maxLifetimeSeconds: WRITER_LIFETIME_SECONDS };
    const writing = [...WRITER_SETTINGS, ...session];
    this.writers = new Pool(openPool(settings, pooling, writing, timeLimits), writers, group, timeLimits);
  }

  /**
   * Why the role cannot be used, in a few words. A pooler that distributes the statements of one connection over
   * several sessions would silently drop the role and the settings, and with them the separation of programs.
   */
  async findRoleProblem(): Promise<RoleProblem | undefined> {
    const table = this.#role === 'authentication' ? 'api_key' : 'switch';
    const settings = settingsFor(this.#settings, [...this.#timeLimits.session, actAs(this.#role)]);
    try {
      await this.readers.query(`select count(*) from ${table}`);
      const differing = await findDifferingSettings(this.readers, settings);
      return differing === undefined ? undefined : { differing };
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error;
      return { refused: error.message };
    }
  }

  /** Limits the connections from now on. */
  limit({ readers, writers }: RoleSizes): void {
    this.readers.limit(readers);
    this.writers.limit(writers);
  }

  /** Runs work on a connection of its own, without time limits. An aborted signal closes the connection. */
  alone<Result>(run: (client: pg.ClientBase) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const { connectMilliseconds } = this.#timeLimits;
    const session = [...WITHOUT_LIMITS, actAs(this.#role)];
    return withClient(this.#settings, session, run, { group: this.group, signal, connectMilliseconds });
  }

  /** Closes every connection after its current work. */
  async close(): Promise<void> {
    await Promise.all([this.readers.end(), this.writers.end()]);
  }
}

/**
 * Runs work on a connection of its own, without time limits and with the rights of the user itself: for the schema and
 * the roles. Throws the error of `pg` if it cannot connect.
 */
export function administer<Result>(
  settings: ConnectionSettings,
  run: (client: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  return withClient(settings, WITHOUT_LIMITS, run);
}

/** The SQLSTATE of a startup option that a server does not know. */
const UNKNOWN_SETTING = '42704';

/**
 * Runs work on a connection with the user's own settings, except time limits that would end it at once. Works with
 * every PostgreSQL, however old: one that does not know all of these limits gets none of them. Throws the error of `pg`
 * if it cannot connect.
 */
export async function connectPlainly<Result>(
  settings: ConnectionSettings,
  run: (client: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  const unlimited = startupOptions([...WITHOUT_LIMITS, ['idle_session_timeout', '0']]);
  const attempt = (): Promise<pg.Client> =>
    connect({ ...settings, options: unlimited }, NO_LIMIT).catch((error: unknown) => {
      if (error instanceof pg.DatabaseError && error.code === UNKNOWN_SETTING) return connect(settings, NO_LIMIT);
      throw error;
    });
  return endingAfter(await new PoolGroup().connect(undefined, performance.now() + LIMITS.crowded, attempt), run);
}

/** The same within the time limits of a request: for a query about sessions that wait, which must not wait itself. */
export function connectWithinLimits<Result>(
  settings: ConnectionSettings,
  run: (client: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  const where = { ...settings, query_timeout: LIMITS.response };
  return withClient(where, WITHIN_LIMITS, run, { connectMilliseconds: LIMITS.connect });
}

/** Checks that the database accepts connections and responds; throws the error of `pg` otherwise. */
export async function probe(settings: ConnectionSettings): Promise<void> {
  await withClient(settings, WITHOUT_LIMITS, (client) => client.query('select 1'));
}

/** Sets the role of a connection from its first statement on. */
function actAs(role: Role): Setting {
  return ['role', nameOf(role)];
}

function nameOf(role: Role): string {
  return `transfer_service_${role}`;
}

function settingsFor({ schema, requiresStandby }: ConnectionSettings, more: readonly Setting[]): readonly Setting[] {
  return sessionSettings(schema ?? DEFAULT_SCHEMA, ...more, ...(requiresStandby === true ? [REQUIRED_STANDBY] : []));
}

/** A connection outside the pools. */
type Lone = {
  /** The pools that make room for it. */
  readonly group?: PoolGroup;
  /** Closes it. */
  readonly signal?: AbortSignal | undefined;
  readonly connectMilliseconds?: number;
};

async function withClient<Result>(
  where: ConnectionSettings,
  more: readonly Setting[],
  run: (client: pg.ClientBase) => Promise<Result>,
  { group = new PoolGroup(), signal, connectMilliseconds = NO_LIMIT }: Lone = {},
): Promise<Result> {
  const settings = settingsFor(where, more);
  const options = startupOptions(settings);
  const client = await group.connect(undefined, performance.now() + LIMITS.crowded, () =>
    connect({ ...where, options }, connectMilliseconds),
  );
  const abort = (): void => void client.end().catch(() => undefined);
  return endingAfter(client, async () => {
    if (signal?.aborted === true) throw new Error('the work was given up');
    signal?.addEventListener('abort', abort, { once: true });
    try {
      await applySettings(client, settings);
      return await run(client);
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  });
}

async function connect(settings: pg.ClientConfig, connectionTimeoutMillis: number): Promise<pg.Client> {
  const types = { getTypeParser: parserOf };
  const client = new pg.Client({ ...settings, ...KEEP_ALIVE, connectionTimeoutMillis, types });
  client.on('error', () => undefined);
  await client.connect();
  if (connectionTimeoutMillis === NO_LIMIT) noteWaiting(client);
  return client;
}

async function endingAfter<Result>(
  client: pg.Client,
  run: (client: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}

function toPooling({ min, max }: PoolSize): pg.PoolConfig {
  // For `pg`, 0 means its own default rather than none.
  return { min, max: Math.max(max, 1) };
}

function openPool(
  where: ConnectionSettings,
  pooling: pg.PoolConfig,
  more: readonly Setting[],
  { connectMilliseconds, responseMilliseconds }: TimeLimits,
): pg.Pool {
  const settings = settingsFor(where, more);
  const pool = new pg.Pool({
    ...where,
    ...pooling,
    pipeline: true,
    ...KEEP_ALIVE,
    idleTimeoutMillis: IDLE_MILLISECONDS,
    connectionTimeoutMillis: connectMilliseconds,
    query_timeout: responseMilliseconds,
    application_name: 'transfer-service',
    options: startupOptions(settings),
    // A connection is used only with its settings; if they cannot be applied, it is closed.
    onConnect: (client) => applySettings(client, settings),
    types: { getTypeParser: parserOf },
  });
  // A dead idle connection leaves the pool; without a listener it would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    if (connectMilliseconds === NO_LIMIT) noteWaiting(client);
  });
  return pool;
}

function parserOf(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === pg.types.builtins.INT8) return BigInt;
  return pg.types.getTypeParser(oid, format ?? 'text') as (value: string) => unknown;
}

/** A maximum of connections, null for none, and how many are open, except the one that reads it. */
type Usage = { readonly max: number | null; readonly used: number };
type UsageRow = { readonly user: string; readonly database: string } & Readonly<
  Record<'role' | 'ofDatabase' | 'server', Usage>
>;

/** A maximum number of connections of the server, a role or a database, and how to raise it. */
export type ConnectionLimit = {
  readonly whose: string;
  readonly raise: string;
  readonly max: number;
  /** How many are free now. */
  readonly free: number;
};

/**
 * Superusers are exempt from the limits of roles and databases and may use the reserved connections;
 * `reserved_connections` is new in PostgreSQL 16.
 */
const READ_USAGE = `with used as (
    select count(*)::integer as server, count(*) filter (where usename = session_user)::integer as role,
      count(*) filter (where datname = current_database())::integer as database
    from pg_stat_activity where datid is not null and usesysid is not null and pid <> pg_backend_pid())
  select session_user::text as "user", current_database()::text as database,
    json_build_object('used', used.role,
      'max', case when not rolsuper and rolconnlimit >= 0 then rolconnlimit end) as role,
    json_build_object('used', used.database,
      'max', case when not rolsuper and datconnlimit >= 0 then datconnlimit end) as "ofDatabase",
    json_build_object('used', used.server, 'max', current_setting('max_connections')::integer
      - case when rolsuper then 0 else current_setting('superuser_reserved_connections')::integer
        + coalesce(current_setting('reserved_connections', true), '0')::integer end) as server
  from used, pg_roles, pg_database where rolname = session_user and datname = current_database()`;

/** The connection limits of the role, the database and the server: the lowest one, and the one with the fewest free. */
export async function readConnectionLimits(
  settings: ConnectionSettings,
): Promise<{ readonly lowest: ConnectionLimit; readonly tightest: ConnectionLimit }> {
  const { rows } = await administer(settings, (client) => client.query<UsageRow>(READ_USAGE));
  const [usage] = rows;
  if (usage === undefined) throw new Error('the database does not know its own user');
  const server = toLimit('the server', 'max_connections in postgresql.conf', usage.server);
  const role = `ALTER ROLE ${quoted(usage.user)} CONNECTION LIMIT`;
  const database = `ALTER DATABASE ${quoted(usage.database)} CONNECTION LIMIT`;
  const limits = [
    server,
    toLimit(`the role ${usage.user}`, role, usage.role),
    toLimit(`the database ${usage.database}`, database, usage.ofDatabase),
  ];
  return {
    lowest: limits.reduce((lowest, limit) => (limit.max < lowest.max ? limit : lowest), server),
    tightest: limits.reduce((lowest, limit) => (limit.free < lowest.free ? limit : lowest), server),
  };
}

function toLimit(whose: string, raise: string, { max, used }: Usage): ConnectionLimit {
  const limit = max ?? Number.POSITIVE_INFINITY;
  return { whose, raise, max: limit, free: Math.max(0, limit - used) };
}

function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

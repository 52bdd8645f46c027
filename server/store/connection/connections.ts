import pg from 'pg';
import { parseJson } from '../../../domain/parse-json.ts';
import { type Hosts, hostsOf, KEEP_ALIVE } from './hosts/hosts.ts';
import { noteWaiting } from './lock-holder.ts';
import { Pool, PoolGroup, type PoolLimits, type PoolSize } from './pool.ts';
import {
  applySettings,
  DEFAULT_SCHEMA,
  findDifferingSettings,
  LIMITS,
  READER_SETTINGS,
  REQUIRED_STANDBY,
  type Setting,
  sessionSettings,
  startupOptions,
  WITHIN_LIMITS,
  WITHOUT_LIMITS,
  WRITER_SETTINGS,
} from './session-settings.ts';

// Invariant: `start` and the other commands wait for a slow database without a time limit, and print what they wait for
// Kept by: `STARTS`
// Tested by: `test/start/waits.test.ts`

/**
 * The address of PostgreSQL in the form of `pg`, the schema of the tables unless it is {@link DEFAULT_SCHEMA}, and whether every
 * commit must wait for a standby.
 */
export type ConnectionSettings = Address & { readonly schema?: string; readonly requiresStandby?: boolean };

type Address =
  | { readonly connectionString: string }
  | { readonly host: string; readonly port: number; readonly user: string; readonly database: string };

/**
 * The database role of a connection. migrations/0005_row_level_security.sql grants its privileges. `application` serves the
 * requests of card programs, and sees only the rows of the programs that it has named. `background` is for operators and
 * background jobs, and sees all programs. `authentication` finds the caller of a request.
 */
export type Role = 'application' | 'background' | 'authentication';

/** The minimum for a process: one connection of each kind, and one for separate work. */
export const MIN_CONNECTIONS = 6;

/** The maximum that a process opens, unless DATABASE_CONNECTIONS is set. */
export const MAX_CONNECTIONS = 27;

/** Maximum number of connections by role: `readers` run single statements, `writers` transactions. */
type Sizes = Readonly<Record<Role, RoleSizes>>;
type RoleSizes = { readonly readers: number; readonly writers: number };

/**
 * Divides the connections that a process may open among the roles. `total` is at least {@link MIN_CONNECTIONS}. One is for separate
 * work.
 */
export function divideConnections(total: number): Sizes {
  const sizes = {
    application: { readers: 1, writers: 1 },
    background: { readers: 1, writers: 1 },
    // This role never writes.
    authentication: { readers: 1, writers: 0 },
  };
  let left = total - MIN_CONNECTIONS;
  for (let round = 0; left > 0; round += 1) {
    for (const kind of ['writers', 'readers'] as const) {
      for (const role of ['application', 'background'] as const) if (left-- > 0) sizes[role][kind] += 1;
    }
    // Keys are looked up in a fraction of a millisecond and cached for a second, so two connections are plenty.
    if (round === 0 && left-- > 0) sizes.authentication.readers += 1;
  }
  return sizes;
}

/** An idle connection is closed after this time, because other processes may need its slot on the server. */
const IDLE_MILLISECONDS = 5000;

/**
 * How long a writing connection, and each of its plans, is used. For a nearly empty table, a plan may use the wrong one of two
 * indexes. Such a plan must not be used any longer once the table has grown.
 */
const WRITER_LIFETIME_SECONDS = 60;

/** Means no time limit for `pg`. */
const NO_LIMIT = 0;

/**
 * Time limits of a pool's connections. The first is for connecting. The next two are for a free connection, while the database
 * responds to other requests (`crowded`) or to none (`silent`). The fourth is for a response. The last two apply in
 * PostgreSQL, to a lock and a statement.
 */
export type TimeLimits = PoolLimits & {
  readonly connectMilliseconds: number;
  readonly responseMilliseconds: number;
  readonly session: readonly Setting[];
};

/** For requests, which must get a response in time. */
export const REQUESTS: TimeLimits = {
  connectMilliseconds: LIMITS.connect,
  crowdedMilliseconds: LIMITS.crowded,
  silentMilliseconds: LIMITS.silent,
  responseMilliseconds: LIMITS.response,
  session: WITHIN_LIMITS,
};

/**
 * For startup and commands. No caller waits for them, and after a time-out they would only be repeated. They wait for a slow
 * server or a held lock. The wait ends only if PostgreSQL refuses, its process ends, or its machine is gone.
 */
export const STARTS: TimeLimits = {
  connectMilliseconds: NO_LIMIT,
  crowdedMilliseconds: LIMITS.crowded,
  silentMilliseconds: LIMITS.silent,
  responseMilliseconds: NO_LIMIT,
  session: WITHOUT_LIMITS,
};

/** The settings that have a different value, or PostgreSQL's error about the role, in a few words. */
export type RoleProblem = { readonly differing: string } | { readonly refused: string };

export class Connections {
  readonly readers: Pool;
  readonly writers: Pool;
  readonly group: PoolGroup;
  readonly #settings: ConnectionSettings;
  readonly #role: Role;
  readonly #timeLimits: TimeLimits;

  /** Does not open a connection before it is needed. */
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
    // One writer for transfers stays open, so that transfers continue even if other clients use up the server's connections.
    const writers = { kind: 'writers', min: role === 'application' ? 1 : 0, max: sizes.writers } as const;
    const reading = [...READER_SETTINGS, ...session];
    this.readers = new Pool(openPool(settings, toPooling(readers), reading, timeLimits), readers, group, timeLimits);
    const pooling = { ...toPooling(writers), maxLifetimeSeconds: WRITER_LIFETIME_SECONDS };
    const writing = [...WRITER_SETTINGS, ...session];
    this.writers = new Pool(openPool(settings, pooling, writing, timeLimits), writers, group, timeLimits);
  }

  /**
   * Returns the reason why the role cannot be used, in a few words. A pooler that distributes the statements of one connection
   * over several sessions would silently drop the role and the settings, and with them the separation of card programs.
   */
  async findRoleProblem(): Promise<RoleProblem | undefined> {
    const table = this.#role === 'authentication' ? 'api_key' : 'switch';
    const more = [...READER_SETTINGS, ...this.#timeLimits.session, actAs(this.#role)];
    const settings = settingsFor(this.#settings, more);
    try {
      // Reads no rows, because on a node of a Citus cluster without the tables, the policies would refuse a read.
      await this.readers.query(`select from ${table} limit 0`);
      const differing = await findDifferingSettings(this.readers, settings);
      return differing === undefined ? undefined : { differing };
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error;
      return { refused: error.message };
    }
  }

  limit({ readers, writers }: RoleSizes): void {
    this.readers.limit(readers);
    this.writers.limit(writers);
  }

  /** Runs work on a separate connection, without time limits. If the signal is aborted, the connection is closed. */
  alone<Result>(run: (client: pg.ClientBase) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const { connectMilliseconds } = this.#timeLimits;
    const session = [...WITHOUT_LIMITS, actAs(this.#role)];
    return withClient(this.#settings, session, run, { group: this.group, signal, connectMilliseconds });
  }

  /** Closes every connection when its current work has ended. */
  async close(): Promise<void> {
    await Promise.all([this.readers.end(), this.writers.end()]);
  }
}

/**
 * Runs work on the schema and the roles, on a separate connection, without time limits and with the privileges of the user
 * itself. Throws the error of `pg` if it cannot connect.
 */
export function administer<Result>(
  settings: ConnectionSettings,
  run: (client: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  return withClient(settings, WITHOUT_LIMITS, run);
}

/** The SQLSTATE for a startup option that the server does not support. */
const UNKNOWN_SETTING = '42704';

/**
 * Runs work on a connection with the user's own settings, except for time limits that would end the work immediately. Works with
 * every PostgreSQL: if a server is too old to have all of these limits, none is set. Throws the error of `pg` if it cannot connect.
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
  const group = new PoolGroup(hostsOf(settings), NO_LIMIT);
  return endingAfter(await group.connect(undefined, performance.now() + LIMITS.crowded, attempt), run);
}

/**
 * Runs work as {@link connectPlainly} does, but within the time limits of a request. It is for a query about waiting sessions,
 * which must not wait itself.
 */
export function connectWithinLimits<Result>(
  settings: ConnectionSettings,
  run: (client: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  const where = { ...settings, query_timeout: LIMITS.response };
  return withClient(where, WITHIN_LIMITS, run, { connectMilliseconds: LIMITS.connect });
}

/** Checks that the database accepts connections and responds. Throws the error of `pg` otherwise. */
export async function probe(settings: ConnectionSettings): Promise<void> {
  await withClient(settings, WITHOUT_LIMITS, (client) => client.query('select 1'));
}

/** Sets the role of a connection before its first statement. */
function actAs(role: Role): Setting {
  return ['role', nameOf(role)];
}

function nameOf(role: Role): string {
  return `transfer_service_${role}`;
}

function settingsFor({ schema, requiresStandby }: ConnectionSettings, more: readonly Setting[]): readonly Setting[] {
  return sessionSettings(schema ?? DEFAULT_SCHEMA, ...more, ...(requiresStandby === true ? [REQUIRED_STANDBY] : []));
}

type Lone = {
  /** The pools that may have to make room for this one. */
  readonly group?: PoolGroup;
  readonly signal?: AbortSignal | undefined;
  readonly connectMilliseconds?: number;
};

async function withClient<Result>(
  where: ConnectionSettings,
  more: readonly Setting[],
  run: (client: pg.ClientBase) => Promise<Result>,
  { group, signal, connectMilliseconds = NO_LIMIT }: Lone = {},
): Promise<Result> {
  const settings = settingsFor(where, more);
  const connecting = group ?? new PoolGroup(hostsOf(where), connectMilliseconds);
  const client = await connecting.connect(undefined, performance.now() + LIMITS.crowded, () =>
    connect({ ...where, options: optionsOf(where, settings) }, connectMilliseconds, settings),
  );
  const abort = (): void => void client.end().catch(() => undefined);
  return endingAfter(client, async () => {
    if (signal?.aborted === true) throw new Error('the work was aborted');
    signal?.addEventListener('abort', abort, { once: true });
    try {
      return await run(client);
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  });
}

/** Opens a connection. Without `settings`, it keeps the user's settings. */
async function connect(
  where: pg.ClientConfig,
  connectionTimeoutMillis: number,
  settings?: readonly Setting[],
): Promise<pg.Client> {
  const hosts = hostsOf(where);
  const config = { ...where, ...KEEP_ALIVE, connectionTimeoutMillis, types: { getTypeParser: parserOf } };
  const client = hosts?.clientOf(config) ?? new pg.Client(config);
  client.on('error', () => undefined);
  await client.connect();
  if (connectionTimeoutMillis === NO_LIMIT) noteWaiting(client);
  try {
    await prepare(client, hosts, settings);
  } catch (error) {
    await client.end();
    throw error;
  }
  return client;
}

/**
 * Applies the settings in the first packet of a connection. If there are several hosts, the packet also asks the host for its
 * state.
 */
async function prepare(
  client: pg.ClientBase,
  hosts: Hosts | undefined,
  settings: readonly Setting[] | undefined,
): Promise<void> {
  const [[readOnly, on]] = READER_SETTINGS;
  const isOfReader = ([name, value]: Setting): boolean => name === readOnly && value === on;
  // If there are several hosts, the host must first prove that it accepts writes. Only then is the connection limited to reads.
  const isLimitedLater = hosts?.mustWrite === true && settings?.some(isOfReader) === true;
  const first = isLimitedLater ? settings.map((one): Setting => (isOfReader(one) ? [readOnly, 'off'] : one)) : settings;
  const apply = first && (() => applySettings(client, first));
  await (hosts === undefined ? apply?.() : hosts.require(client, apply));
  if (isLimitedLater) await client.query(`set ${readOnly} to ${on}`);
}

/**
 * If there are several hosts, a host may have been made read-only because it was replaced. The service must see this setting before
 * overriding it.
 */
function optionsOf(where: ConnectionSettings, settings: readonly Setting[]): string {
  const isKept = ([name]: Setting): boolean => name !== READER_SETTINGS[0][0];
  return startupOptions(hostsOf(where)?.mustWrite === true ? settings.filter(isKept) : settings);
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
  // `pg` would read 0 as its default instead of none.
  return { min, max: Math.max(max, 1) };
}

function openPool(
  where: ConnectionSettings,
  pooling: pg.PoolConfig,
  more: readonly Setting[],
  { connectMilliseconds, responseMilliseconds }: TimeLimits,
): pg.Pool {
  const settings = settingsFor(where, more);
  const hosts = hostsOf(where);
  const pool = new pg.Pool({
    ...where,
    ...hosts?.poolClient,
    ...pooling,
    pipeline: true,
    ...KEEP_ALIVE,
    idleTimeoutMillis: IDLE_MILLISECONDS,
    connectionTimeoutMillis: connectMilliseconds,
    query_timeout: responseMilliseconds,
    application_name: 'transfer-service',
    options: optionsOf(where, settings),
    // A connection is only used with its settings. If they cannot be applied, it is closed.
    onConnect: (client) => prepare(client, hosts, settings),
    types: { getTypeParser: parserOf },
  });
  // Dead idle connections leave the pool. Without a listener, the error would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    if (connectMilliseconds === NO_LIMIT) noteWaiting(client);
  });
  return pool;
}

function parserOf(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === pg.types.builtins.INT8) return BigInt;
  // The driver's own parser is `JSON.parse`, which can change the names of metadata.
  if (oid === pg.types.builtins.JSON || oid === pg.types.builtins.JSONB) return parseJson;
  return pg.types.getTypeParser(oid, format ?? 'text') as (value: string) => unknown;
}

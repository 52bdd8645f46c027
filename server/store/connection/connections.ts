import pg from 'pg';
import { Pool, PoolGroup, type PoolSize } from './pool.ts';
import {
  applySettings,
  DEFAULT_SCHEMA,
  findDifferingSettings,
  LIMITS,
  type Setting,
  sessionSettings,
  startupOptions,
  WITHIN_LIMITS,
  WITHOUT_LIMITS,
  WRITER_SETTINGS,
} from './session-settings.ts';

/** Where PostgreSQL is, as `pg` takes it, and the schema of the tables when it is not {@link DEFAULT_SCHEMA}. */
export type ConnectionSettings = Address & { readonly schema?: string };

type Address =
  | { readonly connectionString: string }
  | { readonly host: string; readonly port: number; readonly user: string; readonly database: string };

/**
 * Under which role of the database a connection works; its rights are in migrations/0005_row_level_security.sql.
 * `application` serves the requests of card programs, and sees the rows of those programs only that it names.
 * `background` is for operators and loops, which look after all programs. `authentication` finds out who is calling.
 */
export type Role = 'application' | 'background' | 'authentication';

/** Connections that a process needs: one of each kind, and one for what runs alone. */
export const FEWEST_CONNECTIONS = 6;

/** What a process opens at most unless DATABASE_CONNECTIONS says otherwise. */
export const MOST_CONNECTIONS = 27;

/** Connections at most, by role: `readers` run single statements, `writers` transactions. */
type Sizes = Readonly<Record<Role, { readonly readers: number; readonly writers: number }>>;

/** Divides the connections that a process may have, {@link FEWEST_CONNECTIONS} at least; one is for what runs alone. */
export function divideConnections(total: number): Sizes {
  const sizes = {
    application: { readers: 1, writers: 1 },
    background: { readers: 1, writers: 1 },
    // It never writes.
    authentication: { readers: 1, writers: 0 },
  };
  let left = total - FEWEST_CONNECTIONS;
  for (let round = 0; left > 0; round += 1) {
    for (const kind of ['writers', 'readers'] as const) {
      for (const role of ['application', 'background'] as const) if (left-- > 0) sizes[role][kind] += 1;
    }
    // Keys are looked up in a fraction of a millisecond and remembered for a second: two connections are plenty.
    if (round === 0 && left-- > 0) sizes.authentication.readers += 1;
  }
  return sizes;
}

/** After so many milliseconds an idle connection is closed: others may need its place on the server. */
const IDLE = 5000;

/**
 * How long a writing connection, and with it each of its plans, lives, in seconds. A plan that was made for a nearly
 * empty table may probe the wrong one of two indexes; when the table has grown it must not stay.
 */
const WRITER_LIFETIME = 60;

/** Settings that are not as they were set, or what PostgreSQL says against the role; in a few words. */
export type RoleProblem = { readonly differing: string } | { readonly refused: string };

/** The open connections of one role, and how to make one more. */
export class Connections {
  readonly readers: Pool;
  readonly writers: Pool;
  /** All connections of this process. */
  readonly group: PoolGroup;
  readonly #settings: ConnectionSettings;
  readonly #role: Role;

  /** Nothing is connected before it is asked for. */
  constructor(settings: ConnectionSettings, role: Role, group: PoolGroup, sizes: Sizes) {
    this.#settings = settings;
    this.#role = role;
    this.group = group;
    const limited: readonly Setting[] = [...WITHIN_LIMITS, actAs(role)];
    const readers = { kind: 'readers', min: 0, max: sizes[role].readers } as const;
    // One writer of transfers stays open, so that they go on whatever else takes the connections of the server.
    const writers = { kind: 'writers', min: role === 'application' ? 1 : 0, max: sizes[role].writers } as const;
    this.readers = new Pool(openPool(settings, toPooling(readers), limited), readers, group);
    const pooling = { ...toPooling(writers), maxLifetimeSeconds: WRITER_LIFETIME };
    this.writers = new Pool(openPool(settings, pooling, [...WRITER_SETTINGS, ...limited]), writers, group);
  }

  /**
   * What stands against working under the role, in a few words. A pooler that gives the statements of one connection to
   * several sessions would put aside the role and the settings without a word, and the wall between programs with them.
   */
  async findRoleProblem(): Promise<RoleProblem | undefined> {
    const table = this.#role === 'authentication' ? 'api_key' : 'switch';
    const settings = settingsFor(this.#settings, [...WITHIN_LIMITS, actAs(this.#role)]);
    try {
      await this.readers.query(`select count(*) from ${table}`);
      const differing = await findDifferingSettings(this.readers, settings);
      return differing === undefined ? undefined : { differing };
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error;
      return { refused: error.message };
    }
  }

  /** Runs work on a connection of its own, without time limits. */
  alone<Result>(run: (client: pg.ClientBase) => Promise<Result>): Promise<Result> {
    return withClient(this.#settings, [...WITHOUT_LIMITS, actAs(this.#role)], run, this.group);
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
  return withClient(settings, WITHOUT_LIMITS, run);
}

/** For an answer of a server that nothing is known of yet, in milliseconds: a start must not hang on it. */
const FIRST_ANSWER = 10_000;

/** The SQLSTATE of a startup option that a server does not know. */
const UNKNOWN_SETTING = '42704';

/**
 * Runs work on a connection with the settings that its user has, but for time limits that would end it at once. Takes any
 * PostgreSQL, however old: one that does not know all of these limits gets none of them. Throws whatever `pg` says when
 * there is no connection to be had.
 */
export async function connectPlainly<Result>(
  settings: ConnectionSettings,
  run: (client: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  const plain = { ...settings, query_timeout: FIRST_ANSWER };
  const unlimited = startupOptions([...WITHOUT_LIMITS, ['idle_session_timeout', '0']]);
  const attempt = (): Promise<pg.Client> =>
    connect({ ...plain, options: unlimited }).catch((error: unknown) => {
      if (error instanceof pg.DatabaseError && error.code === UNKNOWN_SETTING) return connect(plain);
      throw error;
    });
  return endingAfter(await new PoolGroup().connect(undefined, performance.now() + LIMITS.crowded, attempt), run);
}

/** Whether the database takes connections and answers: throws whatever `pg` says when not. */
export async function probe(settings: ConnectionSettings): Promise<void> {
  await withClient(settings, WITHOUT_LIMITS, (client) => client.query('select 1'));
}

/** Puts a connection under a role from its first statement on. */
function actAs(role: Role): Setting {
  return ['role', nameOf(role)];
}

function nameOf(role: Role): string {
  return `transfer_service_${role}`;
}

function settingsFor({ schema }: ConnectionSettings, more: readonly Setting[]): readonly Setting[] {
  return sessionSettings(schema ?? DEFAULT_SCHEMA, ...more);
}

async function withClient<Result>(
  where: ConnectionSettings,
  more: readonly Setting[],
  run: (client: pg.ClientBase) => Promise<Result>,
  group = new PoolGroup(),
): Promise<Result> {
  const settings = settingsFor(where, more);
  const options = startupOptions(settings);
  const client = await group.connect(undefined, performance.now() + LIMITS.crowded, () =>
    connect({ ...where, options }),
  );
  return endingAfter(client, async () => {
    await applySettings(client, settings);
    return run(client);
  });
}

async function connect(settings: pg.ClientConfig): Promise<pg.Client> {
  const types = { getTypeParser: parserOf };
  const client = new pg.Client({ ...settings, connectionTimeoutMillis: LIMITS.connect, types });
  client.on('error', () => undefined);
  await client.connect();
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
  // For `pg` 0 is not none but its own default.
  return { min, max: Math.max(max, 1) };
}

function openPool(where: ConnectionSettings, pooling: pg.PoolConfig, more: readonly Setting[]): pg.Pool {
  const settings = settingsFor(where, more);
  const pool = new pg.Pool({
    ...where,
    ...pooling,
    pipeline: true,
    keepAlive: true,
    idleTimeoutMillis: IDLE,
    connectionTimeoutMillis: LIMITS.connect,
    query_timeout: LIMITS.answer,
    application_name: 'transfer-service',
    options: startupOptions(settings),
    // Nobody gets a connection before it has its settings; one that cannot have them is closed.
    onConnect: (client) => applySettings(client, settings),
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

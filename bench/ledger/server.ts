import { appendFile, chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { stockPostgresIn, stopStockPostgresIn } from '../../test/harness/postgres/stock-postgres.ts';
import { embeddedServerOf, startService } from '../../test/harness/process.ts';
import { runProgram } from '../child-program.ts';
import type { Resources } from '../resources.ts';

const ADMINISTRATION = fileURLToPath(new URL('../../server/host/administration.ts', import.meta.url));

/** The directory is not below /tmp, which may be in memory, where fsync costs nothing. */
const PREFIX = '/var/tmp/transfer-service-bench-';

/**
 * The settings of every service of the bench. Live mode has none of the sandbox's shortcuts. The rate limits count every request
 * as in any live service, but are so high that the bench never reaches them.
 */
export const LIVE = {
  MODE: 'live',
  SUPPORT_CONTACT: 'support@example.com',
  LOG_LEVEL: 'warn',
  RATE_LIMIT_PER_ADDRESS: '999999',
  RATE_LIMIT_PER_KEY: '999999',
  // The receivers of webhooks run on the same machine.
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1',
  WEBHOOK_KEY: Buffer.alloc(32, 'bench').toString('base64'),
} as const;

/** Statements inside functions do not count separately: they are part of the statement that called the function. */
const COUNT_STATEMENTS = "shared_preload_libraries = 'pg_stat_statements'\npg_stat_statements.save = off\n";

export type DatabaseServer = {
  /** The directory of the socket, as in libpq's PGHOST. */
  readonly host: string;
  readonly port: number;
  /** The main process; every other process of the server is its child. */
  readonly processId: number;
  /** The directory of the bench, which is removed at the end. */
  readonly directory: string;
  /** Runs a statement as the superuser, with no time limit. */
  readonly query: (database: string, text: string, values?: readonly unknown[]) => Promise<pg.QueryResult>;
  /** A new connection, for work that needs more than one statement. */
  readonly connect: (database: string) => Promise<pg.Client>;
};

/**
 * Starts a service in live mode with its embedded PostgreSQL. The bench makes its databases there. With `countsStatements`,
 * PostgreSQL counts the time of every statement, which costs a little time.
 */
export async function startEmbeddedServer(
  resources: Resources,
  { countsStatements = false } = {},
): Promise<DatabaseServer> {
  const directory = await mkdtemp(PREFIX);
  // If the bench runs as root, PostgreSQL runs as the user `nobody`, which must reach its data.
  await chmod(directory, 0o711);
  resources.add(directory, () => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  const dataDirectory = join(directory, 'data');
  const environment = { ...LIVE, DATA_DIR: dataDirectory };
  for (const words of [['migrate'], ['operator-key', 'owner']]) {
    await runProgram(resources, process.execPath, [ADMINISTRATION, ...words], { environment });
  }
  if (countsStatements) {
    await appendFile(join(dataDirectory, 'postgresql', 'postgresql.auto.conf'), COUNT_STATEMENTS);
  }
  const owner = await startService(environment);
  resources.add('the service that owns PostgreSQL', async () => void (await owner.stop()));
  const { processId, databaseUrl: address } = await embeddedServerOf(dataDirectory);
  const url = new URL(address.replace('@/', '@localhost/'));
  const server = serverAt(
    url.searchParams.get('host') ?? '',
    Number(url.searchParams.get('port')),
    processId,
    directory,
  );
  if (countsStatements) await server.query('postgres', 'create extension pg_stat_statements');
  return server;
}

/** Starts the PostgreSQL of a distribution in the directory of the bench, with the settings that `initdb` writes. */
export async function startOwnServer(
  resources: Resources,
  binaries: string,
  directory: string,
): Promise<DatabaseServer> {
  const dataDirectory = join(directory, 'own');
  const server = await stockPostgresIn(dataDirectory, binaries);
  resources.add('the PostgreSQL of the distribution', () => stopStockPostgresIn(dataDirectory));
  const { host, port } = server.connection;
  return serverAt(host, port, server.processId() ?? 0, directory);
}

function serverAt(host: string, port: number, processId: number, directory: string): DatabaseServer {
  const connect = async (database: string): Promise<pg.Client> => {
    const client = new pg.Client({ host, port, user: 'postgres', database });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  const query = async (database: string, text: string, values: readonly unknown[] = []): Promise<pg.QueryResult> => {
    const client = await connect(database);
    try {
      return await client.query(text, [...values]);
    } finally {
      await client.end();
    }
  };
  return { host, port, processId, directory, connect, query };
}

/** Creates the schema in a database, and an operator key. */
export async function createOperatorKey(resources: Resources, address: string): Promise<string> {
  const environment = { ...LIVE, DATABASE_URL: address };
  await runProgram(resources, process.execPath, [ADMINISTRATION, 'migrate'], { environment });
  const words = [ADMINISTRATION, 'operator-key', 'bench'];
  return (await runProgram(resources, process.execPath, words, { environment })).output.trim();
}

export function databaseUrl({ host, port }: DatabaseServer, database: string): string {
  return `postgresql://transfer_service@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
}

/** Settings that decide durability and speed. */
const SETTINGS = [
  'server_version',
  'fsync',
  'synchronous_commit',
  'full_page_writes',
  'wal_level',
  'wal_sync_method',
  'wal_compression',
  'data_checksums',
  'shared_buffers',
  'max_wal_size',
  'checkpoint_timeout',
  'max_connections',
  'jit',
] as const;

export type Settings = Readonly<Record<string, string>>;

export async function readSettings(server: DatabaseServer): Promise<Settings> {
  const { rows } = await server.query(
    'postgres',
    'select name, current_setting(name) as value from unnest($1::text[]) as name',
    [SETTINGS],
  );
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

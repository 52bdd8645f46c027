import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { embeddedServerOf, startService } from '../../test/harness/process.ts';
import type { Belongings } from '../belongings.ts';
import { runProgram } from '../child-program.ts';

const ADMINISTRATION = fileURLToPath(new URL('../../server/administration.ts', import.meta.url));

/** Not below /tmp, which may be in memory: there fsync costs nothing. */
const PLACE = '/var/tmp/transfer-service-bench-';

/**
 * What every service of the bench runs with: live mode, so that nothing of the sandbox flatters it. The rate limits
 * count every request as in any live service, and are so high that the one caller of the bench never meets them.
 */
export const LIVE = {
  MODE: 'live',
  SUPPORT_CONTACT: 'support@example.com',
  LOG_LEVEL: 'warn',
  RATE_LIMIT_PER_ADDRESS: '999999',
  RATE_LIMIT_PER_KEY: '999999',
} as const;

/** The one PostgreSQL of a bench run, which the service has started; all that is compared runs on it. */
export type DatabaseServer = {
  /** Directory of the socket, as libpq's PGHOST. */
  readonly host: string;
  readonly port: number;
  /** The main process; every other process of the server is its child. */
  readonly processId: number;
  /** A directory of the bench, gone at its end. */
  readonly directory: string;
  /** Runs a statement as the superuser, with no time limit. */
  readonly query: (database: string, text: string, values?: readonly unknown[]) => Promise<pg.QueryResult>;
  /** A connection of its own, for work that needs more than one statement. */
  readonly connect: (database: string) => Promise<pg.Client>;
};

/** Starts a service in live mode on its embedded PostgreSQL, which is then the bench's. */
export async function startDatabaseServer(belongings: Belongings): Promise<DatabaseServer> {
  const directory = await mkdtemp(PLACE);
  // Where the bench runs as root, PostgreSQL runs as nobody and must get to its data.
  await chmod(directory, 0o711);
  belongings.add(directory, () => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  const dataDirectory = join(directory, 'data');
  const environment = { ...LIVE, DATA_DIR: dataDirectory };
  for (const words of [['migrate'], ['operator-key', 'owner']]) {
    await runProgram(belongings, process.execPath, [ADMINISTRATION, ...words], { environment });
  }
  const owner = await startService(environment);
  belongings.add('the service that owns PostgreSQL', async () => void (await owner.stop()));
  const { processId, databaseUrl } = await embeddedServerOf(dataDirectory);
  const url = new URL(databaseUrl.replace('@/', '@localhost/'));
  const host = url.searchParams.get('host') ?? '';
  const port = Number(url.searchParams.get('port'));
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

/** Makes an operator's key in a database, and its schema before it. */
export async function createOperatorKey(belongings: Belongings, databaseUrl: string): Promise<string> {
  const words = [ADMINISTRATION, 'operator-key', 'bench'];
  const environment = { ...LIVE, DATABASE_URL: databaseUrl };
  await runProgram(belongings, process.execPath, [ADMINISTRATION, 'migrate'], { environment });
  return (await runProgram(belongings, process.execPath, words, { environment })).output.trim();
}

/** The address of a database of the server, as the service takes it. */
export function databaseUrl({ host, port }: DatabaseServer, database: string): string {
  return `postgresql://transfer_service@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
}

/** Settings on which durability and speed hang. */
const SETTINGS = [
  'server_version',
  'fsync',
  'synchronous_commit',
  'full_page_writes',
  'wal_level',
  'wal_sync_method',
  'data_checksums',
  'shared_buffers',
  'max_wal_size',
  'checkpoint_timeout',
  'max_connections',
  'jit',
] as const;

/** Reads them in one database; pgbench's and the service's must be the same. */
export async function readSettings(
  server: DatabaseServer,
  database: string,
): Promise<Readonly<Record<string, string>>> {
  const { rows } = await server.query(
    database,
    'select name, current_setting(name) as value from unnest($1::text[]) as name',
    [SETTINGS],
  );
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

import { existsSync } from 'node:fs';
import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { chooseServerUser } from '../../../server/postgres/ledger-location.ts';
import { SCHEMA_OF_PLACEMENT } from '../../../server/store/distribute.ts';
import { openCitusPlacement } from './citus.ts';
import { copyTemplate, PORT, PostgresServer, provision, SERVICE, type StockPostgres } from './postgres-server.ts';

// Provides a distribution's PostgreSQL with its default settings, and a role that owns only its database. `npm run
// verify` runs suites on it with TEST_POSTGRES_BIN, a directory with `initdb` and `postgres`. Its files are in a data
// directory, like an embedded server's.

/**
 * The directory of binaries with Citus. If set, each test server is a cluster, and its ledger is a placement in that
 * cluster.
 */
export const CITUS_BINARIES: string | undefined = process.env.TEST_CITUS_BIN || undefined;

/** The directory of the binaries that the tests use instead of the embedded ones. Usually undefined. */
export const STOCK_BINARIES: string | undefined = CITUS_BINARIES ?? (process.env.TEST_POSTGRES_BIN || undefined);

/** Skips a test that stops a sandbox's PostgreSQL if the tests run on a distribution's PostgreSQL. */
export function requireOwnPostgres(context: TestContext): void {
  skipIf(STOCK_BINARIES !== undefined, context, 'a sandbox stops only the PostgreSQL that comes with it');
}

/** Skips a test of a Citus cluster if the tests run without one. */
export function requireCitus(context: TestContext): void {
  skipIf(CITUS_BINARIES === undefined, context, 'TEST_CITUS_BIN names no PostgreSQL with Citus');
}

function skipIf(isSkipped: boolean, context: TestContext, notRun: string): void {
  if (!isSkipped) return;
  Object.assign(context.task.meta, { notRun });
  context.skip(notRun);
}

/** Skips a test that needs a ledger without tables. On Citus, every ledger has its tables before the service starts. */
export function requireNoTables(context: TestContext): void {
  skipIf(CITUS_BINARIES !== undefined, context, 'a placement has its tables before a service starts on it');
}

const started = new Map<string, Promise<StockPostgres>>();

/**
 * Adds the DATABASE_URL of the server in DATA_DIR to a service's settings. Does nothing unless the tests run on stock
 * binaries and the settings name no other database.
 */
export async function withStockPostgres(
  settings: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const { DATA_DIR, DATABASE_URL } = settings;
  // This is another service on a placement's ledger.
  if (CITUS_BINARIES !== undefined && DATABASE_URL !== undefined)
    return { DATABASE_SCHEMA: SCHEMA_OF_PLACEMENT, ...settings };
  if (STOCK_BINARIES === undefined || DATA_DIR === undefined || DATABASE_URL !== undefined) return settings;
  const { url, connection } = await stockPostgresIn(DATA_DIR, STOCK_BINARIES);
  const { schema } = connection;
  return { ...settings, DATABASE_URL: url, ...(schema === undefined ? {} : { DATABASE_SCHEMA: schema }) };
}

/** Returns the stock server of the service with these settings, if it has one. */
export function findStockPostgresOf(settings: Readonly<Record<string, string>>): Promise<StockPostgres> | undefined {
  return settings.DATABASE_URL === undefined ? started.get(settings.DATA_DIR ?? '') : undefined;
}

/** Returns the server of a data directory. Creates and starts it if necessary. */
export function stockPostgresIn(dataDirectory: string, binaries: string): Promise<StockPostgres> {
  const known = started.get(dataDirectory) ?? openStockPostgres(dataDirectory, binaries);
  started.set(dataDirectory, known);
  return known;
}

/** Stops the server of a data directory, if it has one. */
export async function stopStockPostgresIn(dataDirectory: string): Promise<void> {
  const known = started.get(dataDirectory);
  started.delete(dataDirectory);
  await (await known)?.stop();
}

async function openStockPostgres(dataDirectory: string, binaries: string): Promise<StockPostgres> {
  if (CITUS_BINARIES !== undefined) return openCitusPlacement(dataDirectory, CITUS_BINARIES);
  const files = join(dataDirectory, 'postgresql');
  await mkdir(dataDirectory, { recursive: true });
  if (!existsSync(files)) await copyTemplate(files, 'stock', binaries, provisionIn(binaries));
  return startStockPostgres(dataDirectory, binaries);
}

const provisionIn = (binaries: string) => async (directory: string) => {
  const server = await startStockPostgres(directory, binaries);
  await provision(server).finally(server.stop);
};

async function startStockPostgres(dataDirectory: string, binaries: string): Promise<StockPostgres> {
  const user = await chooseServerUser();
  const host = join(dataDirectory, 'socket');
  await mkdir(host, { recursive: true });
  await chown(host, user.uid, user.gid);
  const server = new PostgresServer(join(binaries, 'postgres'), join(dataDirectory, 'postgresql'), host, user);
  await server.start();
  return {
    connection: { host, port: PORT, user: SERVICE, database: SERVICE },
    url: `postgresql://${SERVICE}@/${SERVICE}?host=${encodeURIComponent(host)}&port=${PORT}`,
    serverLog: server.log,
    processId: () => server.processId,
    state: () => (server.processId === undefined ? 'stopped' : 'running'),
    pause: () => server.end('SIGQUIT'),
    resume: () => server.start(),
    stop: () => server.end('SIGINT'),
  };
}

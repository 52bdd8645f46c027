import type pg from 'pg';
import { afterAll, afterEach, expect, onTestFinished } from 'vitest';
import type { Processors } from '../../server/calls/processors.ts';
import type { LaneBounds } from '../../server/commit/group-commit.ts';
import type { CommitObserver } from '../../server/commit/group-work.ts';
import { startEmbeddedPostgres } from '../../server/postgres/embedded-postgres.ts';
import type { ConnectionSettings, TimeLimits } from '../../server/store/connection/connections.ts';
import { connect, type Ledger, openLedger, startServer, type TestServer, trialBalance } from './ledger.ts';
import { STOCK_BINARIES } from './postgres/stock-postgres.ts';
import { type DatabaseProxy, startProxy } from './proxy.ts';
import { endWithWorker, useWorker } from './run/worker.ts';
import { useDirectory } from './service.ts';

// Sets up servers and ledgers for all tests of a file. Call these functions at the top of the file. They clean up in
// reverse order.

/**
 * Creates a database with the schema and the sandbox's seed, in the PostgreSQL server that the files of a worker
 * process share. `apart` is the reason for a separate server, for example because the file stops it.
 */
export async function useServer({ apart }: { readonly apart?: string } = {}): Promise<TestServer> {
  const server = apart === undefined ? await newDatabase() : await startServer();
  afterAll(server.stop);
  return server;
}

let shared: Promise<TestServer> | undefined;
let databases = 0;

/**
 * Creates a database on the shared server. On stock binaries, each file has its own server, because the settings of the
 * server matter.
 */
async function newDatabase(): Promise<TestServer> {
  if (STOCK_BINARIES !== undefined) return startServer();
  useWorker();
  shared ??= startServer().then((server) => {
    endWithWorker(server.stop);
    return server;
  });
  const template = await shared;
  const { connection, embedded } = template;
  databases += 1;
  const database = `ledger_${databases}`;
  await asSuperuser(connection, `create database ${database} template ${connection.database} owner ${connection.user}`);
  return {
    connection: { ...connection, database },
    embedded: { ...embedded, url: embedded.url.replace(`/${connection.database}?`, `/${database}?`) },
    stop: () => asSuperuser(connection, `drop database ${database} with (force)`),
  };
}

async function asSuperuser(connection: TestServer['connection'], statement: string): Promise<void> {
  const client = await connect({ ...connection, user: 'postgres', database: 'postgres' });
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Starts the embedded PostgreSQL without a schema. Also returns its directory. */
export async function usePostgres() {
  const { path: directory } = await useDirectory();
  const embedded = await startEmbeddedPostgres({ dataDirectory: directory });
  afterAll(embedded.stop);
  const { host, port } = embedded.connection;
  const urlOf = (user: string, database: string): string =>
    `postgresql://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
  return { directory, embedded, urlOf };
}

export async function useProxy({ connection }: TestServer): Promise<DatabaseProxy> {
  const proxy = await startProxy(connection.host);
  afterAll(() => proxy.close());
  return proxy;
}

/** Opens a ledger on a database. To PostgreSQL, each call of this function looks like a separate service process. */
export function useLedger(
  connection: ConnectionSettings,
  bounds?: LaneBounds,
  observer?: CommitObserver,
  timeLimits?: TimeLimits,
  processors?: Processors,
): Ledger {
  const ledger = openLedger(connection, bounds, observer, timeLimits, processors);
  afterAll(ledger.close);
  return ledger;
}

export async function useConnection(connection: pg.ClientConfig): Promise<pg.Client> {
  const client = await connect(connection);
  afterAll(() => client.end());
  return client;
}

/**
 * Fails after each test if an account differs from the sum of its postings and holds, or if a currency does not sum to
 * zero.
 */
export function checkBalances(ledger: Ledger): void {
  afterEach(async () => {
    expect(await trialBalance(ledger)).toMatchObject({ balanced: true, differing_holds: 0, differing_accounts: [] });
  });
}

/**
 * Moves the sandbox's clock to the next noon (UTC) until the test ends. Otherwise, midnight could fall within the test
 * and reset the daily limits.
 */
export async function moveToNoon({ call }: Ledger): Promise<void> {
  const secondsOfDay = Math.floor(Date.now() / 1000) % 86_400;
  await call('move_clock', { seconds_ahead: (86_400 + 43_200 - secondsOfDay) % 86_400 });
  onTestFinished(async () => {
    await call('move_clock', { seconds_ahead: 0 });
  });
}

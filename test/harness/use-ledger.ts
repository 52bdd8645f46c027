import type pg from 'pg';
import { afterAll, afterEach, expect } from 'vitest';
import type { CommitObserver } from '../../server/commit/commit-observer.ts';
import type { LaneBounds } from '../../server/commit/group-commit.ts';
import { startEmbeddedPostgres } from '../../server/embedded-postgres/embedded-postgres.ts';
import type { ConnectionSettings } from '../../server/store/connection/connections.ts';
import { connect, type Ledger, openLedger, startServer, type TestServer, trialBalance } from './ledger.ts';
import { type DatabaseProxy, startProxy } from './proxy.ts';
import { useDirectory } from './service.ts';

// Set-up for all tests of a file, called at its top. What was started last ends first.

/** Starts PostgreSQL with the schema and the sandbox's seed. */
export async function useServer(): Promise<TestServer> {
  const server = await startServer();
  afterAll(server.stop);
  return server;
}

/** Starts the embedded PostgreSQL without a schema, in a directory that is also returned. */
export async function usePostgres() {
  const { path: directory } = await useDirectory();
  const embedded = await startEmbeddedPostgres({ dataDirectory: directory });
  afterAll(embedded.stop);
  const { host, port } = embedded.connection;
  const urlOf = (user: string, database: string): string =>
    `postgresql://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
  return { directory, embedded, urlOf };
}

/** Starts a proxy in front of the server. */
export async function useProxy({ connection }: TestServer): Promise<DatabaseProxy> {
  const proxy = await startProxy(connection.host);
  afterAll(() => proxy.close());
  return proxy;
}

/** Opens the operations over a database. To PostgreSQL, two of these are two service processes. */
export function useLedger(connection: ConnectionSettings, bounds?: LaneBounds, observer?: CommitObserver): Ledger {
  const ledger = openLedger(connection, bounds, observer);
  afterAll(ledger.close);
  return ledger;
}

/** Opens a plain connection. */
export async function useConnection(connection: pg.ClientConfig): Promise<pg.Client> {
  const client = await connect(connection);
  afterAll(() => client.end());
  return client;
}

/** Fails each test after which an account differs from its postings and holds, or a currency does not sum to zero. */
export function checkBalances(ledger: Ledger): void {
  afterEach(async () => {
    expect(await trialBalance(ledger)).toMatchObject({ balanced: true, differing_holds: 0, differing_accounts: [] });
  });
}

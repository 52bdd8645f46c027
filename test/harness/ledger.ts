import { randomUUIDv7 } from 'node:crypto';
import pg from 'pg';
import type { OperationId } from '../../contract/operations.ts';
import type { TrialBalance } from '../../contract/operator-schemas.ts';
import type { Call, Handler, Reply } from '../../server/operations/call.ts';
import type { LaneBounds } from '../../server/operations/group-commit.ts';
import { handlersOf } from '../../server/operations/handlers.ts';
import { DEMO_PROGRAM_ID, seedSandbox } from '../../server/operations/seed-sandbox.ts';
import type { Service } from '../../server/operations/service.ts';
import { openTransferLane } from '../../server/operations/transfer-group.ts';
import type { ConnectionSettings } from '../../server/store/connections.ts';
import type { Database } from '../../server/store/database.ts';
import { type Databases, openDatabases } from '../../server/store/databases.ts';
import { startEmbeddedPostgres } from '../../server/store/embedded.ts';
import { migrate } from '../../server/store/migrate.ts';
import { preparePartitions } from '../../server/store/partition.ts';
import { ledgerDirectory } from './ledger-directory.ts';

/** A PostgreSQL of the test's own, with the schema and the sandbox's seed. */
export type TestServer = {
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly database: string;
  };
  readonly embedded: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
  readonly stop: () => Promise<void>;
};

/** The operations over a database, as one service process has them, without HTTP. */
export type Ledger = {
  readonly databases: Databases;
  /** With the reach of loops and operators: all programs. */
  readonly database: Database;
  readonly service: Service;
  readonly call: (operation: OperationId, members?: object, more?: Partial<Call>) => Promise<Reply>;
  readonly handlers: Readonly<Record<OperationId, Handler>>;
  readonly close: () => Promise<void>;
};

/** Starts PostgreSQL, migrates and seeds. */
export async function startServer(): Promise<TestServer> {
  const directory = await ledgerDirectory();
  const embedded = await startEmbeddedPostgres({ dataDirectory: directory.path });
  const stop = async (): Promise<void> => {
    await embedded.stop();
    await directory.remove();
  };
  const ledger = openLedger(embedded.connection);
  try {
    await migrate(embedded.connection);
    await preparePartitions(ledger.databases.background, new Date());
    await seedSandbox(ledger.databases.background, performance.now() + 30_000);
  } catch (error) {
    await ledger.close();
    await stop();
    throw error;
  }
  await ledger.close();
  return { connection: embedded.connection, embedded, stop };
}

/** Opens the operations over a database; several of them are several service processes to PostgreSQL. */
export function openLedger(connection: ConnectionSettings, bounds?: LaneBounds): Ledger {
  const databases = openDatabases(connection);
  const transfers = openTransferLane(databases.application, bounds);
  const supportContact = 'support@example.com';
  const { background: database } = databases;
  const service: Service = { database, transfers, supportContact };
  const handlers = handlersOf({ databases, transfers, supportContact }, undefined);
  const call = (operation: OperationId, members: object = {}, more: Partial<Call> = {}): Promise<Reply> => {
    const read = Object.fromEntries(
      Object.entries(members).map(([name, value]) => [
        name,
        name === 'amount' ? { source: String(value), quoted: false } : value,
      ]),
    );
    return handlers[operation]({
      operation,
      requestId: randomUUIDv7(),
      caller: { kind: 'sandbox' },
      programId: DEMO_PROGRAM_ID,
      parameters: {},
      members: read,
      sent: Object.fromEntries(Object.entries(members).map(([name, value]) => [name, String(value)])),
      idempotencyKey: null,
      // What is about a deadline sets its own; no other test is to fail for the speed of the machine.
      deadline: performance.now() + 60_000,
      ...more,
    });
  };
  return { databases, database, service, handlers, call, close: () => databases.close() };
}

/** A plain connection beside the service: another process, an operator, a lock that somebody forgot. */
export async function connect(connection: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(connection);
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** The trial balance, to be compared with `balanced` after every test. */
export async function trialBalance(ledger: Ledger): Promise<TrialBalance> {
  return JSON.parse((await ledger.call('get_trial_balance')).body) as TrialBalance;
}

import { randomUUIDv7 } from 'node:crypto';
import pg from 'pg';
import { OPERATIONS, type OperationId } from '../../contract/operations.ts';
import type { TrialBalance } from '../../contract/programs.ts';
import { JsonNumber } from '../../contract/reading/json.ts';
import { DEMO_PROGRAM_ID } from '../../domain/sandbox.ts';
import type { AnyCall, Handler } from '../../server/calls/call.ts';
import { NO_PROCESSORS } from '../../server/calls/processors.ts';
import { ResponseCounter } from '../../server/calls/responses/response-counter.ts';
import type { LaneBounds } from '../../server/commit/group-commit.ts';
import type { CommitObserver } from '../../server/commit/group-work.ts';
import { type AnyService, type Handlers, handlersOf } from '../../server/handlers.ts';
import { type WrittenReply, writeReply } from '../../server/http/wire/reply.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../server/postgres/embedded-postgres.ts';
import { type ConnectionSettings, STARTS, type TimeLimits } from '../../server/store/connection/connections.ts';
import type { Database } from '../../server/store/connection/database.ts';
import { type Databases, openDatabases } from '../../server/store/connection/databases.ts';
import { LIMITS } from '../../server/store/connection/session-settings.ts';
import { migrate } from '../../server/store/migrations/migrate.ts';
import { preparePartitions } from '../../server/store/partition.ts';
import { EventNews } from '../../server/subjects/events/event-news.ts';
import { OverviewMaker, type TransferCounts } from '../../server/subjects/overview/overview.ts';
import { seedSandbox } from '../../server/subjects/sandbox/seed-sandbox.ts';
import { readStatus, type StatusSources } from '../../server/subjects/status/get-status.ts';
import { openTransferLane } from '../../server/subjects/transfers/lane.ts';
import { openAddressRules } from '../../server/subjects/webhooks/addresses.ts';
import { openVault } from '../../server/subjects/webhooks/vault.ts';
import { ledgerDirectory } from './ledger-directory.ts';
import { countStart } from './ledger-templates.ts';
import { STOCK_BINARIES, stockPostgresIn } from './postgres/stock-postgres.ts';
import { temporaryDirectory } from './process.ts';

/** SQL for the key of a row in `idempotency`. For a created transfer, the key is in the transfer's row. */
export const KEY_TEXT = `coalesce(idempotency.key, (select transfer.idempotency_key from transfer
  where transfer.program_id = idempotency.program_id and transfer.transfer_id = idempotency.subject_id))`;

/** The test's own PostgreSQL server, with the schema and the sandbox's seed. */
export type TestServer = {
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly database: string;
  };
  readonly embedded: Pick<
    EmbeddedPostgres,
    'connection' | 'url' | 'serverLog' | 'processId' | 'state' | 'pause' | 'resume'
  >;
  readonly stop: () => Promise<void>;
};

/** A test server on the embedded PostgreSQL, even if the tests run on another one. */
export type EmbeddedTestServer = TestServer & { readonly embedded: EmbeddedPostgres };

/** The operations of one service process on a database, without HTTP. */
export type Ledger = {
  readonly databases: Databases;
  /** The database with access to all programs, for loops and operators. */
  readonly database: Database;
  readonly service: AnyService;
  readonly call: (operation: OperationId, members?: object, more?: Partial<AnyCall>) => Promise<WrittenReply>;
  readonly handlers: Readonly<Record<OperationId, Handler>>;
  readonly findUnsettled: Handlers['findUnsettled'];
  /** The counts of created transfers, as the service would store them. */
  readonly counts: TransferCounts;
  readonly close: () => Promise<void>;
};

/** Starts PostgreSQL (the embedded one, or the binaries in TEST_POSTGRES_BIN), and migrates and seeds a database. */
export async function startServer(): Promise<TestServer> {
  countStart('PostgreSQL');
  if (STOCK_BINARIES === undefined) return startEmbeddedServer();
  const directory = await temporaryDirectory();
  const stock = await stockPostgresIn(directory.path, STOCK_BINARIES);
  return prepare(stock, directory.remove);
}

/** Does the same with the embedded server, for tests that require it. */
export async function startEmbeddedServer(): Promise<EmbeddedTestServer> {
  const directory = await ledgerDirectory();
  const embedded = await startEmbeddedPostgres({ dataDirectory: directory.path });
  return prepare(embedded, async () => {
    await embedded.stop();
    await directory.remove();
  });
}

async function prepare<Server extends TestServer['embedded']>(
  embedded: Server,
  stop: () => Promise<void>,
): Promise<Omit<TestServer, 'embedded'> & { readonly embedded: Server }> {
  const { connection } = embedded;
  const ledger = openLedger(connection);
  try {
    await migrate(connection);
    await preparePartitions(ledger.databases.background);
    await seedSandbox(ledger.databases.background, performance.now() + 240_000);
  } catch (error) {
    await ledger.close();
    await stop();
    throw error;
  }
  await ledger.close();
  return { connection, embedded, stop };
}

/** The sources of get_status, without a real process. */
const NO_PROCESS: StatusSources = {
  version: '0.0.0',
  mode: 'sandbox',
  readiness: { find: async () => 'ready', latest: () => ({ reason: 'ready', since: new Date() }) },
  embedded: undefined,
  host: () => undefined,
  connections: () => ({ max: 1, inUse: 0, idle: 0, waiting: 0 }),
  delivery: () => 'no_webhooks',
  backups: undefined,
  errors: () => ({ spoolBytes: 0, maxSpoolBytes: 1, dropped: 0 }),
};

/** Removes all limits, for tests that hold locks. Tests of the limits use `REQUESTS`. */
export const UNLIMITED: TimeLimits = {
  ...STARTS,
  crowdedMilliseconds: Number.POSITIVE_INFINITY,
  silentMilliseconds: Number.POSITIVE_INFINITY,
};

/**
 * The time limits for a slow machine, where a request's normal limits would end its statements and its waits for a
 * connection. Only the limit for locks remains, because the work of groups depends on it.
 */
export const UNHURRIED: TimeLimits = {
  ...UNLIMITED,
  session: [...UNLIMITED.session, ['lock_timeout', String(LIMITS.lock)]],
};

/**
 * Opens the operations on a database. To PostgreSQL, each call of this function looks like a separate service process.
 */
export function openLedger(
  connection: ConnectionSettings,
  bounds?: LaneBounds,
  observer?: CommitObserver,
  timeLimits = UNHURRIED,
  processors = NO_PROCESSORS,
): Ledger {
  const databases = openDatabases(connection, undefined, timeLimits);
  const overview = new OverviewMaker((service) => readStatus(NO_PROCESS, service), new ResponseCounter(), {
    lane: { waiting: () => transfers.waiting },
    version: NO_PROCESS.version,
  });
  const transfers = openTransferLane(databases.application, {
    compactsPayloads: true,
    bounds,
    observer,
    onCreated: overview.counts.note,
    connectorState: processors.stateOf,
    onProcessor: processors.noteTransfer,
  });
  const supportContact = 'support@example.com';
  const { background: database } = databases;
  const news = new EventNews(database);
  const webhooks = {
    rules: openAddressRules({ mode: 'sandbox', allowedNetworks: [] }),
    vault: openVault([Buffer.alloc(32, 'key')]),
    requireKeys: async () => undefined,
    changed: () => undefined,
  };
  const ofProgram = (programId: string) => databases.application.forProgram(programId);
  const service: AnyService = { database, ofProgram, transfers, news, webhooks, supportContact, processors };
  const { handlers, findUnsettled } = handlersOf(
    { databases, transfers, news, webhooks, supportContact, processors },
    undefined,
    NO_PROCESS,
    overview,
  );
  const call = async (
    operation: OperationId,
    members: object = {},
    more: Partial<AnyCall> = {},
  ): Promise<WrittenReply> => {
    const read = Object.fromEntries(
      Object.entries(members).map(([name, value]) => [
        name,
        name === 'amount'
          ? { source: String(value), quoted: false }
          : name === 'lines' || name === 'cards'
            ? asRows(value)
            : value,
      ]),
    );
    const reply = await handlers[operation]({
      operation,
      requestId: randomUUIDv7(),
      caller: { kind: 'sandbox' },
      programId: DEMO_PROGRAM_ID,
      params: {},
      query: OPERATIONS[operation].query === undefined ? undefined : read,
      body: OPERATIONS[operation].body === undefined ? undefined : read,
      sent: Object.fromEntries(Object.entries(members).map(([name, value]) => [name, String(value)])),
      idempotencyKey: null,
      // Tests of deadlines set their own. All other tests must not fail on a slow machine.
      deadline: performance.now() + 240_000,
      ...more,
    });
    if ('approvalId' in reply) return writeReply(operation, reply);
    if ('csv' in reply || 'wait' in reply || 'stream' in reply) throw new Error('the reply has no body to compare');
    return writeReply(operation, reply);
  };
  return {
    databases,
    database,
    service,
    handlers,
    findUnsettled,
    call,
    counts: overview.counts,
    close: () => databases.close(),
  };
}

/** Returns the URL of a database. The service accepts several hosts and ports, each list joined by commas. */
export function urlOf({
  host,
  port,
  user,
  database,
}: Omit<TestServer['connection'], 'port'> & { readonly port: number | string }): string {
  return `postgresql://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
}

/** Opens a plain connection, to act as another process or an operator, or to hold a lock. */
export async function connect(connection: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(connection);
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

export async function onConnection<Result>(
  connection: pg.ClientConfig,
  run: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client(connection);
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await run(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Reads the trial balance, which every test compares with `balanced`. */
export async function trialBalance(ledger: Ledger): Promise<TrialBalance> {
  return JSON.parse((await ledger.call('get_trial_balance')).body) as TrialBalance;
}

/** Returns rows in the form of the strict request reader. The operation validates them one by one. */
function asRows(rows: unknown): unknown {
  const toRead = (_: string, value: unknown): unknown =>
    typeof value === 'number' ? new JsonNumber(String(value)) : value;
  return JSON.parse(JSON.stringify(rows), toRead);
}

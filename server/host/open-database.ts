import type { CommandConfiguration, Configuration } from '../foundation/configuration/configuration.ts';
import type { RunbookPage } from '../foundation/runbook.ts';
import { codeOf, StartupProblem, sayWhileWaiting } from '../foundation/startup-problem.ts';
import { shownDatabaseUrl } from '../foundation/url-credentials.ts';
import { openLedgerForCommand } from '../postgres/command-access.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../postgres/embedded-postgres.ts';
import { findConnectionProblem } from '../store/connection/connection-problem.ts';
import {
  type ConnectionSettings,
  connectWithinLimits,
  MIN_CONNECTIONS,
  probe,
  STARTS,
  type TimeLimits,
} from '../store/connection/connections.ts';
import { type DatabaseUse, findDatabaseProblem } from '../store/connection/database-problem.ts';
import { type Databases, openDatabases } from '../store/connection/databases.ts';
import { hostsOf } from '../store/connection/hosts/hosts.ts';
import { mayWaitForLock, readLockHolder } from '../store/connection/lock-holder.ts';
import {
  findDurabilityProblem,
  findPlacementProblem,
  findPoolingProblem,
  findRefusedOptions,
  findUserProblem,
  readConnectionLimits,
  USE_SESSIONS,
} from '../store/connection/server-problem.ts';
import { DEFAULT_SCHEMA } from '../store/connection/session-settings.ts';
import { pageOf } from '../store/connection/start-failure.ts';
import { claimLedger, type LedgerMode, readLedgerMode } from '../store/ledger-mode.ts';
import { migrate, pendingMigrations } from '../store/migrations/migrate.ts';
import { CoordinatorFailure, preparePartitions } from '../store/partition.ts';

export type OpenDatabase = {
  readonly databases: Databases;
  readonly embedded: EmbeddedPostgres | undefined;
  /** The number of connections that this process may open, and whether the settings request more. */
  readonly connections: { readonly max: number; readonly isLimited: boolean };
  /** Closes connections and stops the embedded server, in that order. */
  readonly close: () => Promise<void>;
};

export type DatabaseWait = {
  /** The purpose of the wait, worded to follow "Still", such as "preparing the schema". */
  readonly what: string;
  readonly settings: ConnectionSettings;
  readonly onProgress: (line: string) => void;
  readonly everyMilliseconds?: number | undefined;
};

/** Runs work in the database without a time limit. During the wait, reports at intervals that it waits, and why. */
export function waitForDatabase<Result>(
  { what, settings, onProgress, everyMilliseconds }: DatabaseWait,
  work: () => Promise<Result>,
): Promise<Result> {
  let isOver = false;
  const tell = async (seconds: number): Promise<void> => {
    const holder = mayWaitForLock()
      ? await connectWithinLimits(settings, readLockHolder).catch(() => undefined)
      : undefined;
    const reason = holder ?? hostsOf(settings)?.describe();
    if (!isOver) onProgress(`Still ${what} (${seconds} s)${reason === undefined ? '' : `: ${reason}`}.`);
  };
  return sayWhileWaiting((seconds) => void tell(seconds), work, everyMilliseconds).finally(() => {
    isOver = true;
  });
}

export type DatabaseReports = {
  readonly onProgress: (line: string) => void;
  readonly onServerExit: (description: string) => void;
  /**
   * Called with problems that do not prevent the service from starting. If omitted, the service does not look for such problems.
   */
  readonly onWarning?: (sentence: string) => void;
};

/**
 * Opens the database for the service, and checks that it responds and that the service can use it. Throws
 * {@link StartupProblem} otherwise. In live mode, a missing ledger is also a problem: only the `migrate` command creates one,
 * so a mistyped DATA_DIR creates none. Does not change the schema: see {@link prepareSchema}.
 */
export async function openDatabase(configuration: Configuration, reports: DatabaseReports): Promise<OpenDatabase> {
  const {
    databaseUrl,
    databaseSchema: schema,
    databaseConnections,
    dataDirectory,
    dataDirectoryOrigin,
    mode,
  } = configuration;
  if (databaseUrl !== null) {
    const { most = databaseConnections, ...opened } = await openByUrl(configuration, databaseUrl, 'write', reports);
    return { ...opened, embedded: undefined, connections: { max: most, isLimited: most < databaseConnections } };
  }
  const existing = mode === 'live' ? { existing: { origin: dataDirectoryOrigin } } : {};
  const { backupDirectory, sharedBuffers } = configuration;
  const where = { dataDirectory, backupDirectory, sharedBuffers };
  const embedded = await startEmbeddedPostgres({ ...where, ...existing, ...reports });
  const settings = { ...embedded.connection, schema };
  const own = { settings, use: 'write', release: () => embedded.stop(), max: databaseConnections } as const;
  const opened = await openOwn(own, reports);
  return { ...opened, embedded, connections: { max: databaseConnections, isLimited: false } };
}

export type CommandDatabase = Pick<OpenDatabase, 'databases' | 'close'> & {
  /** The opened database, and the setting that names it, as part of a sentence. */
  readonly place: string;
};

export type Command = { readonly task: string; readonly use: DatabaseUse; readonly mayCreate: boolean };

/**
 * Opens the database for a command. The service may be running. A missing embedded ledger is created only if `mayCreate` is true.
 * Throws {@link StartupProblem} if the database cannot be opened.
 */
export async function openDatabaseForCommand(
  configuration: CommandConfiguration,
  { task, use, mayCreate }: Command,
  reports: DatabaseReports,
): Promise<CommandDatabase> {
  const { databaseUrl, databaseSchema: schema, dataDirectory, dataDirectoryOrigin: origin } = configuration;
  if (databaseUrl !== null) {
    const place = `the database of DATABASE_URL, ${shownDatabaseUrl(databaseUrl)},`;
    const { databases, close } = await openByUrl(configuration, databaseUrl, use, reports, STARTS);
    return { databases, close, place };
  }
  const visit = await openLedgerForCommand({
    dataDirectory,
    // A command's writes must be archived even if no service runs.
    backupDirectory: configuration.backupDirectory,
    task,
    ...(mayCreate ? {} : { existing: { origin } }),
    ...reports,
  });
  const place = `the ledger in ${dataDirectory} (${origin})`;
  const own = { settings: { ...visit.connection, schema }, use, release: visit.close, timeLimits: STARTS };
  return { ...(await openOwn(own, reports)), place };
}

async function openByUrl(
  configuration: CommandConfiguration,
  databaseUrl: string,
  use: DatabaseUse,
  { onProgress, onWarning }: DatabaseReports,
  timeLimits?: TimeLimits,
): Promise<Pick<OpenDatabase, 'databases' | 'close'> & { readonly most: number | undefined }> {
  requireSafeConnection(configuration);
  const requiresStandby = configuration.databaseStandby === 'required';
  const settings = { connectionString: databaseUrl, schema: configuration.databaseSchema, requiresStandby };
  const asked = configuration.databaseConnections;
  const examine = async (): Promise<number | undefined> => {
    await requireUsableDatabase(settings, use);
    await probe(settings);
    refuse('pooled-connection', await findPoolingProblem(settings));
    refuse('database-user-settings', await findUserProblem(settings));
    // Commands that only read data work on every node.
    if (use === 'write') refuse('database-read-only', await findPlacementProblem(settings));
    return onWarning && requireConnections(settings, asked, onWarning);
  };
  const what = 'waiting for the database of DATABASE_URL to respond';
  const most = await waitForDatabase({ what, settings, onProgress }, examine).catch(refuseUnusable);
  const databases = openDatabases(settings, most, timeLimits);
  return { databases, close: once(() => databases.close()), most };
}

type OwnDatabase = {
  readonly settings: ConnectionSettings;
  readonly use: DatabaseUse;
  readonly release: () => Promise<void>;
  readonly max?: number;
  readonly timeLimits?: TimeLimits;
};

async function openOwn(
  { settings, use, release, max, timeLimits }: OwnDatabase,
  { onProgress }: DatabaseReports,
): Promise<Pick<OpenDatabase, 'databases' | 'close'>> {
  try {
    const what = 'waiting for PostgreSQL to respond';
    await waitForDatabase({ what, settings, onProgress }, () => requireUsableDatabase(settings, use));
  } catch (error) {
    await release();
    throw error;
  }
  const databases = openDatabases(settings, max, timeLimits);
  const close = once(async () => {
    await databases.close();
    await release();
  });
  return { databases, close };
}

/** Returns a function that closes only once. Otherwise, a stop during a failing startup would close the database twice. */
function once(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | undefined;
  return () => {
    closing ??= close();
    return closing;
  };
}

/** Throws a {@link StartupProblem} if the database cannot be used in its current state. */
async function requireUsableDatabase(settings: ConnectionSettings, use: DatabaseUse): Promise<void> {
  const problem = await findDatabaseProblem(settings, use);
  if (problem !== undefined) throw problem;
}

function refuse(page: RunbookPage, problem: string | undefined): void {
  if (problem !== undefined) throw new StartupProblem(page, problem);
}

/**
 * Returns how many connections this process may open. Throws a {@link StartupProblem} if the role, the database or the server
 * allows fewer than a process needs. Warns if fewer than requested are allowed or left.
 */
async function requireConnections(
  settings: ConnectionSettings,
  asked: number,
  onWarning: (sentence: string) => void,
): Promise<number> {
  const { lowest, tightest } = await readConnectionLimits(settings);
  const howMany = `${lowest.whose} allows ${lowest.max} connections`;
  if (lowest.max < MIN_CONNECTIONS) {
    throw new StartupProblem(
      'few-connections',
      `${howMany}, but a process of the service needs at least ${MIN_CONNECTIONS}. Raise the limit (${lowest.raise}).`,
    );
  }
  const most = Math.min(asked, lowest.max);
  const advice = 'set DATABASE_CONNECTIONS to the share of each process';
  if (most < asked) {
    onWarning(
      `${howMany}, so this process opens at most ${most} of its ${asked}. Raise the limit (${lowest.raise}), ` +
        `or ${advice} if several processes use the database.`,
    );
  } else if (tightest.free < most) {
    onWarning(
      `${tightest.whose} has ${tightest.free} connections left, and this process opens up to ${most}: requests that find ` +
        `none are refused with 503. Raise the limit (${tightest.raise}), or ${advice}.`,
    );
  }
  return most;
}

/** Throws {@link StartupProblem} in live mode if the database is on another machine and TLS is not required. Does not connect. */
export function requireSafeConnection({ databaseUrl, mode }: CommandConfiguration): void {
  if (databaseUrl === null) return;
  let problem: string | undefined;
  try {
    problem = findConnectionProblem({ connectionString: databaseUrl }, mode === 'live');
  } catch (error) {
    refuseUnusable(error);
  }
  if (problem !== undefined) throw new StartupProblem('database-address', problem);
}

function refuseUnusable(error: unknown): never {
  if (error instanceof StartupProblem) throw error;
  refuse('pooled-connection', findRefusedOptions(error));
  const reason = error instanceof Error ? error.message || String(Reflect.get(error, 'code')) : String(error);
  throw new StartupProblem(
    pageOf(codeOf(error) ?? ''),
    `The database of DATABASE_URL cannot be used: ${reason}. Check the address and the user, and that PostgreSQL is running.`,
  );
}

/**
 * Updates the schema in a sandbox. In live mode, an old schema is a {@link StartupProblem}, because the operator decides when to
 * update it. Returns whether no service has been started on the ledger before.
 */
export async function prepareSchema(
  databases: Databases,
  mode: LedgerMode,
  onProgress?: (line: string) => void,
): Promise<boolean> {
  const known = await readLedgerMode(databases.settings);
  refuseOtherMode(known, mode);
  if (mode === 'sandbox') await migrate(databases.settings, onProgress && { onWait: onProgress });
  else refuse('durability-off', await findDurabilityProblem(databases.settings));
  await requireSchema(databases);
  refuseOtherMode(await claimLedger(databases.background, mode), mode);
  await preparePartitions(databases.background).catch((error: unknown) => {
    if (!(error instanceof CoordinatorFailure)) throw error;
  });
  return known === undefined;
}

/** Throws a {@link StartupProblem} if the ledger was created for the other mode. */
export async function requireMode({ settings }: Databases, mode: LedgerMode): Promise<void> {
  refuseOtherMode(await readLedgerMode(settings), mode);
}

function refuseOtherMode(ledger: LedgerMode | undefined, mode: LedgerMode): void {
  if (ledger === undefined || ledger === mode) return;
  throw new StartupProblem(
    'ledger-mode',
    ledger === 'live'
      ? 'This is a live ledger, but the mode is sandbox, which moves money without keys. ' +
          'Set MODE=live, or DATABASE_URL or DATA_DIR to another ledger.'
      : 'This is a sandbox ledger: its clock may have been moved, and its keys were created without authorization. ' +
          'For live mode, set DATABASE_URL or DATA_DIR to another ledger.',
  );
}

/** Throws {@link StartupProblem} if the schema is old, or if the user cannot assume the roles of the service. */
export async function requireSchema({ settings, findRoleProblem }: Databases, place = 'the database'): Promise<void> {
  const pending = await pendingMigrations(settings);
  if (pending.length > 0) {
    const isEmpty = pending[0]?.startsWith('0001_') === true;
    const lacking = isEmpty ? 'has no ledger' : `lacks the migrations ${pending.join(', ')}`;
    throw new StartupProblem(
      isEmpty ? 'ledger-missing' : 'schema-behind',
      `${place.replace(/^t/, 'T')} ${lacking} in its schema ${settings.schema ?? DEFAULT_SCHEMA}. ` +
        'If that is the right place, run "npx transfer-service migrate" with the same settings first.',
    );
  }
  const problem = await findRoleProblem();
  if (problem === undefined) return;
  await requireUsableDatabase(settings, 'read');
  if ('differing' in problem) {
    throw new StartupProblem(
      'pooled-connection',
      `The connections of DATABASE_URL do not preserve the service's settings: ${problem.differing}. ${USE_SESSIONS}`,
    );
  }
  throw new StartupProblem(
    'database-rights',
    `The user of DATABASE_URL cannot assume the roles of the service: ${problem.refused}. ` +
      'If a role is missing or was not granted, run as a superuser: GRANT transfer_service_application, ' +
      'transfer_service_background, transfer_service_authentication TO <that user>;',
  );
}

import { rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type DataDirectoryLock,
  describeUnusable,
  lockDataDirectory,
  openDataDirectory,
  realPathOf,
} from '../foundation/data-directory.ts';
import { codeOf, StartupProblem, sayWhileWaiting } from '../foundation/startup-problem.ts';
import { archiveSettings, type ClaimedArchive, openArchive } from './backup/ownership.ts';
import { findBinaries } from './binaries.ts';
import {
  chooseServerUser,
  claimSocketDirectory,
  findLedger,
  type LedgerLocation,
  locateLedger,
  openSystemDirectory,
  recordLocation,
  type ServerUser,
  SYSTEM_DIRECTORY,
} from './ledger-location.ts';
import {
  createDataDirectory,
  provision,
  removeUnfinishedDataDirectories,
  SERVER_PORT,
  SERVICE_NAME,
} from './postgres-server.ts';
import { removeUnfinishedRestores } from './processes.ts';
import { Supervisor, type SupervisorReports, type SupervisorState } from './supervisor.ts';

export type EmbeddedPostgres = {
  /** The options that `pg` needs to connect. `host` is the directory of a Unix socket. */
  connection: { host: string; port: number; user: string; database: string };
  /** The same connection as a URL, for the DATABASE_URL of a second process of the same user on this machine. */
  url: string;
  /** The real location of PostgreSQL's files. */
  dataDirectory: string;
  /** Whether the files are outside the requested data directory, because PostgreSQL's user cannot reach them there. */
  moved: boolean;
  /** The archive of the ledger's WAL, and the state that is recorded there. Undefined if BACKUP_DIR is not set. */
  archive: ClaimedArchive | undefined;
  /** The path of PostgreSQL's own log, which has at most about 8 MB. The previous log has `.1` appended to its name. */
  serverLog: string;
  /** Returns the id of the server's main process. Undefined while there is none. */
  processId(): number | undefined;
  state(): SupervisorState;
  isDiskFull(): boolean;
  /** For the sandbox only. Stops the server until `resume` is called. Does nothing if it is already stopped. */
  pause(): Promise<void>;
  /** Starts the server again. Resolves when it accepts connections. Keeps trying until then. */
  resume(): Promise<void>;
  /** Stops the server permanently, in less than 4 s, and releases the data directory. */
  stop(): Promise<void>;
};

export type EmbeddedPostgresOptions = {
  /** The data directory. It is created if it is missing, unless a ledger must exist. */
  dataDirectory: string;
  /** Set if a ledger must already exist. If there is none, nothing is created. `origin` says where the path comes from. */
  existing?: { readonly origin: string };
  /** BACKUP_DIR, the directory for archived WAL. */
  backupDirectory?: string | null;
  /** Memory for the pages of the server's tables, in MB. The default is 256. */
  sharedBuffers?: number;
  /** The command that opens the ledger, for the message to the next process. Null for the service. */
  task?: string | null;
  /** Called with the current step of a slow startup, as a sentence for people. */
  onProgress?: (line: string) => void;
  /** Called each time the server has ended unexpectedly or could not be started again. */
  onServerExit?: (description: string) => void;
  /** The directory where root puts files if PostgreSQL's user cannot reach them in their usual place. */
  systemDirectory?: string;
};

/**
 * Starts the PostgreSQL that npm has installed with the service, on the ledger of a data directory, and keeps it running.
 *
 * The order matters: the lock is taken before anything is read. So any leftovers, such as a server without a service or
 * an unfinished ledger, belong to a process that has certainly ended.
 *
 * @throws StartupProblem if the data directory or this machine cannot be used in its current state.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const reports: SupervisorReports = {
    onProgress: options.onProgress ?? (() => undefined),
    onServerExit: options.onServerExit ?? (() => undefined),
  };
  const user = await chooseServerUser();
  if (options.existing !== undefined) await requireLedger(options, options.existing.origin, user);
  const asked = await openDataDirectory(options.dataDirectory, user.differs);
  const locks = [await lockDataDirectory(asked, options.dataDirectory, options.task)];
  try {
    return await startLocked(asked, options, user, locks, reports);
  } catch (error) {
    releaseAll(locks);
    throw error;
  }
}

async function requireLedger(
  { dataDirectory, systemDirectory = SYSTEM_DIRECTORY }: EmbeddedPostgresOptions,
  origin: string,
  user: ServerUser,
): Promise<void> {
  let asked: string;
  try {
    asked = await realPathOf(dataDirectory);
  } catch (error) {
    throw new StartupProblem('data-directory-unusable', describeUnusable(dataDirectory, codeOf(error)), {
      cause: error,
    });
  }
  if ((await findLedger(asked, user, systemDirectory)) !== undefined) return;
  throw new StartupProblem(
    'ledger-missing',
    `There is no ledger in ${dataDirectory} (${origin}), and none was created. Set DATA_DIR to the data directory of ` +
      'the service, or DATABASE_URL to its database. To create a new ledger there, run "npx transfer-service migrate" ' +
      'with the same settings.',
  );
}

async function startLocked(
  asked: string,
  options: EmbeddedPostgresOptions,
  user: ServerUser,
  locks: DataDirectoryLock[],
  reports: SupervisorReports,
): Promise<EmbeddedPostgres> {
  const { systemDirectory = SYSTEM_DIRECTORY } = options;
  const location = await locateLedger(asked, user, systemDirectory);
  // A copied data directory refers to the ledger of the original, whose service may be running.
  if (location.moved) {
    locks.push(await lockDataDirectory(location.home, options.dataDirectory, options.task));
  }
  const copiesDirectory = async () => (user.differs ? await openSystemDirectory(systemDirectory, user) : asked);
  const binaries = await findBinaries(user, copiesDirectory, reports.onProgress);
  await removeUnfinishedDataDirectories(location.home);
  await removeUnfinishedRestores(location.home, reports.onProgress);
  const archive = await openArchive(options.backupDirectory ?? null, asked, location, user);
  if (!location.exists) {
    // `requireLedger` found the ledger before the lock was taken, so another process has removed it since.
    if (options.existing !== undefined)
      throw new StartupProblem('ledger-missing', `The ledger in ${asked} no longer exists.`);
    reports.onProgress(`Creating a new ledger in ${location.dataDirectory}.`);
    await createDataDirectory(location.home, binaries, user);
  }
  await recordLocation(asked, location);
  const socketDirectory = await claimSocketDirectory(location, user);
  const serverLog = join(asked, 'postgresql.log');
  const claimed = await archive?.claim();
  const { sharedBuffers } = options;
  const settings = {
    ...(claimed === undefined ? {} : archiveSettings(claimed.directory)),
    ...(sharedBuffers === undefined ? {} : { shared_buffers: `${sharedBuffers}MB` }),
  };
  const setup = { binaries, dataDirectory: location.dataDirectory, socketDirectory, user, serverLog, settings };
  const supervisor = new Supervisor(setup, reports);
  try {
    await supervisor.begin(false);
    const say = (seconds: number): void =>
      reports.onProgress(`Still waiting for PostgreSQL to respond (${seconds} s).`);
    await sayWhileWaiting(say, () => provision(socketDirectory));
  } catch (error) {
    await supervisor.end();
    throw error;
  }
  return describe(location, setup, supervisor, locks, claimed);
}

function describe(
  location: LedgerLocation,
  { socketDirectory, serverLog }: { socketDirectory: string; serverLog: string },
  supervisor: Supervisor,
  locks: DataDirectoryLock[],
  archive: EmbeddedPostgres['archive'],
): EmbeddedPostgres {
  const host = encodeURIComponent(socketDirectory);
  let isStopped = false;
  return {
    connection: { host: socketDirectory, port: SERVER_PORT, user: SERVICE_NAME, database: SERVICE_NAME },
    url: `postgresql://${SERVICE_NAME}@/${SERVICE_NAME}?host=${host}&port=${SERVER_PORT}`,
    dataDirectory: location.dataDirectory,
    moved: location.moved,
    archive,
    serverLog,
    processId: () => supervisor.processId,
    state: () => supervisor.state,
    isDiskFull: () => supervisor.isDiskFull,
    pause: () => supervisor.pause(),
    async resume() {
      if (isStopped) throw new Error('PostgreSQL was stopped.');
      await supervisor.begin(true);
    },
    async stop() {
      isStopped = true;
      await supervisor.end();
      // Only an empty directory is removed. If it remains, it does no harm.
      await rmdir(socketDirectory).catch(() => undefined);
      releaseAll(locks);
    },
  };
}

function releaseAll(locks: readonly DataDirectoryLock[]): void {
  for (const lock of locks.toReversed()) lock.release();
}

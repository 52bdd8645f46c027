import { open, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataDirectoryInUse, realPathOf } from '../foundation/data-directory.ts';
import { codeOf, StartupProblem, sayWhileWaiting } from '../foundation/startup-problem.ts';
import { type EmbeddedPostgres, type EmbeddedPostgresOptions, startEmbeddedPostgres } from './embedded-postgres.ts';
import { chooseServerUser, findLedger, isClaimed, SYSTEM_DIRECTORY } from './ledger-location.ts';
import { connectAsSuperuser, SERVER_PORT, SERVICE_NAME } from './postgres-server.ts';
import { findRunningPostgres } from './processes.ts';

/** A command's access to the ledger, through the PostgreSQL of the running service or a PostgreSQL started for the command. */
export type CommandAccess = {
  readonly connection: EmbeddedPostgres['connection'];
  /** Stops the server if this process started it. */
  readonly close: () => Promise<void>;
};

/**
 * Maximum wait while the service's PostgreSQL is not running. The service may be about to start it, or about to end. If PostgreSQL
 * is running, there is no limit.
 */
const TIMEOUT_MILLISECONDS = 15_000;
const RETRY_MILLISECONDS = 100;

/**
 * Opens the ledger of a data directory for a command. Uses the PostgreSQL of the service if it is running there. Otherwise, this
 * function starts one, and `close` stops it.
 *
 * @throws StartupProblem if there is no ledger, or if the service's PostgreSQL cannot be reached in time.
 */
export async function openLedgerForCommand(
  options: EmbeddedPostgresOptions,
  timeoutMilliseconds: number = TIMEOUT_MILLISECONDS,
  everyMilliseconds?: number,
): Promise<CommandAccess> {
  let owner: string | undefined;
  const say = (seconds: number): void => {
    // If there is no owner, the command starts PostgreSQL itself, and that start reports its own progress.
    if (owner !== undefined) options.onProgress?.(`Still waiting for the PostgreSQL of ${owner} (${seconds} s).`);
  };
  const noteOwner = (error: DataDirectoryInUse): void => {
    owner = describeOwner(error);
  };
  return sayWhileWaiting(say, () => tryToOpen(options, timeoutMilliseconds, noteOwner), everyMilliseconds);
}

async function tryToOpen(
  options: EmbeddedPostgresOptions,
  timeoutMilliseconds: number,
  noteOwner: (error: DataDirectoryInUse) => void,
): Promise<CommandAccess> {
  let deadline = performance.now() + timeoutMilliseconds;
  for (;;) {
    try {
      const own = await startEmbeddedPostgres(options);
      return { connection: own.connection, close: () => own.stop() };
    } catch (error) {
      if (!(error instanceof DataDirectoryInUse)) throw error;
      noteOwner(error);
      const outcome = await findServerOf(options);
      if ('socketDirectory' in outcome) {
        const { socketDirectory: host } = outcome;
        const connection = { host, port: SERVER_PORT, user: SERVICE_NAME, database: SERVICE_NAME };
        return { connection, close: async () => undefined };
      }
      if (outcome.isAlive) deadline = performance.now() + timeoutMilliseconds;
      else if (performance.now() > deadline) throw describeUnreachable(options.dataDirectory, error, outcome.obstacle);
    }
    await sleep(RETRY_MILLISECONDS);
  }
}

function describeOwner({ owner }: DataDirectoryInUse): string {
  return owner === undefined ? 'another process' : `process ${owner.processId} on ${owner.host}`;
}

function describeUnreachable(dataDirectory: string, error: DataDirectoryInUse, obstacle: string): StartupProblem {
  return new StartupProblem(
    'data-directory-in-use',
    `The data directory ${dataDirectory} is in use by ${describeOwner(error)}, and its PostgreSQL cannot be reached: ${obstacle}. ` +
      'Run the command on the same machine and as the same user as the service, while its database is running.',
  );
}

type Outcome =
  | { readonly socketDirectory: string }
  /** `isAlive` means that the server is running but not ready yet. */
  | { readonly obstacle: string; readonly isAlive: boolean };

/** The obstacle if the service has not created the database yet. */
const BEING_SET_UP = 'it is being set up';

/** SQLSTATE of a server that is starting or recovering. */
const CANNOT_CONNECT_NOW = '57P03';

/** Finds the socket of the server that runs on a data directory. Checks that the server uses these files. */
async function findServerOf({
  dataDirectory,
  systemDirectory = SYSTEM_DIRECTORY,
}: EmbeddedPostgresOptions): Promise<Outcome> {
  const user = await chooseServerUser();
  const ledger = await findLedger(await realPathOf(dataDirectory), user, systemDirectory);
  const obstacleOf = (obstacle: string): Outcome => ({ obstacle, isAlive: false });
  if (ledger === undefined) return obstacleOf('it has no ledger yet');
  try {
    const running = await findRunningPostgres(ledger);
    if (running === undefined) return obstacleOf(`none is running in ${ledger}`);
    const { socketDirectory } = running;
    if (!(await isClaimed(socketDirectory, user))) {
      return obstacleOf(
        `the directory of its socket, ${socketDirectory}, does not exist or does not belong to ${user.name}`,
      );
    }
    const difference = await findDifference(socketDirectory, ledger);
    if (difference === undefined) return { socketDirectory };
    return { obstacle: difference, isAlive: difference === BEING_SET_UP };
  } catch (error) {
    const obstacle = codeOf(error) ?? (error instanceof Error ? error.message : String(error));
    return { obstacle, isAlive: obstacle === CANNOT_CONNECT_NOW };
  }
}

/** Returns the reason if the server at a socket uses other files or is not ready. Returns undefined if it can be used. */
async function findDifference(socketDirectory: string, ledger: string): Promise<string | undefined> {
  const client = await connectAsSuperuser(socketDirectory);
  try {
    const { rows } = await client.query<{ directory: string; identifier: string; provided: boolean }>(
      `select current_setting('data_directory') as directory,
        (select system_identifier::text from pg_control_system()) as identifier,
        exists (select from pg_database where datname = $1) as provided`,
      [SERVICE_NAME],
    );
    const [found] = rows;
    if (found === undefined || (await realpath(found.directory)) !== (await realpath(ledger))) {
      return `the server at its socket uses ${found?.directory}`;
    }
    if (found.identifier !== (await readIdentifier(ledger))) return 'the server at its socket uses other files';
    return found.provided ? undefined : BEING_SET_UP;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Reads the system identifier of a PostgreSQL cluster, which is the first eight bytes of its control file. */
async function readIdentifier(ledger: string): Promise<string> {
  const handle = await open(join(ledger, 'global', 'pg_control'), 'r');
  try {
    const { buffer } = await handle.read(Buffer.alloc(8), 0, 8, 0);
    return buffer.readBigInt64LE().toString();
  } finally {
    await handle.close();
  }
}

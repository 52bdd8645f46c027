import { createHash } from 'node:crypto';
import { chmod, chown, lstat, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { makeDirectories } from '../foundation/data-directory.ts';
import { codeOf, StartupProblem } from '../foundation/startup-problem.ts';

/** The operating system user for PostgreSQL, which refuses to run as root. */
export type ServerUser = {
  /** The user id as shown for files. Never negative. */
  uid: number;
  gid: number;
  name: string;
  /** The name of the service's own user, who connects to the server. */
  serviceName: string;
  differs: boolean;
  /** Options for `spawn`. Empty if the service's own user runs PostgreSQL. */
  spawnAs: { uid?: number; gid?: number };
};

export type LedgerLocation = {
  /** The directory that contains `postgresql` with PostgreSQL's files. It belongs to the user of the service. */
  home: string;
  dataDirectory: string;
  moved: boolean;
  exists: boolean;
};

/** Root's directory for files that PostgreSQL's user must be able to reach. */
export const SYSTEM_DIRECTORY = '/var/lib/transfer-service';

const LOCATION_FILE = 'postgresql-location';
const LOCATION_COMMENT =
  "# Where PostgreSQL keeps this ledger. The service looks nowhere else; change it only after moving PostgreSQL's files.";
const MAJOR_VERSION = 18;

/**
 * Chooses the user that runs PostgreSQL: the service's user, or `nobody` if the service runs as root.
 *
 * @throws StartupProblem if the user has no name, because PostgreSQL requires one.
 */
export async function chooseServerUser(): Promise<ServerUser> {
  if (!process.getuid || !process.getgid) {
    throw new StartupProblem(
      'embedded-postgres-unavailable',
      'The service has no embedded PostgreSQL for this platform. Set DATABASE_URL.',
    );
  }
  let serviceName: string;
  try {
    serviceName = userInfo().username;
  } catch (error) {
    const problem = `The user id ${process.getuid()} has no user name on this machine, and PostgreSQL requires one.`;
    throw new StartupProblem(
      'embedded-postgres-unavailable',
      `${problem} Run the service as a user in /etc/passwd, or set DATABASE_URL.`,
      {
        cause: error,
      },
    );
  }
  if (process.getuid() !== 0) {
    const own = { uid: process.getuid(), gid: process.getgid() };
    return { ...own, name: serviceName, serviceName, differs: false, spawnAs: {} };
  }
  const nobody = await lookUpNobody();
  // macOS writes the id of `nobody` as -2. Files have the id unsigned, and `spawn` accepts it only signed.
  const own = { uid: nobody.uid >>> 0, gid: nobody.gid >>> 0 };
  const spawnAs = { uid: nobody.uid | 0, gid: nobody.gid | 0 };
  return { ...own, name: nobody.name, serviceName, differs: true, spawnAs };
}

async function lookUpNobody(): Promise<{ name: string; uid: number; gid: number }> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n').map((line) => line.split(':'));
  const line = lines.find(([name]) => name === 'nobody') ?? lines.find(([, , uid]) => uid === '65534');
  const uid = Number.parseInt(line?.[2] ?? '', 10);
  const gid = Number.parseInt(line?.[3] ?? '', 10);
  if (line?.[0] && Number.isInteger(uid) && Number.isInteger(gid) && uid !== 0) return { name: line[0], uid, gid };
  throw new StartupProblem(
    'embedded-postgres-unavailable',
    "PostgreSQL cannot run as root, and this machine has no user 'nobody' to run it as. " +
      'Start the service as an ordinary user, or set DATABASE_URL.',
  );
}

/** Returns the first directory of a path that a user cannot pass through. Undefined if there is none. Only for real paths. */
export async function findObstacle(path: string, user: ServerUser): Promise<string | undefined> {
  if (!user.differs) return undefined;
  const parts = [path];
  while (dirname(parts[0] ?? '/') !== parts[0]) parts.unshift(dirname(parts[0] ?? '/'));
  for (const part of parts) {
    const { mode, uid, gid } = await stat(part);
    const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0;
    if (((mode >> shift) & 0o1) === 0) return part;
  }
  return undefined;
}

/**
 * Finds the location of a data directory's ledger. If a ledger was created before, that is its location. Otherwise it is inside
 * the data directory, or below the system directory if the server's user cannot reach the data directory.
 *
 * An existing ledger is never replaced by a new, empty one: a recorded or found ledger is used, or the service does not start.
 *
 * @param asked the real path of the requested data directory, which the caller has locked.
 * @param systemDirectory root's directory for files that other users must reach.
 * @throws StartupProblem if an earlier ledger is missing, or belongs to another user or PostgreSQL version, or if two ledgers are
 *   found.
 */
export async function locateLedger(asked: string, user: ServerUser, systemDirectory: string): Promise<LedgerLocation> {
  const existing = await findHome(asked, user, systemDirectory);
  const away = awayFrom(asked, systemDirectory);
  const home = existing ?? ((await findObstacle(asked, user)) === undefined ? asked : away);
  if (home === away) await makeReachable(away, systemDirectory, user);
  const location = { home, dataDirectory: join(home, 'postgresql'), moved: home !== asked };
  if (existing !== undefined) await verifyLedger(location.dataDirectory, user);
  return { ...location, exists: existing !== undefined };
}

/**
 * Returns PostgreSQL's files of the ledger of a data directory, checked as in {@link locateLedger}. Undefined if there are none.
 * Creates nothing, and the data directory does not have to exist.
 *
 * @param asked the real path of the data directory. The caller does not have to lock it.
 */
export async function findLedger(
  asked: string,
  user: ServerUser,
  systemDirectory: string,
): Promise<string | undefined> {
  const home = await findHome(asked, user, systemDirectory);
  if (home === undefined) return undefined;
  await verifyLedger(join(home, 'postgresql'), user);
  return join(home, 'postgresql');
}

/** Returns the directory that contains `postgresql`. Undefined if there is no ledger yet. */
async function findHome(asked: string, user: ServerUser, systemDirectory: string): Promise<string | undefined> {
  const recorded = await readLocation(asked);
  const away = awayFrom(asked, systemDirectory);
  const homes = recorded === undefined ? (user.differs ? [asked, away] : [asked]) : [dirname(recorded)];
  const found: string[] = [];
  for (const home of homes) if (await isThere(join(home, 'postgresql'))) found.push(home);
  if (recorded !== undefined && found.length === 0) throw describeLost(asked, recorded);
  if (found.length > 1) {
    const both = found.map((home) => join(home, 'postgresql')).join(' and ');
    const advice = `Write the path of the correct one to ${join(asked, LOCATION_FILE)}.`;
    throw new StartupProblem(
      'ledger-location',
      `There are two ledgers for the data directory ${asked}: ${both}. ${advice}`,
    );
  }
  return found[0];
}

function awayFrom(asked: string, systemDirectory: string): string {
  return join(systemDirectory, `data-${shortHash(asked)}`);
}

function describeLost(asked: string, recorded: string): StartupProblem {
  return new StartupProblem(
    'ledger-missing',
    `The ledger of the data directory ${asked} should be in ${recorded}, which does not exist. Restore it, ` +
      `or, to start with an empty ledger, remove ${join(asked, LOCATION_FILE)}.`,
  );
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return false;
    throw new StartupProblem(
      'ledger-access',
      `The service cannot read ${path} (${codeOf(error)}). Give it access to that directory.`,
    );
  }
}

async function readLocation(asked: string): Promise<string | undefined> {
  const path = join(asked, LOCATION_FILE);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw new StartupProblem(
      'ledger-location',
      `The file ${path}, which contains the path of the ledger, cannot be read (${codeOf(error)}).`,
    );
  }
  const location = text.split('\n').find((line) => line.trim() !== '' && !line.startsWith('#'));
  if (location?.endsWith('postgresql')) return resolve(asked, location);
  throw new StartupProblem(
    'ledger-location',
    `The file ${path} does not contain the path of a directory named postgresql. Write that path to the file.`,
  );
}

/**
 * Records the location of the ledger for later starts. If it is inside the data directory, the path is relative, so that the
 * directory can be moved.
 */
export async function recordLocation(asked: string, location: LedgerLocation): Promise<void> {
  const path = join(asked, LOCATION_FILE);
  const recorded = location.moved ? location.dataDirectory : 'postgresql';
  const text = `${LOCATION_COMMENT}\n${recorded}\n`;
  if ((await readFile(path, 'utf8').catch(() => '')) === text) return;
  await rm(`${path}.new`, { force: true });
  await writeFile(`${path}.new`, text, { flag: 'wx', mode: 0o644, flush: true });
  await rename(`${path}.new`, path);
}

async function verifyLedger(dataDirectory: string, user: ServerUser): Promise<void> {
  const { uid } = await stat(dataDirectory).catch((error: unknown) => {
    throw new StartupProblem(
      'ledger-access',
      `The ledger in ${dataDirectory} cannot be read (${codeOf(error)}). Give the service access to it.`,
    );
  });
  if (uid !== user.uid) {
    throw new StartupProblem(
      'ledger-access',
      `The ledger in ${dataDirectory} belongs to the user with id ${uid}, but PostgreSQL would run as ${user.name} ` +
        `(${user.uid}). Start the service as the user who started it before, or set DATA_DIR to another directory.`,
    );
  }
  const obstacle = await findObstacle(dataDirectory, user);
  if (obstacle !== undefined) {
    throw new StartupProblem(
      'ledger-access',
      `PostgreSQL runs as ${user.name}, who cannot access the ledger in ${dataDirectory}: ` +
        `${obstacle} does not allow it. Run 'chmod o+x ${obstacle}'.`,
    );
  }
  const text = await readFile(join(dataDirectory, 'PG_VERSION'), 'utf8').catch((error: unknown) => {
    throw new StartupProblem(
      'ledger-missing',
      `The directory ${dataDirectory} contains no ledger (PG_VERSION cannot be read: ${codeOf(error)}). ` +
        'Restore its files from a backup, or set DATA_DIR to another directory.',
    );
  });
  const version = Number.parseInt(text, 10);
  if (version !== MAJOR_VERSION) {
    const advice =
      version > MAJOR_VERSION ? 'Use the version of the service that created it' : 'Upgrade it with pg_upgrade';
    throw new StartupProblem(
      'ledger-version',
      `The ledger in ${dataDirectory} was created by PostgreSQL ${text.trim()}, but this service includes PostgreSQL ${MAJOR_VERSION}. ` +
        `${advice}, or set DATA_DIR to another directory.`,
    );
  }
}

/** Creates the system directory and a directory inside it. The server's user can pass through both, and only root can write. */
async function makeReachable(directory: string, systemDirectory: string, user: ServerUser): Promise<void> {
  await openSystemDirectory(systemDirectory, user);
  try {
    await mkdir(directory, { mode: 0o711 });
    await chmod(directory, 0o711);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw describeSystemDirectory(systemDirectory, error);
    await verifyRootOwned(directory);
  }
}

/** Creates the system directory. If it exists, checks that only root can write to it. */
export async function openSystemDirectory(systemDirectory: string, user: ServerUser): Promise<string> {
  try {
    await makeDirectories(systemDirectory, 0o755);
    await verifyRootOwned(systemDirectory);
    const path = await realpath(systemDirectory);
    const obstacle = await findObstacle(path, user);
    if (obstacle === undefined) return path;
    throw new Error(`${obstacle} does not allow access by the user ${user.name}`);
  } catch (error) {
    throw describeSystemDirectory(systemDirectory, error);
  }
}

function describeSystemDirectory(systemDirectory: string, error: unknown): StartupProblem {
  if (error instanceof StartupProblem) return error;
  const reason = codeOf(error) ?? (error instanceof Error ? error.message : String(error));
  return new StartupProblem(
    'data-directory-unusable',
    `PostgreSQL cannot run as root, so its files must be in ${systemDirectory}, which cannot be used (${reason}). ` +
      'Start the service as an ordinary user, or move it and its data directory to a place that other users can access.',
    { cause: error },
  );
}

async function verifyRootOwned(directory: string): Promise<void> {
  const found = await lstat(directory);
  if (found.isDirectory() && found.uid === 0 && (found.mode & 0o022) === 0) return;
  throw new StartupProblem(
    'data-directory-unusable',
    `The directory ${directory} must belong to root and be writable by root only. Fix its owner or its permissions.`,
  );
}

/** Returns a short name for a path. It is the same at every start. */
export function shortHash(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 12);
}

/**
 * Creates a private directory for the server's socket. Its path is short, because a socket path has at most 107 bytes (103 on
 * macOS). Any user can create a directory with that name in /tmp. So a directory that is not exclusively ours is not used, because
 * its owner could put a different socket there.
 */
export async function claimSocketDirectory(location: LedgerLocation, user: ServerUser): Promise<string> {
  const name = `transfer-service-${shortHash(location.dataDirectory)}`;
  const bases = [...(user.differs && (await isRootsOwn('/run', user)) ? ['/run'] : []), '/tmp', location.home];
  const roomForSocket = process.platform === 'linux' ? 107 : 103;
  for (const base of bases) {
    for (const suffix of ['', '-1', '-2', '-3', '-4', '-5', '-6', '-7', '-8', '-9']) {
      const path = join(base, `${name}${suffix}`);
      if (Buffer.byteLength(join(path, '.s.PGSQL.5432')) > roomForSocket) break;
      const outcome = await claim(path, user);
      if (outcome === 'claimed') return path;
      if (outcome === 'impossible') break;
    }
  }
  throw new StartupProblem(
    'data-directory-unusable',
    'There is no usable directory for the socket of PostgreSQL. Make /tmp writable for the service.',
  );
}

/** Creates the socket directory again if it was removed as a temporary file. Throws if it now belongs to a different user. */
export async function restoreSocketDirectory(path: string, user: ServerUser): Promise<void> {
  const outcome = await claim(path, user);
  if (outcome !== 'claimed') throw new Error(`the socket directory ${path} is ${outcome}`);
}

async function isRootsOwn(directory: string, user: ServerUser): Promise<boolean> {
  try {
    await verifyRootOwned(directory);
    return (await findObstacle(directory, user)) === undefined;
  } catch {
    return false;
  }
}

async function claim(path: string, user: ServerUser): Promise<'claimed' | 'foreign' | 'impossible'> {
  if (!isAbsolute(path)) return 'impossible';
  try {
    await mkdir(path, { mode: 0o700 });
    if (user.differs) await chown(path, user.uid, user.gid);
    return 'claimed';
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') return 'impossible';
  }
  return (await isClaimed(path, user)) ? 'claimed' : 'foreign';
}

/** Returns whether only the server's user can create a socket in a directory. */
export async function isClaimed(path: string, user: ServerUser): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isDirectory() === true && found.uid === user.uid && (found.mode & 0o777) === 0o700;
}

import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, chown, mkdir, readFile, rename, rm, rmdir, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { flushDirectory, lockDataDirectory, openDataDirectory } from '../../foundation/data-directory.ts';
import { diskFullProblem, isDiskFull, StartupProblem } from '../../foundation/startup-problem.ts';
import { findBinaries } from '../binaries.ts';
import {
  chooseServerUser,
  claimSocketDirectory,
  findObstacle,
  type LedgerLocation,
  locateLedger,
  openSystemDirectory,
  recordLocation,
  type ServerUser,
  SYSTEM_DIRECTORY,
} from '../ledger-location.ts';
import {
  connectAsSuperuser,
  lastReasonIn,
  SERVER_PORT,
  SERVICE_NAME,
  type ServerProcess,
  type ServerSetup,
  spawnServer,
  waitUntilAccepting,
  writeAccessRules,
} from '../postgres-server.ts';
import { removeUnfinishedRestores } from '../processes.ts';
import { inMegabytes } from './base-copy.ts';
import { copyOne, Pace } from './copy-files.ts';
import { FILES_DIRECTORY, segmentsOf } from './manifest.ts';
import type { Candidate, RestorePlan, RestoreTime } from './restore-plan.ts';
import { parsePosition, parseSegment, segmentAt, segmentName } from './wal-files.ts';

// Invariant: A restore to a time contains every transfer that was acknowledged before it, and none that was sent after it.
//   Otherwise, the restore says what is missing and leaves no files
// Kept by: the commit times of PostgreSQL, and checks before the ledger gets its name
// Tested by: `verification/campaigns/point-in-time.ts`, `test/embedded/backup-failures.test.ts`

/** A ledger that was recovered under a temporary name. Its server is running, so that the books can be verified. */
export type RecoveredLedger = {
  readonly connection: { host: string; port: number; user: string; database: string };
  readonly copyName: string;
  readonly copyEndedAt: string;
  readonly lastTransactionAt: Date | undefined;
  /** Stops the server and moves the ledger to its final name. Returns the path of PostgreSQL's files. */
  readonly keep: () => Promise<string>;
  /** Stops the server and removes everything. */
  readonly discard: () => Promise<void>;
};

export type RestoreOptions = {
  /** The target directory. It is created if it is missing, and must not contain a ledger. */
  readonly dataDirectory: string;
  readonly source: { readonly wal: string; readonly base: string };
  readonly plan: RestorePlan;
  readonly time: RestoreTime;
  readonly onProgress: (line: string) => void;
  readonly systemDirectory?: string;
};

/** The number of files that are read at once. While one file waits for the disk, others can be read. */
const FILES_AT_ONCE = 4;

/** The space that the WAL of a recovery needs, in addition to the files of the copy. */
const SPARE_BYTES = 128 * 1_048_576;

/**
 * Restores a ledger to a time, into a data directory that has no ledger. Until `keep` is called, it has a temporary name, so that
 * no service uses it as a ledger.
 *
 * @throws StartupProblem if there is a ledger, or if the backup is incomplete.
 */
export async function restoreLedger(options: RestoreOptions): Promise<RecoveredLedger> {
  const { dataDirectory, systemDirectory = SYSTEM_DIRECTORY, onProgress } = options;
  const user = await chooseServerUser();
  const asked = await openDataDirectory(dataDirectory, user.differs);
  const locks = [await lockDataDirectory(asked, dataDirectory, 'restore')];
  const release = (): void => {
    for (const lock of locks.toReversed()) lock.release();
  };
  try {
    const location = await locateLedger(asked, user, systemDirectory);
    if (location.exists) throw describeExisting(location);
    if (location.moved) locks.push(await lockDataDirectory(location.home, dataDirectory, 'restore'));
    await removeUnfinishedRestores(location.home, onProgress);
    await requireReadable(options.source.wal, options.plan.candidates, user);
    const copies = async (): Promise<string> =>
      user.differs ? await openSystemDirectory(systemDirectory, user) : asked;
    const binaries = await findBinaries(user, copies, onProgress);
    const socketDirectory = await claimSocketDirectory(location, user);
    const temporary = join(location.home, `postgresql.restore-${randomBytes(6).toString('hex')}`);
    const serverLog = join(asked, 'restore.log');
    const setup = { binaries, dataDirectory: temporary, socketDirectory, user, serverLog };
    const remove = async (): Promise<void> => {
      await rm(temporary, { recursive: true, force: true, maxRetries: 3 });
      await rmdir(socketDirectory).catch(() => undefined);
    };
    try {
      const { candidate, recovery } = await recoverFirstGood(options, setup);
      return describeRecovered({ asked, location, setup, candidate, recovery, remove, release });
    } catch (error) {
      await remove();
      if (isDiskFull(error)) throw diskFullProblem(`The ledger cannot be restored into ${location.home}`, error);
      throw error;
    }
  } catch (error) {
    release();
    throw error;
  }
}

/** Throws if PostgreSQL's user cannot read the WAL. Files that were copied from elsewhere often belong to a different user. */
async function requireReadable(wal: string, candidates: readonly Candidate[], user: ServerUser): Promise<void> {
  const segments = candidates.flatMap(({ manifest, chain: { last } }) => [
    { timeline: manifest.timeline, number: segmentsOf(manifest).first },
    ...(last === undefined ? [] : [last]),
  ]);
  const obstacle = await findObstacle(wal, user);
  const files = obstacle === undefined ? segments.map((segment) => join(wal, segmentName(segment))) : [];
  for (const path of [...(obstacle === undefined ? [] : [obstacle]), ...files]) {
    if (path !== obstacle && (await isReadableBy(path, user))) continue;
    throw new StartupProblem(
      'restore-refused',
      `PostgreSQL runs as ${user.name}, who cannot read ${path}. ` +
        `Run 'chown -R ${user.uid}:${user.gid} ${wal}', and 'chmod o+x' for the directories above it.`,
    );
  }
}

async function isReadableBy(path: string, user: ServerUser): Promise<boolean> {
  if (!user.differs) {
    return access(path, constants.R_OK).then(
      () => true,
      () => false,
    );
  }
  const { mode, uid, gid } = await stat(path);
  const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0;
  return ((mode >> shift) & 0o4) !== 0;
}

function describeExisting({ dataDirectory }: LedgerLocation): StartupProblem {
  return new StartupProblem(
    'restore-refused',
    `There is already a ledger in ${dataDirectory}, and a restore never writes over one. Set DATA_DIR to a new directory.`,
  );
}

type Setup = Parameters<typeof recover>[0]['setup'];
type Recovered = Extract<Recovery, { kind: 'recovered' }>;

/** Recovers from the newest copy that is not damaged. */
async function recoverFirstGood(
  options: RestoreOptions,
  setup: Setup,
): Promise<{ candidate: Candidate; recovery: Recovered }> {
  const { plan, onProgress } = options;
  const damaged: string[] = [];
  for (const [index, candidate] of plan.candidates.entries()) {
    await requireRoom(setup.dataDirectory, candidate.manifest.bytes);
    onProgress(
      `Copying the files of the copy ${candidate.copy.name}, ${inMegabytes(candidate.manifest.bytes)} MB, to ${setup.dataDirectory}.`,
    );
    const bad = await copyBack(candidate, setup.dataDirectory, setup.user);
    if (bad === undefined) return { candidate, recovery: await recoverFrom(candidate, options, setup) };
    damaged.push(`${candidate.copy.name}: ${bad}`);
    const isLast = index === plan.candidates.length - 1;
    onProgress(`The copy ${candidate.copy.name} is damaged: ${bad}.${isLast ? '' : ' Trying the copy before it.'}`);
    await rm(setup.dataDirectory, { recursive: true, force: true, maxRetries: 3 });
  }
  throw describeDamaged(options, damaged.join('; '));
}

function describeDamaged({ plan: { beforeGap }, source, time }: RestoreOptions, damaged: string): StartupProblem {
  const wanted = time === undefined ? 'from which everything can be restored' : 'from before that time';
  const older =
    beforeGap === undefined
      ? ''
      : ` The copy ${beforeGap.copy.name} may be whole, but the WAL file ${segmentName(beforeGap.chain.missing)} after it is missing: ` +
        'a restore from it loses everything that was committed from that file on until now. If that is what you want, ' +
        `use "--to" with a time from ${beforeGap.manifest.endedAt} until shortly before that file was written.`;
  return new StartupProblem(
    'restore-incomplete',
    `Every copy in ${source.base} ${wanted} has changed since it was stored (${damaged}). Get the damaged files from another copy of the backup.${older}`,
  );
}

async function requireRoom(target: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(join(target, '..'));
  const free = bavail * bsize;
  if (free >= bytes + SPARE_BYTES) return;
  throw diskFullProblem(
    `The restored ledger needs ${inMegabytes(bytes + SPARE_BYTES)} MB at ${join(target, '..')}, which has ${inMegabytes(free)} MB free`,
  );
}

/**
 * Restores the files of a copy and compares them with its manifest. Returns a description of the first difference, if there is one.
 */
async function copyBack({ copy, manifest }: Candidate, target: string, user: ServerUser): Promise<string | undefined> {
  const own = async (path: string): Promise<void> => {
    if (user.differs) await chown(path, user.uid, user.gid);
  };
  await mkdir(target, { mode: 0o700 });
  await own(target);
  for (const directory of manifest.directories) {
    await mkdir(join(target, directory), { mode: 0o700 });
    await own(join(target, directory));
  }
  const pace = new Pace(Number.POSITIVE_INFINITY);
  const left = manifest.files.values();
  let problem: string | undefined;
  const copyAll = async (): Promise<void> => {
    for (const [file, bytes, sha256] of left) {
      const copied = await copyOne(join(copy.path, FILES_DIRECTORY, file), join(target, file), pace);
      if (copied === undefined) problem ??= `the file ${file} is missing`;
      else if (copied.bytes !== bytes) problem ??= `the file ${file} has ${copied.bytes} bytes instead of ${bytes}`;
      else if (copied.sha256 !== sha256) problem ??= `the content of the file ${file} was changed`;
      if (problem !== undefined) return;
      await own(join(target, file));
    }
  };
  await Promise.all(Array.from({ length: FILES_AT_ONCE }, copyAll));
  if (problem !== undefined) return problem;
  await markForRecovery(target);
  await own(join(target, 'recovery.signal'));
  for (const directory of manifest.directories) await flushDirectory(join(target, directory));
  await flushDirectory(target);
  return undefined;
}

async function recoverFrom(candidate: Candidate, options: RestoreOptions, setup: Setup): Promise<Recovered> {
  const { plan, source, time, onProgress } = options;
  const task = { setup, wal: source.wal, timeline: plan.timeline, onProgress };
  onProgress(`Replaying the WAL in ${source.wal}.`);
  let recovery = await recover({ ...task, time });
  const isCovered = time !== undefined && isCoveredUntil(time, candidate, plan);
  // If the WAL ends before the requested time but the archive covers that time, nothing was committed in between. So the whole
  // WAL leads to the requested state.
  const isToItsEnd = time === undefined || (recovery.kind === 'ended early' && isCovered);
  if (time !== undefined && isToItsEnd) recovery = await recover({ ...task, time: undefined });
  if (recovery.kind === 'recovered') {
    const end = candidate.chain.last?.number ?? 0;
    const isWhole = recovery.damage === undefined && (recovery.lastSegment ?? end) >= end;
    if (!isToItsEnd || isWhole) return recovery;
    const at = recovery.lastTransactionAt?.toISOString();
    await endServer(recovery.server);
    throw describeEarlyEnd(
      candidate,
      time,
      at,
      recovery.damage ?? `it ends before ${segmentName(candidate.chain.last ?? candidate.chain.missing)}`,
    );
  }
  if (recovery.kind === 'ended early') {
    throw describeEarlyEnd(candidate, time, recovery.lastTransactionAt, recovery.damage);
  }
  if (recovery.isDiskFull) throw diskFullProblem(`The ledger cannot be restored in ${setup.dataDirectory}`);
  throw new StartupProblem(
    'restore-incomplete',
    `PostgreSQL could not recover the copy ${candidate.copy.name}: ${recovery.reason}. See its log, ${setup.serverLog}.`,
  );
}

/** Returns whether everything up to a time is in the archive: the service has recorded this, and the files are still there. */
function isCoveredUntil(time: Date, { chain }: Candidate, { state, timeline }: RestorePlan): boolean {
  if (state === undefined || state.coveredUntil === null || state.timeline !== timeline) return false;
  const covered = parseSegment(state.coveredSegment ?? '');
  if (covered === undefined || chain.last === undefined || chain.isBroken) return false;
  return time.getTime() <= Date.parse(state.coveredUntil) && chain.last.number >= covered.number;
}

function describeEarlyEnd(
  { chain, copy }: Candidate,
  time: RestoreTime,
  lastTransactionAt: string | undefined,
  damage: string | undefined,
): StartupProblem {
  const reached =
    lastTransactionAt === undefined
      ? `no transaction after the copy ${copy.name} could be replayed`
      : `the last transaction that could be replayed is from ${lastTransactionAt}`;
  const asked = time === undefined ? '' : ` before ${time.toISOString()}`;
  if (damage !== undefined) {
    return new StartupProblem(
      'restore-incomplete',
      `The WAL of the backup is damaged${asked}: ${damage}; ${reached}. Get the file from another copy of the backup, or use "--to" with a time up to then.`,
    );
  }
  if (chain.isBroken) {
    return new StartupProblem(
      'restore-incomplete',
      `The WAL file ${segmentName(chain.missing)} is missing${asked}; ${reached}. Get the file from another copy of the backup, or use "--to" with a time up to then.`,
    );
  }
  return new StartupProblem(
    'restore-refused',
    `The backup ends${asked}: ${reached}. Use "--to latest", or "--to" with a time up to then.`,
  );
}

type Parts = {
  readonly asked: string;
  readonly location: LedgerLocation;
  readonly setup: Setup;
  readonly candidate: Candidate;
  readonly recovery: Recovered;
  readonly remove: () => Promise<void>;
  readonly release: () => void;
};

function describeRecovered(parts: Parts): RecoveredLedger {
  const { asked, location, setup, candidate, recovery, remove, release } = parts;
  const { server } = recovery;
  return {
    connection: { host: setup.socketDirectory, port: SERVER_PORT, user: SERVICE_NAME, database: SERVICE_NAME },
    copyName: candidate.copy.name,
    copyEndedAt: candidate.manifest.endedAt,
    lastTransactionAt: recovery.lastTransactionAt,
    async keep() {
      await endServer(server);
      await rename(setup.dataDirectory, location.dataDirectory);
      await flushDirectory(location.home);
      await recordLocation(asked, location);
      await rmdir(setup.socketDirectory).catch(() => undefined);
      release();
      return location.dataDirectory;
    },
    async discard() {
      await endServer(server);
      await remove();
      release();
    },
  };
}

/** Waits until the server has ended, even if its last checkpoint is slow. */
async function endServer({ child, exited }: ServerProcess): Promise<void> {
  child.kill('SIGINT');
  await exited;
}

type RecoveryTask = {
  readonly setup: ServerSetup;
  readonly wal: string;
  readonly timeline: number;
  /** The time of the last commit to restore. Undefined for all commits. */
  readonly time: RestoreTime;
  readonly onProgress: (line: string) => void;
};

type Recovery =
  | {
      readonly kind: 'recovered';
      readonly server: ServerProcess;
      /** The time of the last transaction that was replayed. Undefined if there was none after the copy. */
      readonly lastTransactionAt: Date | undefined;
      /** Number of the WAL file that contains the last record. */
      readonly lastSegment: number | undefined;
      /** PostgreSQL's message about a record that it could not read. Undefined if there was none. */
      readonly damage: string | undefined;
    }
  | {
      /** The WAL ended before the requested time. */
      readonly kind: 'ended early';
      readonly lastTransactionAt: string | undefined;
      readonly damage: string | undefined;
    }
  | { readonly kind: 'failed'; readonly reason: string; readonly isDiskFull: boolean };

/** Matches PostgreSQL's log messages about a damaged record. At the regular end of an archive, there are none. */
const DAMAGE =
  /(?:incorrect resource manager data checksum|invalid magic number|invalid info bits|unexpected pageaddr|invalid record (?:offset|length)|invalid resource manager ID|record with incorrect prev-link|invalid contrecord length|there is no contrecord flag|out-of-sequence timeline ID|WAL file is from different database system|archive file ".*" has wrong size)[^\n]*/;
const TOO_EARLY = /recovery ended before configured recovery target was reached/;

/**
 * Replays the WAL on a copy in the server's data directory. When the server accepts connections, it keeps running, on a new
 * timeline.
 */
async function recover(task: RecoveryTask): Promise<Recovery> {
  const { setup, onProgress } = task;
  await writeFile(setup.serverLog, '', { mode: 0o600 });
  await writeAccessRules(setup.dataDirectory, setup.user);
  const server = spawnServer({ ...setup, settings: settingsOf(task) });
  const gone = new AbortController();
  const endWithProcess = (): void => void server.child.kill('SIGQUIT');
  process.on('exit', endWithProcess);
  void server.exited.then(() => {
    process.off('exit', endWithProcess);
    gone.abort();
  });
  const report = (): void => void readLog(setup).then((log) => onProgress(describeProgress(log)));
  const waiting = { signal: gone.signal, isPatient: true, onProgress: report };
  const isAccepting = await waitUntilAccepting(setup.socketDirectory, waiting);
  const log = await readLog(setup);
  const damage = DAMAGE.exec(log)?.[0];
  const lastAt = /last completed transaction was at log time (.+)/.exec(log)?.[1];
  if (isAccepting) {
    const lastRecord = /redo done at ([0-9A-F]+\/[0-9A-F]+)/.exec(log)?.[1];
    const lastSegment = lastRecord === undefined ? undefined : segmentAt(parsePosition(lastRecord));
    const lastTransactionAt = await readLastTransaction(setup.socketDirectory);
    return { kind: 'recovered', server, lastTransactionAt, lastSegment, damage };
  }
  const ending = await server.exited;
  if (TOO_EARLY.test(log)) return { kind: 'ended early', lastTransactionAt: lastAt, damage };
  return { kind: 'failed', reason: damage ?? lastReasonIn(log) ?? ending, isDiskFull: isDiskFull(log) };
}

/**
 * Returns the settings of a recovery. The target time has a numeric offset, because PostgreSQL parses it before it has
 * loaded the names of time zones, which include `Z`.
 */
function settingsOf({ wal, timeline, time }: RecoveryTask): Record<string, string> {
  return {
    // The quotes keep the path unchanged in the shell. Percent signs are doubled, because PostgreSQL would replace a
    // single one and the character after it.
    restore_command: `cp '${wal.replaceAll("'", "'\\''").replaceAll('%', '%%')}/%f' '%p'`,
    recovery_target_timeline: String(timeline),
    ...(time === undefined ? {} : { recovery_target_time: time.toISOString().replace('T', ' ').replace('Z', '+00') }),
    recovery_target_inclusive: 'on',
    recovery_target_action: 'promote',
    // Sessions must not read the books before the recovery has ended.
    hot_standby: 'off',
    archive_mode: 'off',
  };
}

function readLog({ serverLog }: ServerSetup): Promise<string> {
  return readFile(serverLog, 'utf8').catch(() => '');
}

function describeProgress(log: string): string {
  const file = [...log.matchAll(/restored log file "([0-9A-F]{24})"/g)].at(-1)?.[1];
  return file === undefined ? 'Waiting for PostgreSQL to begin the recovery.' : `Replaying the WAL: at ${file}.`;
}

async function readLastTransaction(socketDirectory: string): Promise<Date | undefined> {
  const client = await connectAsSuperuser(socketDirectory);
  try {
    const { rows } = await client.query<{ time: Date | null }>('select pg_last_xact_replay_timestamp() as time');
    return rows[0]?.time ?? undefined;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Marks the files as a copy, so that PostgreSQL begins a recovery. */
async function markForRecovery(dataDirectory: string): Promise<void> {
  await writeFile(join(dataDirectory, 'recovery.signal'), '', { flag: 'wx', mode: 0o600 });
}

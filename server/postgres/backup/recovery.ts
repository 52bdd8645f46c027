import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDiskFull } from '../../foundation/startup-problem.ts';
import {
  connectAsSuperuser,
  lastReasonIn,
  type ServerProcess,
  type ServerSetup,
  spawnServer,
  waitUntilAccepting,
  writeAccessRules,
} from '../postgres-server.ts';
import type { RestoreTime } from './restore-plan.ts';
import { parsePosition, segmentAt } from './wal-files.ts';

export type RecoveryTask = {
  readonly setup: ServerSetup;
  readonly wal: string;
  readonly timeline: number;
  /** The time of the last commit to restore. Undefined for all commits. */
  readonly time: RestoreTime;
  readonly onProgress: (line: string) => void;
};

export type Recovery =
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
export async function recover(task: RecoveryTask): Promise<Recovery> {
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
export async function markForRecovery(dataDirectory: string): Promise<void> {
  await writeFile(join(dataDirectory, 'recovery.signal'), '', { flag: 'wx', mode: 0o600 });
}

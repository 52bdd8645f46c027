import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandConfiguration } from '../../foundation/configuration/configuration.ts';
import { StartupProblem } from '../../foundation/startup-problem.ts';
import { listArchive } from '../../postgres/backup/archive.ts';
import { findBackupDirectory } from '../../postgres/backup/backup-directory.ts';
import { CopyInProgress, inMegabytes, lockCopies, takeCopy } from '../../postgres/backup/base-copy.ts';
import { findIncompleteFile, findUnfinished, segmentsOf } from '../../postgres/backup/manifest.ts';
import { type BackupSurvey, surveyBackups } from '../../postgres/backup/restore-plan.ts';
import { removeSurplus } from '../../postgres/backup/retention.ts';
import { segmentName } from '../../postgres/backup/wal-files.ts';
import { openLedgerForCommand } from '../../postgres/command-access.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Takes a copy of the ledger now. The service may be running. */
export async function backUp(configuration: CommandConfiguration): Promise<void> {
  const { dataDirectory, dataDirectoryOrigin: origin, backupRetentionDays } = configuration;
  const backupDirectory = requireBackupDirectory(configuration);
  const onProgress = (line: string): void => void process.stderr.write(`${line}\n`);
  const access = await openLedgerForCommand({
    dataDirectory,
    backupDirectory,
    existing: { origin },
    task: 'backup',
    onProgress,
  });
  try {
    const { wal, base } = await findBackupDirectory(backupDirectory, 'BACKUP_DIR');
    const source = { socketDirectory: access.connection.host, dataDirectory, wal, base };
    const { name, manifest } = await takeCopy(source, { fast: true, onProgress });
    say(`The copy ${name} is complete: ${inMegabytes(manifest.bytes)} MB in ${join(base, name)}.`);
    say(`Any time from ${manifest.endedAt} on can be restored from it.`);
    for (const line of await deleteOlder({ wal, base }, dataDirectory, backupRetentionDays)) say(line);
  } finally {
    await access.close();
  }
}

/** Deletes the copies that are no longer needed, unless another process is taking a copy. Returns remarks for the operator. */
export async function deleteOlder(
  directory: Parameters<typeof removeSurplus>[0],
  dataDirectory: string,
  retentionDays: number,
): Promise<readonly string[]> {
  let lock: Awaited<ReturnType<typeof lockCopies>>;
  try {
    lock = await lockCopies(dataDirectory, 'retention');
  } catch (error) {
    if (!(error instanceof CopyInProgress)) throw error;
    // The new copy is complete. The next copy or the service will delete the old ones.
    return [
      'Older copies were not deleted, because another process is taking a copy or deleting old ones. The next copy deletes them.',
    ];
  }
  const removed = await removeSurplus(directory, retentionDays, new Date()).finally(() => lock.release());
  return removed === 0
    ? []
    : [`Deleted older copies: ${removed}. They are not needed for the last ${retentionDays} days.`];
}

function requireBackupDirectory({ backupDirectory }: CommandConfiguration): string {
  if (backupDirectory !== null) return backupDirectory;
  throw new StartupProblem(
    'backup-directory-unusable',
    'BACKUP_DIR is not set. Set it to the directory for backups, for this command and for the service, and restart the service.',
  );
}

/** Prints the copies, the times that can be restored from them, and any problems. Changes nothing. */
export async function listBackups(configuration: CommandConfiguration): Promise<void> {
  const { path, wal, base } = await findBackupDirectory(requireBackupDirectory(configuration), 'BACKUP_DIR');
  const survey = await surveyBackups({ path, wal, base });
  const problems: string[] = [];
  for (const copy of survey.copies) {
    const missing = await findIncompleteFile(copy);
    const problem =
      copy.problem ?? (missing === undefined ? undefined : `the file ${missing} is missing or incomplete`);
    if (problem !== undefined) problems.push(`${copy.name} cannot be restored: ${problem}.`);
    const size = `${inMegabytes(copy.manifest?.bytes ?? 0)} MB`.padStart(12);
    say(`${copy.name}  ${size}  ${problem === undefined ? 'complete' : 'NOT USABLE'}`);
  }
  for (const { startedAt, bytes } of await findUnfinished(base)) {
    say(`A copy was begun at ${startedAt} and has ${inMegabytes(bytes)} MB so far. It is listed when it is complete.`);
  }
  if (survey.copies.length === 0) say('There is no complete copy yet.');
  const names = await listArchive(wal);
  const { bavail, bsize } = await statfs(wal);
  say(`WAL: ${names.size} files. Free on the disk: ${inMegabytes(bavail * bsize)} MB.`);
  for (const line of describeReach(survey)) say(line);
  problems.push(...findGaps(survey));
  if (problems.length > 0) throw new StartupProblem('restore-incomplete', problems.join('\n'));
}

export function describeReach({ candidates, state }: Pick<BackupSurvey, 'candidates' | 'state'>): readonly string[] {
  const [first] = candidates.filter(({ manifest, chain }) => (chain.last?.number ?? -1) >= segmentsOf(manifest).last);
  if (first === undefined) return ['Nothing can be restored yet.'];
  const { endedAt } = first.manifest;
  const until = state?.coveredUntil ?? undefined;
  if (until === undefined) return [`Any time from ${endedAt} on can be restored.`];
  // A service that was just started may have recorded its archive before its first copy, and nothing since then.
  if (Date.parse(until) < Date.parse(endedAt)) {
    return [`Any time from ${endedAt} on, as soon as it is archived, can be restored.`];
  }
  return [`Any time from ${endedAt} to ${until} can be restored.`];
}

/** Checks the gap after each copy, because a gap only affects the times until the next copy. */
function findGaps({ candidates }: BackupSurvey): readonly string[] {
  const missing = candidates.filter(({ chain }) => chain.isBroken).map(({ chain }) => segmentName(chain.missing));
  return [...new Set(missing)].map(
    (name) => `The WAL file ${name} is missing: times after it, until the next copy, cannot be restored.`,
  );
}

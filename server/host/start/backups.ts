import type { Configuration } from '../../foundation/configuration/configuration.ts';
import type { Log } from '../../observe/log/log.ts';
import { BackupJob } from '../../postgres/backup/backup-job.ts';
import type { EmbeddedPostgres } from '../../postgres/embedded-postgres.ts';

/** The job that takes care of the backups, not started yet; undefined without BACKUP_DIR. */
export function openBackupJob(
  { dataDirectory, backupRetentionDays: retentionDays }: Configuration,
  embedded: EmbeddedPostgres | undefined,
  log: Log,
): BackupJob | undefined {
  if (embedded?.archive === undefined) return undefined;
  const socketDirectory = embedded.connection.host;
  return new BackupJob({
    ...embedded.archive,
    socketDirectory,
    dataDirectory,
    retentionDays,
    onCopy: (name) => log.info({ event: 'backup', copy: name }, 'a copy of the ledger is complete'),
    onFailure: (problem) => log.error({ event: 'backup_failed' }, problem),
  });
}

import type { LedgerLocation, ServerUser } from '../ledger-location.ts';
import { type BackupDirectory, openBackupDirectory } from './backup-directory.ts';
import { type ArchiveState, claimBackupDirectory, refuseNewLedger } from './ownership.ts';

export type ClaimedArchive = { readonly directory: BackupDirectory; readonly state: ArchiveState };

export type OpenArchive = {
  /** Makes the ledger the owner of the directory. Call it when the ledger exists, but before its server runs. */
  readonly claim: () => Promise<ClaimedArchive>;
};

/**
 * Checks BACKUP_DIR before any work for a ledger. Returns undefined if it is not set.
 *
 * @param dataDirectory the real path of the data directory.
 * @throws StartupProblem if the ledger cannot be backed up there.
 */
export async function openArchive(
  asked: string | null,
  dataDirectory: string,
  location: LedgerLocation,
  user: ServerUser,
): Promise<OpenArchive | undefined> {
  if (asked === null) return undefined;
  const directory = await openBackupDirectory(asked, [dataDirectory, location.dataDirectory], user);
  if (!location.exists) await refuseNewLedger(directory, dataDirectory);
  return {
    claim: async () => ({
      directory,
      state: await claimBackupDirectory(directory, dataDirectory, location.dataDirectory),
    }),
  };
}

export function archiveSettings({ wal }: BackupDirectory): Record<string, string> {
  return {
    archive_mode: 'on',
    // This library uses no shell, and flushes the file to disk before PostgreSQL may remove its own copy.
    archive_library: 'basic_archive',
    'basic_archive.archive_directory': wal,
    // Usually, the service itself ends WAL files more often. This setting applies when it cannot.
    archive_timeout: '60s',
  };
}

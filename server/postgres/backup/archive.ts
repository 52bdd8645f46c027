import { constants } from 'node:fs';
import { chown, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../foundation/startup-problem.ts';
import type { BackupDirectory } from './backup-directory.ts';
import { SEGMENT_BYTES } from './wal-files.ts';

/** If a temporary file of the archiver is older than this, its attempt has failed. */
const ABANDONED_MILLISECONDS = 120_000;

/** A new file is only written if it saves at least this much. */
const MIN_HOLE_BYTES = 1_048_576;

const TAIL_CHUNK_BYTES = 131_072;

export async function listArchive(wal: string): Promise<ReadonlySet<string>> {
  return new Set(await readdir(wal));
}

/** Removes files that failed attempts of the archiver left behind, for example on a full disk. */
export async function removeAbandoned(wal: string): Promise<void> {
  for (const name of await readdir(wal)) {
    if (!name.startsWith('archtemp.') && !name.startsWith('.')) continue;
    const path = join(wal, name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > ABANDONED_MILLISECONDS) await rm(path, { force: true });
  }
}

/**
 * Frees the disk space of the zeros at the end of a WAL file without changing its content. PostgreSQL begins a new file at least
 * once a minute. Every file has 16 MB, so a file that was ended early is mostly zeros.
 */
export async function punchHole({ wal, user }: BackupDirectory, name: string): Promise<void> {
  const path = join(wal, name);
  const temporary = join(wal, `.sparse-${name}`);
  // PostgreSQL's user owns the directory. If there is a link, it must not lead to files of the service's user.
  const source = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { size, mtime, atime } = await source.stat();
    if (size !== SEGMENT_BYTES) return;
    const end = await findEndOfContent(source, size);
    if (size - end < MIN_HOLE_BYTES) return;
    await rm(temporary, { force: true });
    const target = await open(temporary, 'wx', 0o600);
    try {
      const { buffer } = await source.read(Buffer.alloc(end), 0, end, 0);
      await target.writeFile(buffer);
      await target.truncate(size);
      await target.utimes(atime, mtime);
      await target.sync();
    } finally {
      await target.close();
    }
    if (user.differs) await chown(temporary, user.uid, user.gid);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    // Either the file was removed in the meantime, or the disk has no room for the new file. Both cases are harmless.
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOSPC') throw error;
  } finally {
    await source.close();
  }
}

async function findEndOfContent(source: Awaited<ReturnType<typeof open>>, size: number): Promise<number> {
  const zeros = Buffer.alloc(TAIL_CHUNK_BYTES);
  const buffer = Buffer.alloc(TAIL_CHUNK_BYTES);
  let end = size;
  while (end > 0) {
    const begin = Math.max(0, end - TAIL_CHUNK_BYTES);
    const { bytesRead } = await source.read(buffer, 0, end - begin, begin);
    if (buffer.subarray(0, bytesRead).compare(zeros, 0, bytesRead) !== 0) return end;
    end = begin;
  }
  return 0;
}

export function isArchived(wal: string, name: string): Promise<boolean> {
  return stat(join(wal, name)).then(
    () => true,
    () => false,
  );
}

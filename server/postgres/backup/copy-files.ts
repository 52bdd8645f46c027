import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, StartupProblem } from '../../foundation/startup-problem.ts';
import type { CopiedFile } from './manifest.ts';

/**
 * Number of bytes that are read and written at once. This is efficient for a disk, and blocks the process for only a millisecond.
 */
const CHUNK_BYTES = 1_048_576;

/** Files that PostgreSQL creates again when it starts, or that must not be copied. */
const LEFT_OUT = new Set([
  'postmaster.pid',
  'postmaster.opts',
  'backup_label',
  'backup_label.old',
  'tablespace_map',
  'tablespace_map.old',
  'backup_manifest',
  'current_logfiles',
]);
/** Directories that a server needs, but without their files. */
const LEFT_EMPTY = new Set([
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
]);
/** This file defines where the recovery begins, so it is copied last, and read until two readings agree. */
const CONTROL_FILE = 'global/pg_control';

/** Limits the number of bytes per second of a copy, and ends the copy when it is no longer wanted. */
export class Pace {
  readonly #bytesPerSecond: number;
  readonly #signal: AbortSignal | undefined;
  readonly #begun = performance.now();
  #bytes = 0;

  constructor(bytesPerSecond: number, signal?: AbortSignal) {
    this.#bytesPerSecond = bytesPerSecond;
    this.#signal = signal;
  }

  get bytes(): number {
    return this.#bytes;
  }

  async take(bytes: number): Promise<void> {
    this.#signal?.throwIfAborted();
    this.#bytes += bytes;
    const dueMilliseconds = (this.#bytes / this.#bytesPerSecond) * 1_000 - (performance.now() - this.#begun);
    if (dueMilliseconds > 5) await sleep(dueMilliseconds, undefined, this.#signal && { signal: this.#signal });
  }
}

/** The copied files and directories. Their paths are relative to the source and the target. */
export type CopiedFiles = { readonly directories: readonly string[]; readonly files: readonly CopiedFile[] };

/**
 * Copies the files of a running PostgreSQL between pg_backup_start and pg_backup_stop. During the copy, files may change, grow and
 * disappear, because the WAL contains the missing changes.
 */
export async function copyLedgerFiles(from: string, to: string, pace: Pace): Promise<CopiedFiles> {
  const directories: string[] = [];
  const files: CopiedFile[] = [];
  const visit = async (directory: string): Promise<void> => {
    for (const entry of await readdir(join(from, directory), { withFileTypes: true }).catch(ifVanished)) {
      const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
      if (isLeftOut(path, entry.name)) continue;
      const isLeftEmpty = LEFT_EMPTY.has(path);
      // The WAL may be on a separate disk, behind a link.
      if (entry.isDirectory() || (isLeftEmpty && entry.isSymbolicLink())) {
        directories.push(path);
        await mkdir(join(to, path), { mode: 0o700 });
        if (!isLeftEmpty) await visit(path);
      } else if (entry.isSymbolicLink()) {
        throw new StartupProblem(
          'backup-failed',
          `${join(from, path)} is a link, and a copy has only what is inside the directory of PostgreSQL. Move the files there.`,
        );
      } else if (entry.isFile() && path !== CONTROL_FILE) {
        const copied = await copyOne(join(from, path), join(to, path), pace);
        if (copied !== undefined) files.push([path, copied.bytes, copied.sha256]);
      }
    }
  };
  await visit('');
  for (const path of ['pg_wal/archive_status', 'pg_wal/summaries']) {
    directories.push(path);
    await mkdir(join(to, path), { mode: 0o700 });
  }
  files.push([
    CONTROL_FILE,
    ...(await writeFileWhole(join(to, CONTROL_FILE), await readTwice(join(from, CONTROL_FILE)))),
  ]);
  return { directories, files };
}

function isLeftOut(path: string, name: string): boolean {
  // These are temporary files of queries, caches that are created again, and temporary names of access rules.
  return (
    LEFT_OUT.has(path) || name.startsWith('pgsql_tmp') || name.startsWith('pg_internal.init') || name.endsWith('.new')
  );
}

function ifVanished(error: unknown): [] {
  if (codeOf(error) === 'ENOENT') return [];
  throw error;
}

/** Copies a file and flushes it to disk. Returns the checksum of the written bytes. Undefined if the file has disappeared. */
export async function copyOne(
  from: string,
  to: string,
  pace: Pace,
): Promise<{ readonly bytes: number; readonly sha256: string } | undefined> {
  let source: FileHandle;
  try {
    source = await open(from, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const target = await open(to, 'wx', 0o600);
    try {
      const sum = createHash('sha256');
      const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
      let bytes = 0;
      for (;;) {
        const { bytesRead } = await source.read(buffer, 0, CHUNK_BYTES, bytes);
        if (bytesRead === 0) break;
        const chunk = buffer.subarray(0, bytesRead);
        sum.update(chunk);
        await writeAll(target, chunk);
        bytes += bytesRead;
        await pace.take(bytesRead);
      }
      await target.sync();
      return { bytes, sha256: sum.digest('hex') };
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function writeAll(target: FileHandle, chunk: Buffer): Promise<void> {
  for (let written = 0; written < chunk.length; ) {
    written += (await target.write(chunk, written, chunk.length - written)).bytesWritten;
  }
}

/** Writes a small file and flushes it to disk. Returns its size and checksum. */
export async function writeFileWhole(path: string, content: Buffer): Promise<[bytes: number, sha256: string]> {
  const handle = await open(path, 'wx', 0o600);
  try {
    await writeAll(handle, content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return [content.length, createHash('sha256').update(content).digest('hex')];
}

async function readTwice(path: string): Promise<Buffer> {
  for (let content = await readFile(path); ; ) {
    const again = await readFile(path);
    if (again.equals(content)) return content;
    content = again;
  }
}

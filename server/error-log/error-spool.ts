import { constants, type FileHandle, mkdir, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  DataDirectoryInUse,
  type DataDirectoryLock,
  lockDataDirectory,
  makeDirectories,
} from '../embedded-postgres/data-directory.ts';

/** Some lines of a spool, and where the next ones begin; `torn` counts lines that a killed writer left unfinished. */
export type SpoolPart = { readonly values: readonly unknown[]; readonly torn: number; readonly next: number };

const FILE = 'error-spool.jsonl';

/** Bytes read at a time; a line has to be shorter, and the longest error is a third of it. */
const PART = 262_144;

const NEW_LINE = 0x0a;

/**
 * A file of JSON lines in which errors wait for the database. It is written at its end, read from its beginning, and
 * emptied when all of it was read. What is in it survives the process, however that ends, but is not forced to the
 * disk: a machine that loses power may lose the last seconds of it.
 *
 * Each process has a spool of its own in a numbered directory, locked by the kernel for as long as the process lives.
 * So a process that starts finds what a dead one has left, and never touches that of a living one.
 */
export class ErrorSpool {
  readonly directory: string;
  readonly #file: FileHandle;
  readonly #lock: DataDirectoryLock;
  readonly #most: number;
  #size: number;
  #read = 0;
  /** Whatever is done with the file is done one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(directory: string, file: FileHandle, lock: DataDirectoryLock, size: number, most: number) {
    this.directory = directory;
    this.#file = file;
    this.#lock = lock;
    this.#size = size;
    this.#most = most;
  }

  /**
   * Locks and opens the spool in a directory, which is made when it is missing. `most` bounds its bytes. Undefined when
   * another process has it. Rejects when the directory cannot be used.
   */
  static async open(directory: string, most: number): Promise<ErrorSpool | undefined> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const lock = await lockOrUndefined(directory);
    if (lock === undefined) return undefined;
    try {
      const file = await open(join(directory, FILE), constants.O_RDWR | constants.O_CREAT, 0o600);
      const { size } = await file.stat();
      return new ErrorSpool(directory, file, lock, await endLine(file, size), most);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /** Whether nothing waits. */
  get isEmpty(): boolean {
    return this.#read >= this.#size;
  }

  /**
   * Adds a line for each value, all or none; false when there is no room for them and `spare` more bytes. Rejects when
   * the disk does not take them.
   */
  append(values: readonly object[], spare = 0): Promise<boolean> {
    return this.#inTurn(async () => {
      const bytes = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
      if (this.#size + bytes.length + spare > this.#most) return false;
      try {
        await writeAll(this.#file, bytes, this.#size);
      } catch (error) {
        // A full disk takes the beginning of what it is given: that must not stay as half a line.
        await this.#file.truncate(this.#size).catch(() => undefined);
        throw error;
      }
      this.#size += bytes.length;
      return true;
    });
  }

  /** The next lines, as many as fit in memory comfortably; nothing is taken away until {@link advance}. */
  read(): Promise<SpoolPart> {
    return this.#inTurn(async () => {
      const length = Math.min(PART, this.#size - this.#read);
      const { buffer, bytesRead } = await this.#file.read(Buffer.alloc(length), 0, length, this.#read);
      const end = buffer.lastIndexOf(NEW_LINE, bytesRead - 1) + 1;
      // Not one whole line: the file was not written by us, and there is nothing to be had from this part of it.
      if (end === 0) return { values: [], torn: length === 0 ? 0 : 1, next: this.#read + length };
      const values: unknown[] = [];
      let torn = 0;
      for (const line of buffer.toString('utf8', 0, end - 1).split('\n')) {
        try {
          values.push(JSON.parse(line));
        } catch {
          torn += 1;
        }
      }
      return { values, torn, next: this.#read + end };
    });
  }

  /** Says that everything before `next` is in the database. The file is emptied when that is all there is. */
  advance(next: number): Promise<void> {
    return this.#inTurn(async () => {
      this.#read = next;
      if (this.#read < this.#size) return;
      await this.#file.truncate(0);
      this.#size = 0;
      this.#read = 0;
    });
  }

  /** Closes the file and gives the directory back. What waits in it stays for whoever comes next. */
  async close(): Promise<void> {
    await this.#inTurn(() => this.#file.close());
    this.#lock.release();
  }

  #inTurn<Result>(step: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(step);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

/**
 * Opens the first spool below a directory that no living process has: this process's own from here on. It may hold
 * what a dead process has left. Rejects when the directory cannot be used.
 */
export async function openOwnSpool(directory: string, most: number): Promise<ErrorSpool> {
  // The data directory may be made by this: PostgreSQL's user must be able to pass through it.
  await makeDirectories(directory, 0o711);
  for (let number = 1; ; number += 1) {
    const spool = await ErrorSpool.open(join(directory, String(number)), most);
    if (spool !== undefined) return spool;
  }
}

/** Opens the spools below a directory that have something in them and whose processes are dead. */
export async function openLeftSpools(directory: string, own: ErrorSpool, most: number): Promise<readonly ErrorSpool[]> {
  const opened: ErrorSpool[] = [];
  for (const name of (await readdir(directory)).sort()) {
    const path = join(directory, name);
    // Our own is never tried: closing any handle of a lock file would give our lock away.
    if (path === own.directory || !/^[0-9]+$/.test(name)) continue;
    const found = await stat(join(path, FILE)).catch(() => undefined);
    if (found === undefined || found.size === 0) continue;
    const spool = await ErrorSpool.open(path, most);
    if (spool !== undefined) opened.push(spool);
  }
  return opened;
}

async function lockOrUndefined(directory: string): Promise<DataDirectoryLock | undefined> {
  try {
    return await lockDataDirectory(directory, directory);
  } catch (error) {
    // Only "another process has it" leads on to the next number; a directory that cannot be written has no next.
    if (error instanceof DataDirectoryInUse) return undefined;
    throw error;
  }
}

/** Ends a line that a killed process has left unfinished, so that the next one does not run into it. Gives the size. */
async function endLine(file: FileHandle, size: number): Promise<number> {
  if (size === 0) return 0;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  if (buffer[0] === NEW_LINE) return size;
  await writeAll(file, Buffer.from('\n'), size);
  return size + 1;
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, position + written);
    written += bytesWritten;
  }
}

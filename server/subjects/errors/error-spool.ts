import { constants, type FileHandle, mkdir, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '../../../domain/parse-json.ts';
import {
  DataDirectoryInUse,
  type DataDirectoryLock,
  lockDataDirectory,
  makeDirectories,
} from '../../foundation/data-directory.ts';

/** Lines of a spool and the offset after them. `torn` is the number of lines that a killed process left incomplete. */
export type SpoolPart = { readonly values: readonly unknown[]; readonly torn: number; readonly next: number };

const FILE = 'error-spool.jsonl';

/** Maximum bytes per read. The longest error is a third of this, so every line fits. */
const MAX_READ_BYTES = 262_144;

const NEW_LINE = 0x0a;

/**
 * A file of JSON lines that stores errors while the database is unavailable. Lines are appended at the end and read from the
 * beginning. Once all are stored in the database, the file is truncated. The file survives a crash of the process. It is not synced
 * to disk, so a power failure can lose the last seconds.
 *
 * Each process has its own spool in a numbered directory, with a lock that the kernel releases when the process ends. So a new
 * process finds the spools of dead processes, and never touches the spool of a running one.
 */
export class ErrorSpool {
  readonly directory: string;
  readonly #file: FileHandle;
  readonly #lock: DataDirectoryLock;
  readonly #maxBytes: number;
  #size: number;
  #read = 0;
  /** The last operation on the file. Operations run one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(directory: string, file: FileHandle, lock: DataDirectoryLock, size: number, maxBytes: number) {
    this.directory = directory;
    this.#file = file;
    this.#lock = lock;
    this.#size = size;
    this.#maxBytes = maxBytes;
  }

  /**
   * Locks and opens the spool in a directory, and creates the directory if it is missing. Returns undefined if another
   * process has locked it. Rejects if the directory cannot be used.
   */
  static async open(directory: string, maxBytes: number): Promise<ErrorSpool | undefined> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const lock = await lockOrUndefined(directory);
    if (lock === undefined) return undefined;
    try {
      const file = await open(join(directory, FILE), constants.O_RDWR | constants.O_CREAT, 0o600);
      const { size } = await file.stat();
      return new ErrorSpool(directory, file, lock, await endLine(file, size), maxBytes);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  get bytes(): number {
    return this.#size;
  }

  get isEmpty(): boolean {
    return this.#read >= this.#size;
  }

  /**
   * Appends one line per value: all lines, or none. Returns false if the lines plus `spare` bytes do not fit. Rejects if the file
   * cannot be written.
   */
  append(values: readonly object[], spare = 0): Promise<boolean> {
    return this.#inTurn(async () => {
      const bytes = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
      if (this.#size + bytes.length + spare > this.#maxBytes) return false;
      try {
        await writeAll(this.#file, bytes, this.#size);
      } catch (error) {
        // A write to a full disk may have stored only part of the bytes. This removes incomplete lines.
        await this.#file.truncate(this.#size).catch(() => undefined);
        throw error;
      }
      this.#size += bytes.length;
      return true;
    });
  }

  /** Reads the next lines. They stay in the file until {@link advance} is called. */
  read(): Promise<SpoolPart> {
    return this.#inTurn(async () => {
      const length = Math.min(MAX_READ_BYTES, this.#size - this.#read);
      const { buffer, bytesRead } = await this.#file.read(Buffer.alloc(length), 0, length, this.#read);
      const end = buffer.lastIndexOf(NEW_LINE, bytesRead - 1) + 1;
      // If a part has no complete line, the service did not write it. It is skipped.
      if (end === 0) return { values: [], torn: length === 0 ? 0 : 1, next: this.#read + length };
      const values: unknown[] = [];
      let torn = 0;
      for (const line of buffer.toString('utf8', 0, end - 1).split('\n')) {
        try {
          values.push(parseJson(line));
        } catch {
          torn += 1;
        }
      }
      return { values, torn, next: this.#read + end };
    });
  }

  /** Marks everything before `next` as stored in the database. Truncates the file if nothing follows. */
  advance(next: number): Promise<void> {
    return this.#inTurn(async () => {
      this.#read = next;
      if (this.#read < this.#size) return;
      await this.#file.truncate(0);
      this.#size = 0;
      this.#read = 0;
    });
  }

  /** Closes the file and unlocks the directory. Unread lines remain for the next process. */
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
 * Opens a spool for this process: the first numbered directory that no other process has locked. It may contain errors of a dead
 * process. Rejects if the directory cannot be used.
 */
export async function openOwnSpool(directory: string, maxBytes: number): Promise<ErrorSpool> {
  // This may create the data directory, which PostgreSQL's user must be able to traverse.
  await makeDirectories(directory, 0o711);
  for (let number = 1; ; number += 1) {
    const spool = await ErrorSpool.open(join(directory, String(number)), maxBytes);
    if (spool !== undefined) return spool;
  }
}

/** Opens the non-empty spools of dead processes in a directory. */
export async function openAbandonedSpools(
  directory: string,
  own: ErrorSpool,
  maxBytes: number,
): Promise<readonly ErrorSpool[]> {
  const opened: ErrorSpool[] = [];
  for (const name of (await readdir(directory)).sort()) {
    const path = join(directory, name);
    // Never opens the spool of this process: closing any handle of its lock file would release the lock.
    if (path === own.directory || !/^[0-9]+$/.test(name)) continue;
    const found = await stat(join(path, FILE)).catch(() => undefined);
    if (found === undefined || found.size === 0) continue;
    const spool = await ErrorSpool.open(path, maxBytes);
    if (spool !== undefined) opened.push(spool);
  }
  return opened;
}

async function lockOrUndefined(directory: string): Promise<DataDirectoryLock | undefined> {
  try {
    return await lockDataDirectory(directory, directory);
  } catch (error) {
    // Tries the next number only if another process has locked this one. Other errors would also occur there.
    if (error instanceof DataDirectoryInUse) return undefined;
    throw error;
  }
}

/** Terminates a line that a killed process left incomplete. Returns the new size. */
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

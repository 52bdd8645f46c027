import { mkdirSync, readFileSync, truncateSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OrderKey, Status } from './order.ts';

/** One line of the book. Facts are in the order in which they happened. `at` is a time in UTC. */
export type Fact = { readonly at: string; readonly attempt_id: string } & (
  | ({
      readonly fact: 'received';
      readonly call: 'send' | 'reverse';
      readonly behavior: string | null;
      /** The time of execution, for an order that is executed later. */
      readonly due_at: string | null;
      readonly not_after: string | null;
    } & OrderKey)
  /** The money has moved. The amount is smaller than the order's amount if it was executed in part. */
  | { readonly fact: 'executed'; readonly amount: number; readonly processor_reference: string }
  | { readonly fact: 'declined'; readonly code: string; readonly retry_after_seconds: number | null }
  /** No money has moved or ever will, because the time for the order had passed. */
  | { readonly fact: 'not_executed' }
  /** The moved money has moved back. If the order had not been executed, it never will be. */
  | { readonly fact: 'reversed' }
  /** `status` is null if the behavior requires no answer, or an unreadable one. */
  | { readonly fact: 'answered'; readonly call: string; readonly status: Status | null }
  | { readonly fact: 'notice_sent'; readonly notice_id: string }
);

export type NewFact = Fact extends infer Each ? (Each extends Fact ? Omit<Each, 'at'> : never) : never;

const FILE = 'book.jsonl';
/**
 * The maximum wait for the lock. The simulator of a killed service ends only when its input ends, which takes seconds
 * on a busy machine.
 */
const LOCK_WAIT_MILLISECONDS = 30_000;

/**
 * Returns the facts in a directory, or none if there is no book. Leaves out a last line that was cut off by a kill,
 * because its call was never answered.
 */
export function readBook(directory: string): readonly Fact[] {
  const lines = textOf(directory).split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Fact);
}

function textOf(directory: string): string {
  try {
    return readFileSync(join(directory, FILE), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

/**
 * The book of a simulator: a file that only grows. When `write` resolves, the facts are on disk. Facts that arrive during a
 * write to disk share the next write.
 */
export class Book {
  readonly #file: FileHandle;
  /** Held until the process ends, so that only one simulator writes to a book. */
  readonly #lock: DatabaseSync;
  #waiting: string[] = [];
  #next: Promise<void> | undefined;

  private constructor(file: FileHandle, lock: DatabaseSync) {
    this.#file = file;
    this.#lock = lock;
  }

  /** Opens the book of a directory, with its facts. Rejects if another process has it open. */
  static async open(directory: string): Promise<{ readonly book: Book; readonly facts: readonly Fact[] }> {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const lock = await lockDirectory(directory);
    const text = textOf(directory);
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    const file = await open(join(directory, FILE), 'a', 0o600);
    if (whole !== text) truncateSync(join(directory, FILE), Buffer.byteLength(whole));
    return { book: new Book(file, lock), facts: readBook(directory) };
  }

  /** Adds facts. Resolves when they are on disk, in the order of the calls. */
  write(...facts: readonly NewFact[]): Promise<void> {
    const at = new Date().toISOString();
    this.#waiting.push(...facts.map((fact) => `${JSON.stringify({ at, ...fact })}\n`));
    this.#next ??= this.#flushNext();
    return this.#next;
  }

  async close(): Promise<void> {
    await this.#next;
    await this.#current;
    await this.#file.close();
    this.#lock.close();
  }

  #current: Promise<void> = Promise.resolve();

  async #flushNext(): Promise<void> {
    await this.#current;
    const lines = this.#waiting.join('');
    this.#waiting = [];
    this.#next = undefined;
    this.#current = this.#file.appendFile(lines).then(() => this.#file.datasync());
    await this.#current;
  }
}

/** Takes a file lock through SQLite, because Node has no call for one. The kernel releases it when the process ends. */
async function lockDirectory(directory: string): Promise<DatabaseSync> {
  const deadline = performance.now() + LOCK_WAIT_MILLISECONDS;
  for (;;) {
    const lock = new DatabaseSync(join(directory, 'lock'), { timeout: 0 });
    try {
      lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
      return lock;
    } catch (error) {
      lock.close();
      if (performance.now() > deadline) throw new Error(`Another simulator uses ${directory}.`, { cause: error });
    }
    await sleep(20);
  }
}

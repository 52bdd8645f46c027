import { mkdirSync, readFileSync, truncateSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OrderKey, Status } from './order.ts';

/** One line of the book: what happened, in the order in which it happened. `at` is a time in UTC. */
export type Fact = { readonly at: string; readonly attempt_id: string } & (
  | ({
      readonly fact: 'received';
      readonly call: 'send' | 'reverse';
      readonly behavior: string | null;
      /** When it is to be executed, for an order that is executed later. */
      readonly due_at: string | null;
      readonly not_after: string | null;
    } & OrderKey)
  /** The money has moved. The amount is smaller than that of the order if it was executed in part. */
  | { readonly fact: 'executed'; readonly amount: number; readonly processor_reference: string }
  | { readonly fact: 'declined'; readonly code: string; readonly retry_after_seconds: number | null }
  /** Nothing has moved, and never will: its time was over. */
  | { readonly fact: 'not_executed' }
  /** What had moved has moved back; an order that was not executed never will be. */
  | { readonly fact: 'reversed' }
  /** `status` is null where the behavior is to give no answer, or none that can be read. */
  | { readonly fact: 'answered'; readonly call: string; readonly status: Status | null }
  | { readonly fact: 'notice_sent'; readonly notice_id: string }
);

/** A fact before it has its time. */
export type NewFact = Fact extends infer Each ? (Each extends Fact ? Omit<Each, 'at'> : never) : never;

const FILE = 'book.jsonl';
/** The simulator of a service that was killed ends as soon as it notices; on a busy machine that takes seconds. */
const LOCK_WAIT_MILLISECONDS = 30_000;

/** The facts in a directory; none if there is no book. A line that a kill cut off was never answered, and is left out. */
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
 * The book of a simulator: a file to which lines are only added. What it has written is on disk when `write` resolves; facts that
 * arrive while one is being written to disk share the next write.
 */
export class Book {
  readonly #file: FileHandle;
  /** Held until the process ends: one simulator writes to a book. */
  readonly #lock: DatabaseSync;
  #waiting: string[] = [];
  #next: Promise<void> | undefined;

  private constructor(file: FileHandle, lock: DatabaseSync) {
    this.#file = file;
    this.#lock = lock;
  }

  /** Opens the book of a directory, with the facts in it. Rejects if another process keeps it. */
  static async open(directory: string): Promise<{ readonly book: Book; readonly facts: readonly Fact[] }> {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const lock = await lockDirectory(directory);
    const text = textOf(directory);
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    const file = await open(join(directory, FILE), 'a', 0o600);
    if (whole !== text) truncateSync(join(directory, FILE), Buffer.byteLength(whole));
    return { book: new Book(file, lock), facts: readBook(directory) };
  }

  /** Adds facts; resolves when they are on disk, in the order of the calls. */
  write(...facts: readonly NewFact[]): Promise<void> {
    const at = new Date().toISOString();
    this.#waiting.push(...facts.map((fact) => `${JSON.stringify({ at, ...fact })}\n`));
    this.#next ??= this.#flushNext();
    return this.#next;
  }

  /** Ends all writing. */
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

/** A lock of the kernel, taken through SQLite because Node has no call for one: it ends with its process. */
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

import { databaseTime, newId } from '../ids.ts';
import type { Database, Statement } from '../store/connection/database.ts';
import { StoreFailure } from '../store/connection/failure.ts';
import { type Drop, type DropReason, insertDrops, insertErrors, type LoggedError } from '../store/error.ts';
import { currentCode } from '../store/renamed-codes.ts';
import { type ErrorSpool, openLeftSpools, openOwnSpool } from './error-spool.ts';

/** Bytes that a spool keeps free of errors, so that what was dropped can still be written down. */
const SPARE = 4_096;

/** Waits between two parts of a spool, in proportion to what the last one took; false says that it is time to end. */
export type Rest = (milliseconds: number) => Promise<boolean>;

/** Where the errors of this process are kept, and what stands in the way. */
export type KeeperOptions = {
  readonly database: Database;
  /** The directory of the spools of all processes; made when it is missing. */
  readonly spoolDirectory: string;
  /** Bytes of one spool at most. */
  readonly spoolMost: number;
  /** Told, in a sentence, when the database or the spool stops or starts taking errors. */
  readonly onTrouble: (sentence: string, cause?: unknown) => void;
};

/**
 * Keeps errors: in the database, or, while that does not take them, in a spool on this machine, from which they are
 * loaded when it does. A statement that may or may not have happened is simply sent again: the database takes each
 * error, and each count of dropped ones, once.
 *
 * All of it goes through one connection at a time, whatever there is to do: transfers need the others.
 */
export class ErrorKeeper {
  readonly #options: KeeperOptions;
  readonly #spool: ErrorSpool | undefined;
  readonly #drops = new Map<DropReason, Drop>();
  /** Drops on their way, which may have arrived. */
  #sending: readonly Drop[] = [];
  #isDown = false;
  #isSpoolBroken = false;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(options: KeeperOptions, spool: ErrorSpool | undefined) {
    this.#options = options;
    this.#spool = spool;
  }

  /** Opens the keeper. Without a directory that can be written it does without a spool, and says so. */
  static async open(options: KeeperOptions): Promise<ErrorKeeper> {
    try {
      return new ErrorKeeper(options, await openOwnSpool(options.spoolDirectory, options.spoolMost));
    } catch (error) {
      options.onTrouble(`errors cannot be spooled in ${options.spoolDirectory} while the database is away`, error);
      return new ErrorKeeper(options, undefined);
    }
  }

  /** Whether there is something to load: from the spool, or counts of what was dropped. */
  get hasWaiting(): boolean {
    return this.#spool?.isEmpty === false || this.#drops.size > 0 || this.#sending.length > 0;
  }

  /**
   * Keeps errors somewhere; false when nothing takes them now. `crowded` says that more are waiting than the database
   * takes in time: then the spool is the better place.
   */
  async keep(errors: readonly LoggedError[], crowded: boolean): Promise<boolean> {
    if (this.#isDown || crowded) return (await this.#write(errors)) || this.#store(errors);
    return (await this.#store(errors)) || this.#write(errors);
  }

  /** Counts errors that were answered and cannot be kept; the count itself is kept when that is possible. */
  drop(reason: DropReason, count: number, now = databaseTime()): void {
    const before = this.#drops.get(reason);
    this.#drops.set(reason, {
      dropId: before?.dropId ?? newId(),
      reason,
      count: count + (before?.count ?? 0),
      since: before?.since ?? now,
      until: now,
    });
  }

  /** Loads what waits, as far as the database takes it. */
  async load(rest: Rest): Promise<void> {
    if (!(await this.#storeDrops())) return;
    if (this.#spool !== undefined) await this.#empty(this.#spool, rest);
    await this.#storeDrops();
  }

  /** Loads the spools that dead processes have left. */
  async adopt(rest: Rest): Promise<void> {
    const { spoolDirectory, spoolMost } = this.#options;
    if (this.#spool === undefined || this.#isDown) return;
    for (const spool of await openLeftSpools(spoolDirectory, this.#spool, spoolMost)) {
      try {
        await this.#empty(spool, rest);
      } finally {
        await spool.close();
      }
    }
  }

  /** Writes down what was dropped and closes the spool. Gives the number of dropped errors that nothing has taken. */
  async close(): Promise<number> {
    const lost = (): number => [...this.#sending, ...this.#drops.values()].reduce((sum, { count }) => sum + count, 0);
    const isStored = !this.#isDown && (await this.#storeDrops());
    const drops = [...this.#sending, ...this.#drops.values()].map((drop) => ({ drop }));
    const isWritten = isStored || drops.length === 0 || (await this.#append(drops, 0));
    await this.#spool?.close().catch(() => undefined);
    return isWritten ? 0 : lost();
  }

  async #empty(spool: ErrorSpool, rest: Rest): Promise<void> {
    while (!spool.isEmpty) {
      const started = performance.now();
      const { values, torn, next } = await spool.read();
      const lines = values.map(readLine);
      const errors = lines.flatMap((line) => line?.error ?? []);
      const drops = lines.flatMap((line) => line?.drop ?? []);
      if (!(await this.#store(errors))) return;
      const counted = await this.#storeReadDrops(drops);
      if (counted === undefined) return;
      const unreadable = torn + lines.filter((line) => line === undefined).length + counted;
      if (unreadable > 0) this.drop('spool_torn', unreadable);
      await spool.advance(next);
      if (!(await rest(performance.now() - started))) return;
    }
  }

  /** Stores drops that were read from a spool. Gives the number of lines that were none; undefined for "not now". */
  async #storeReadDrops(drops: readonly Drop[]): Promise<number | undefined> {
    if (drops.length === 0) return 0;
    try {
      return (await this.#run(insertDrops(drops))) ? 0 : undefined;
    } catch {
      return drops.length;
    }
  }

  async #storeDrops(): Promise<boolean> {
    if (this.#sending.length === 0) {
      this.#sending = [...this.#drops.values()];
      this.#drops.clear();
    }
    if (this.#sending.length === 0) return true;
    if (!(await this.#run(insertDrops(this.#sending)))) return false;
    this.#sending = [];
    return true;
  }

  /** Stores errors in the database. One that it refuses for its own sake is dropped, and its neighbours are stored. */
  async #store(errors: readonly LoggedError[]): Promise<boolean> {
    if (errors.length === 0) return true;
    try {
      return await this.#run(insertErrors(errors));
    } catch (error) {
      if (errors.length === 1) {
        this.drop('row_refused', 1);
        this.#options.onTrouble(`the database refuses the error of request ${errors[0]?.requestId}`, error);
        return true;
      }
      const middle = Math.ceil(errors.length / 2);
      return (await this.#store(errors.slice(0, middle))) && this.#store(errors.slice(middle));
    }
  }

  /** True when the database has taken a statement, false when it takes none now; rejects when a row is at fault. */
  async #run(statement: Statement): Promise<boolean> {
    const turn = this.#turn.then(() => this.#options.database.read(statement));
    this.#turn = turn.catch(() => undefined);
    try {
      await turn;
      if (this.#isDown) this.#options.onTrouble('the database takes errors again');
      this.#isDown = false;
      return true;
    } catch (error) {
      if (!(error instanceof StoreFailure) || (error.rowAtFault && !error.lockTimeout)) throw error;
      // Somebody else's lock or a slow moment is no reason to give the database up.
      const isPassing = error.sqlState !== undefined && !error.connectionLost;
      if (!this.#isDown && !isPassing)
        this.#options.onTrouble('the database does not take errors: they are spooled', error);
      this.#isDown ||= !isPassing;
      return false;
    }
  }

  #write(errors: readonly LoggedError[]): Promise<boolean> {
    return this.#append(
      errors.map((error) => ({ error })),
      SPARE,
    );
  }

  async #append(lines: readonly object[], spare: number): Promise<boolean> {
    try {
      const isWritten = (await this.#spool?.append(lines, spare)) ?? false;
      this.#isSpoolBroken = false;
      return isWritten;
    } catch (error) {
      if (!this.#isSpoolBroken) this.#options.onTrouble('the spool of errors cannot be written', error);
      this.#isSpoolBroken = true;
      return false;
    }
  }
}

type Line = { readonly error?: LoggedError; readonly drop?: Drop };

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A line as it was written; undefined for anything else that is JSON. */
function readLine(value: unknown): Line | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { error, drop } = value as { readonly error?: Partial<LoggedError>; readonly drop?: Partial<Drop> };
  const isTimed = drop === undefined || (Number.isFinite(drop.since) && Number.isFinite(drop.until));
  if (!isTimed || !ID.test(String(error?.requestId ?? drop?.dropId))) return undefined;
  const line = value as Line;
  return line.error === undefined ? line : { error: { ...line.error, code: currentCode(line.error.code) } };
}

import type { RecordedErrors } from '../../../contract/events/errors.ts';
import type { DomainEvent } from '../../../domain/event.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { readRows } from '../../calls/read-rows.ts';
import { toErrorRecord } from '../../calls/records/error.ts';
import { transact } from '../../commit/transaction.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import { newId } from '../../foundation/ids.ts';
import type { Database, Statement } from '../../store/connection/database.ts';
import { StoreFailure } from '../../store/connection/failure.ts';
import {
  type Drop,
  type DropReason,
  type ErrorReport,
  insertDrops,
  insertErrors,
  type LoggedError,
  lockDueErrors,
  markErrorsReported,
  READ_WHETHER_ERRORS_ARE_DUE,
  REPORTED_TYPES,
  toErrorReports,
} from '../../store/error.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { type ErrorSpool, openAbandonedSpools, openOwnSpool } from './error-spool.ts';

/** Number of bytes in a spool that are reserved for the counts of dropped errors. */
const RESERVED_BYTES = 4_096;

/** Pauses between two reads of a spool, given the duration of the last one. Resolves to false when it is time to stop. */
export type Pause = (milliseconds: number) => Promise<boolean>;

export type ErrorStorageOptions = {
  readonly database: Database;
  /** The directory of all processes' spools. It is created if it is missing. */
  readonly spoolDirectory: string;
  /** Maximum size of one spool. */
  readonly maxSpoolBytes: number;
  /** Called with a sentence when storing errors begins to fail, and when it works again. */
  readonly onProblem: (sentence: string, cause?: unknown) => void;
  /** Called after errors that cause events were stored. */
  readonly onReportable?: () => void;
};

/**
 * Stores errors in the database. While the database is unavailable, it stores them in a spool on this machine, and loads
 * them into the database later. A statement with an unknown outcome is sent again, because the database stores each error,
 * and each count of dropped errors, only once.
 *
 * It uses one connection at a time, because the others are for transfers.
 */
export class ErrorStorage {
  readonly #options: ErrorStorageOptions;
  readonly #spool: ErrorSpool | undefined;
  readonly #drops = new Map<DropReason, Drop>();
  /** The errors that this process has dropped, whether or not the counts are stored. */
  readonly #dropped = new Map<DropReason, number>();
  /** Counts of drops that are being stored, or whose statement has an unknown outcome. */
  #sending: readonly Drop[] = [];
  #isDown = false;
  #isSpoolBroken = false;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(options: ErrorStorageOptions, spool: ErrorSpool | undefined) {
    this.#options = options;
    this.#spool = spool;
  }

  /** Opens the storage. If the spool directory cannot be used, reports that and works without a spool. */
  static async open(options: ErrorStorageOptions): Promise<ErrorStorage> {
    try {
      return new ErrorStorage(options, await openOwnSpool(options.spoolDirectory, options.maxSpoolBytes));
    } catch (error) {
      options.onProblem(`cannot spool errors in ${options.spoolDirectory} while the database is unavailable`, error);
      return new ErrorStorage(options, undefined);
    }
  }

  get dropped(): ReadonlyMap<DropReason, number> {
    return this.#dropped;
  }

  get spoolBytes(): number {
    return this.#spool?.bytes ?? 0;
  }

  get hasPending(): boolean {
    return this.#spool?.isEmpty === false || this.#drops.size > 0 || this.#sending.length > 0;
  }

  /**
   * Stores errors in the database or the spool. Returns false if both are unavailable. `isCrowded` means that more errors wait than
   * the database can store in time. Then the spool is tried first.
   */
  async keep(errors: readonly LoggedError[], isCrowded: boolean): Promise<boolean> {
    if (this.#isDown || isCrowded) return (await this.#write(errors)) || this.#store(errors);
    return (await this.#store(errors)) || this.#write(errors);
  }

  /** Counts errors that cannot be stored. The count is stored as soon as the database is available. */
  drop(reason: DropReason, count: number, now = databaseTime()): void {
    this.#dropped.set(reason, count + (this.#dropped.get(reason) ?? 0));
    const before = this.#drops.get(reason);
    this.#drops.set(reason, {
      dropId: before?.dropId ?? newId(),
      reason,
      count: count + (before?.count ?? 0),
      since: before?.since ?? now,
      until: now,
    });
  }

  /** Loads pending errors and counts into the database, while it is available. */
  async load(pause: Pause): Promise<void> {
    if (!(await this.#storeDrops())) return;
    if (this.#spool !== undefined) await this.#empty(this.#spool, pause);
    await this.#storeDrops();
  }

  /** Loads the spools of dead processes into the database. */
  async loadAbandoned(pause: Pause): Promise<void> {
    const { spoolDirectory, maxSpoolBytes } = this.#options;
    if (this.#spool === undefined || this.#isDown) return;
    for (const spool of await openAbandonedSpools(spoolDirectory, this.#spool, maxSpoolBytes)) {
      try {
        await this.#empty(spool, pause);
      } finally {
        await spool.close();
      }
    }
  }

  /** Stores the counts of dropped errors and closes. Returns the number of errors that are not in any stored count. */
  async close(): Promise<number> {
    const lost = (): number => [...this.#sending, ...this.#drops.values()].reduce((sum, { count }) => sum + count, 0);
    const isStored = !this.#isDown && (await this.#storeDrops());
    const drops = [...this.#sending, ...this.#drops.values()].map((drop) => ({ drop }));
    const isWritten = isStored || drops.length === 0 || (await this.#append(drops, 0));
    await this.#spool?.close().catch(() => undefined);
    return isWritten ? 0 : lost();
  }

  async #empty(spool: ErrorSpool, pause: Pause): Promise<void> {
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
      if (!(await pause(performance.now() - started))) return;
    }
  }

  /** Stores drops read from a spool. Returns the number of invalid ones, or undefined while the database is unavailable. */
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

  /** Stores errors in the database. Drops an error that the database refuses, and stores the others of the batch. */
  async #store(errors: readonly LoggedError[]): Promise<boolean> {
    if (errors.length === 0) return true;
    try {
      const isStored = await this.#run(insertErrors(errors));
      if (isStored && errors.some(({ type }) => REPORTED_TYPES.includes(type))) this.#options.onReportable?.();
      return isStored;
    } catch (error) {
      if (errors.length === 1) {
        this.drop('row_refused', 1);
        this.#options.onProblem(`the database refused the error of request ${errors[0]?.requestId}`, error);
        return true;
      }
      const middle = Math.ceil(errors.length / 2);
      return (await this.#store(errors.slice(0, middle))) && this.#store(errors.slice(middle));
    }
  }

  /** Runs a statement. Returns false if the database is unavailable. Rejects if a row is invalid. */
  async #run(statement: Statement): Promise<boolean> {
    const turn = this.#turn.then(() => this.#options.database.writeUnguarded(statement));
    this.#turn = turn.catch(() => undefined);
    try {
      await turn;
      if (this.#isDown) this.#options.onProblem('errors are stored in the database again');
      this.#isDown = false;
      return true;
    } catch (error) {
      if (!(error instanceof StoreFailure) || (error.rowAtFault && !error.lockTimeout)) throw error;
      // If the database responds, for example with a lock timeout, it does not count as unavailable.
      const isPassing = error.sqlState !== undefined && !error.connectionLost;
      if (!this.#isDown && !isPassing)
        this.#options.onProblem('the database is unavailable for errors: they are spooled', error);
      this.#isDown ||= !isPassing;
      return false;
    }
  }

  #write(errors: readonly LoggedError[]): Promise<boolean> {
    return this.#append(
      errors.map((error) => ({ error })),
      RESERVED_BYTES,
    );
  }

  async #append(lines: readonly object[], spare: number): Promise<boolean> {
    try {
      const isWritten = (await this.#spool?.append(lines, spare)) ?? false;
      this.#isSpoolBroken = false;
      return isWritten;
    } catch (error) {
      if (!this.#isSpoolBroken) this.#options.onProblem('cannot write the error spool', error);
      this.#isSpoolBroken = true;
      return false;
    }
  }
}

type Line = { readonly error?: LoggedError; readonly drop?: Drop };

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Returns a line that this service wrote, or undefined for other JSON. */
function readLine(value: unknown): Line | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { error, drop } = value as { readonly error?: Partial<LoggedError>; readonly drop?: Partial<Drop> };
  const isTimed = drop === undefined || (Number.isFinite(drop.since) && Number.isFinite(drop.until));
  if (!isTimed || !ID.test(String(error?.requestId ?? drop?.dropId))) return undefined;
  return value as Line;
}

const MAX_REPORTS = 100;

const TIMEOUT_MILLISECONDS = 5_000;

/**
 * Writes the events error.recorded that are due. The statement that stores errors only counts them. This separate transaction
 * writes the events, so that a failure to write an event never prevents storing the error. Several processes can do this at once,
 * because only one of them writes each event.
 */
export async function reportErrors(database: Database): Promise<void> {
  const [row] = await readRows(database, READ_WHETHER_ERRORS_ARE_DUE);
  if (row?.due !== true) return;
  let reported = MAX_REPORTS;
  while (reported === MAX_REPORTS) {
    const deadline = performance.now() + TIMEOUT_MILLISECONDS;
    reported = await transact(database, deadline, { due: lockDueErrors(MAX_REPORTS) }, ({ due }, batchId) => {
      const { now, reports } = toErrorReports(due);
      const writes =
        reports.length === 0 ? [] : [insertEvents(batchId, reports.map(toEvent), now), markErrorsReported(reports)];
      return { result: reports.length, writes, readsOnly: reports.length === 0 };
    });
  }
}

function toEvent({ programId, count, since, requestId, ...error }: ErrorReport): DomainEvent {
  const record: RecordedErrors = {
    error: toErrorRecord(error),
    request_id: toWireId('req', requestId),
    count,
    since: new Date(since).toISOString(),
  };
  return { type: 'error.recorded', programId, subjectId: record.request_id, payload: JSON.stringify(record) };
}

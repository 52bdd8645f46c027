import type { DropReason } from '../../store/error.ts';
import { ErrorStorage, type ErrorStorageOptions } from './error-storage.ts';
import { type ReportedError, redactedEntryOf } from './redacted-entry.ts';

/** Limits and intervals of the recorder. Tests set smaller values. */
export type RecorderSettings = UnauthenticatedSettings & {
  /** Maximum number of errors in memory: about a second of a mass failure. */
  readonly maxQueuedErrors: number;
  /** Maximum memory of these errors. */
  readonly maxQueuedBytes: number;
  /** Number of errors per statement. */
  readonly batchSize: number;
  /** If more errors than this are queued, they go to the spool instead of the database. */
  readonly spoolFirstAbove: number;
  /** How long the first error of a batch waits for others. */
  readonly gatherMilliseconds: number;
  readonly loadIntervalMilliseconds: number;
  /** How often the recorder looks for spools of dead processes. */
  readonly adoptIntervalMilliseconds: number;
  /**
   * The pause after a statement, as a multiple of its duration. With 4, the recorder uses one connection for a fifth of the
   * time. That is enough for a few thousand errors a second.
   */
  readonly pauseFactor: number;
  /** Errors per second that are stored with their stacks. Formatting a stack costs as much as the rest of an error. */
  readonly maxStacksPerSecond: number;
};

export const RECORDER_SETTINGS: RecorderSettings = {
  maxQueuedErrors: 10_000,
  maxQueuedBytes: 16_777_216,
  batchSize: 250,
  spoolFirstAbove: 2_000,
  gatherMilliseconds: 50,
  loadIntervalMilliseconds: 250,
  adoptIntervalMilliseconds: 60_000,
  pauseFactor: 4,
  maxStacksPerSecond: 200,
  // At about 700 bytes per error, this stores at most 70 MB at once and 180 MB per day.
  maxUnauthenticatedBurst: 100_000,
  unauthenticatedPerSecond: 3,
  maxUnauthenticatedPerAddressMinute: 1_000,
};

/** Maximum size of the error spool on this machine while the database is unavailable: about fifty thousand errors. */
export const MAX_ERROR_SPOOL_BYTES = 67_108_864;

/** If stopping takes longer than this, the recorder writes to the spool instead of the database. */
const STOP_TIMEOUT_MILLISECONDS = 1_000;

/** A recorded error without card numbers and keys, which is safe to log. */
export type RecordedError = ReturnType<typeof redactedEntryOf>['error'];

/** The number of errors waiting to be stored, and the number of errors dropped since the process started. */
export type RecorderFigures = {
  readonly queued: number;
  readonly spoolBytes: number;
  readonly dropped: ReadonlyMap<DropReason, number>;
};

export type ErrorRecorder = {
  /**
   * Queues a report. Takes a few microseconds and never throws. Returns undefined for an unauthenticated error above the budget,
   * which must not be logged either.
   */
  readonly record: (report: ReportedError) => RecordedError | undefined;
  readonly figures: () => RecorderFigures;
  /** Stores queued errors in the database or the spool, and stops. Takes a few seconds at most. */
  readonly stop: () => Promise<void>;
};

/**
 * Starts the recorder. Reports wait in a bounded queue. They are stored in batches, one statement at a time, with pauses between
 * statements. So even a mass failure takes only a limited share of the database's time. If the queue is full, errors are dropped
 * and counted. Unauthenticated errors above their budget are also dropped and counted.
 */
export async function startErrorRecorder(
  options: ErrorStorageOptions,
  settings: RecorderSettings = RECORDER_SETTINGS,
): Promise<ErrorRecorder> {
  const recorder = new Recorder(await ErrorStorage.open(options), settings, options.onProblem);
  recorder.start();
  return {
    record: (report) => recorder.record(report),
    figures: () => recorder.figures(),
    stop: () => recorder.stop(),
  };
}

class Recorder {
  readonly #storage: ErrorStorage;
  readonly #settings: RecorderSettings;
  readonly #onProblem: ErrorStorageOptions['onProblem'];
  #queue: { readonly error: RecordedError; readonly bytes: number }[] = [];
  #bytes = 0;
  #isStopping = false;
  #loops: readonly Promise<void>[] = [];
  /** Functions that end the pauses of the loops when the recorder stops. */
  #wakers = new Set<() => void>();
  #onFirst: (() => void) | undefined = undefined;
  #second = 0;
  #stacks = 0;
  readonly #unauthenticated: UnauthenticatedBudget;

  constructor(storage: ErrorStorage, settings: RecorderSettings, onProblem: ErrorStorageOptions['onProblem']) {
    this.#storage = storage;
    this.#settings = settings;
    this.#onProblem = onProblem;
    this.#unauthenticated = new UnauthenticatedBudget(settings);
  }

  start(): void {
    this.#loops = [this.#storeInTurn(), this.#loadInTurn()];
  }

  figures(): RecorderFigures {
    const { spoolBytes, dropped } = this.#storage;
    return { queued: this.#queue.length, spoolBytes, dropped };
  }

  record(report: ReportedError): RecordedError | undefined {
    const isUnauthenticated = report.programId === undefined && report.caller === undefined;
    if (isUnauthenticated && !this.#unauthenticated.take(report.address, performance.now())) {
      this.#storage.drop('unauthenticated', 1);
      return undefined;
    }
    const { error, bytes } = redactedEntryOf(report, report.cause !== undefined && this.#shouldFormatStack());
    if (this.#queue.length >= this.#settings.maxQueuedErrors || this.#bytes + bytes > this.#settings.maxQueuedBytes) {
      this.#storage.drop('queue_full', 1);
      return error;
    }
    this.#bytes += bytes;
    this.#queue.push({ error, bytes });
    if (this.#queue.length === 1) this.#onFirst?.();
    return error;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const wake of this.#wakers) wake();
    this.#onFirst?.();
    await Promise.all(this.#loops);
    const deadline = performance.now() + STOP_TIMEOUT_MILLISECONDS;
    while (this.#queue.length > 0) {
      const batch = this.#take();
      // When the database is slow, the spool keeps the shutdown short.
      const isKept = await this.#storage.keep(batch, performance.now() > deadline);
      if (!isKept) this.#storage.drop('spool_full', batch.length + this.#takeAll());
    }
    const lost = await this.#storage.close();
    if (lost > 0) this.#onProblem(`${lost} errors were dropped, and the count could not be stored`);
  }

  async #storeInTurn(): Promise<void> {
    while (!this.#isStopping) {
      if (this.#queue.length === 0) await this.#firstError();
      if (this.#queue.length < this.#settings.batchSize) await this.#sleep(this.#settings.gatherMilliseconds);
      if (this.#isStopping) return;
      const isCrowded = this.#queue.length > this.#settings.spoolFirstAbove;
      const started = performance.now();
      const batch = this.#take();
      while (batch.length > 0 && !(await this.#keep(batch, isCrowded))) {
        // Both the database and the spool are unavailable. The batch stays at the front while the queue fills up.
        if (this.#isStopping) {
          this.#queue.unshift(...batch.map((error) => ({ error, bytes: 0 })));
          return;
        }
        await this.#sleep(this.#settings.loadIntervalMilliseconds);
      }
      await this.#pause(performance.now() - started);
    }
  }

  /** Loads the spools into the database, one after the other, until the recorder stops. */
  async #loadInTurn(): Promise<void> {
    const pause = async (milliseconds: number): Promise<boolean> => {
      await this.#pause(milliseconds);
      return !this.#isStopping;
    };
    let adoptAt = performance.now();
    while (!this.#isStopping) {
      try {
        if (this.#storage.hasPending) await this.#storage.load(pause);
        if (performance.now() >= adoptAt) {
          adoptAt = performance.now() + this.#settings.adoptIntervalMilliseconds;
          await this.#storage.loadAbandoned(pause);
        }
      } catch (error) {
        this.#onProblem('cannot load an error spool', error);
      }
      await this.#sleep(this.#settings.loadIntervalMilliseconds);
    }
  }

  async #keep(batch: readonly RecordedError[], isCrowded: boolean): Promise<boolean> {
    try {
      return await this.#storage.keep(batch, isCrowded);
    } catch (error) {
      this.#onProblem('cannot store errors', error);
      return false;
    }
  }

  #take(): readonly RecordedError[] {
    const taken = this.#queue.splice(0, this.#settings.batchSize);
    for (const { bytes } of taken) this.#bytes -= bytes;
    return taken.map(({ error }) => error);
  }

  #takeAll(): number {
    const count = this.#queue.length;
    this.#queue = [];
    this.#bytes = 0;
    return count;
  }

  /** Limits the number of stacks per second, because the stacks of a mass failure are all alike. */
  #shouldFormatStack(): boolean {
    const second = Math.floor(performance.now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#stacks = 0;
    }
    this.#stacks += 1;
    return this.#stacks <= this.#settings.maxStacksPerSecond;
  }

  #firstError(): Promise<void> {
    return new Promise((resolve) => {
      this.#onFirst = () => {
        this.#onFirst = undefined;
        resolve();
      };
    });
  }

  #pause(milliseconds: number): Promise<void> {
    // The pause has a maximum, because a statement that timed out took a long time but used few resources.
    return this.#sleep(Math.min(milliseconds * this.#settings.pauseFactor, this.#settings.loadIntervalMilliseconds));
  }

  /** Resolves early when the recorder stops. */
  #sleep(milliseconds: number): Promise<void> {
    if (this.#isStopping) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#wakers.delete(wake);
        resolve();
      };
      // The timer must not keep the process running.
      const timer = setTimeout(wake, milliseconds).unref();
      this.#wakers.add(wake);
    });
  }
}

type UnauthenticatedSettings = {
  /** Maximum number of errors in a burst, from all addresses together. */
  readonly maxUnauthenticatedBurst: number;
  /** Errors per second on average, from all addresses together. */
  readonly unauthenticatedPerSecond: number;
  readonly maxUnauthenticatedPerAddressMinute: number;
};

const MINUTE_MILLISECONDS = 60_000;

/** Maximum number of addresses with separate counts in a minute. Further addresses share one budget. */
const MAX_ADDRESSES = 10_000;

/**
 * Limits the recording of unauthenticated errors, which have no caller and no card program. Without a limit, anyone on the network
 * could fill the ledger's disk with them.
 */
export class UnauthenticatedBudget {
  readonly #settings: UnauthenticatedSettings;
  #left: number;
  #filledAt = 0;
  #minute = 0;
  readonly #ofAddress = new Map<string, number>();

  constructor(settings: UnauthenticatedSettings) {
    this.#settings = settings;
    this.#left = settings.maxUnauthenticatedBurst;
  }

  /** Returns whether to record an error from an address, and counts it if so. `now` is the time of any monotonic clock, in ms. */
  take(address: string | undefined, now: number): boolean {
    this.#fill(now);
    const sender = this.#addressKey(address ?? '');
    const before = this.#ofAddress.get(sender) ?? 0;
    if (this.#left < 1 || before >= this.#settings.maxUnauthenticatedPerAddressMinute) return false;
    this.#left -= 1;
    this.#ofAddress.set(sender, before + 1);
    return true;
  }

  #fill(now: number): void {
    const { maxUnauthenticatedBurst, unauthenticatedPerSecond } = this.#settings;
    this.#left = Math.min(
      maxUnauthenticatedBurst,
      this.#left + ((now - this.#filledAt) / 1000) * unauthenticatedPerSecond,
    );
    this.#filledAt = now;
    const minute = Math.floor(now / MINUTE_MILLISECONDS);
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.#ofAddress.clear();
  }

  #addressKey(address: string): string {
    return this.#ofAddress.has(address) || this.#ofAddress.size < MAX_ADDRESSES ? address : '';
  }
}

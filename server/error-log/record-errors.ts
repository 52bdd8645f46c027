import { logEntryOf, type ReportedError } from './error-log-entry.ts';
import { ErrorKeeper, type KeeperOptions } from './keep-errors.ts';
import { StrangerBudget, type StrangerSettings } from './unauthenticated-budget.ts';

/** Bounds and times of the recorder. Every one can be set, so that a test reaches a bound quickly. */
export type RecorderSettings = StrangerSettings & {
  /** Errors that wait in memory, at most; a second of a bad day. */
  readonly queueMost: number;
  /** Bytes that they take, at most. */
  readonly queueBytesMost: number;
  /** Errors in one statement. */
  readonly batch: number;
  /** Errors that wait from which on the spool takes them before the database does. */
  readonly crowdedFrom: number;
  /** Milliseconds that a first error waits for company. */
  readonly gather_ms: number;
  /** Milliseconds between two looks for what can be loaded. */
  readonly loadEvery_ms: number;
  /** Milliseconds between two looks for spools of dead processes. */
  readonly adoptEvery_ms: number;
  /**
   * How long the recorder rests after a statement, as a multiple of what the statement took. With 4 it keeps one
   * connection busy for a fifth of the time, and transfers hardly notice; some thousand errors a second fit in that.
   */
  readonly restFactor: number;
  /** Failures in a second whose stacks are kept; formatting one costs as much as all the rest of an error. */
  readonly stacksASecond: number;
};

/** What holds unless a test says otherwise. */
export const RECORDER_SETTINGS: RecorderSettings = {
  queueMost: 10_000,
  queueBytesMost: 16_777_216,
  batch: 250,
  crowdedFrom: 2_000,
  gather_ms: 50,
  loadEvery_ms: 250,
  adoptEvery_ms: 60_000,
  restFactor: 4,
  stacksASecond: 200,
  // With some 700 bytes an error: 70 MB at once, and 180 MB a day at most.
  strangersMost: 100_000,
  strangersASecond: 3,
  strangersOfAddress: 1_000,
};

/** Milliseconds for which the database is asked first when the recorder stops. */
const STOP_TIME = 1_000;

/** An error as it was taken in: without card numbers and keys, fit for the log of the process. */
export type RecordedError = ReturnType<typeof logEntryOf>['error'];

/** Records error answers, off the path of the requests. */
export type ErrorRecorder = {
  /**
   * Takes a report in. Costs some microseconds and never throws. Undefined for one beyond the budget of strangers, which
   * is nowhere to be written down.
   */
  readonly record: (report: ReportedError) => RecordedError | undefined;
  /** Keeps what still waits, in the database or the spool, and ends. Takes a few seconds at most. */
  readonly stop: () => Promise<void>;
};

/**
 * Starts recording. Reports wait in a bounded queue and are stored in batches, one statement at a time; what the queue
 * does not hold is dropped and counted, and so is what strangers cause beyond a budget of their own. Between two statements the recorder rests, so that a flood of errors takes a
 * bounded part of the database from the transfers.
 */
export async function recordErrors(
  options: KeeperOptions,
  settings: RecorderSettings = RECORDER_SETTINGS,
): Promise<ErrorRecorder> {
  const recorder = new Recorder(await ErrorKeeper.open(options), settings, options.onTrouble);
  recorder.start();
  return { record: (report) => recorder.record(report), stop: () => recorder.stop() };
}

class Recorder {
  readonly #keeper: ErrorKeeper;
  readonly #settings: RecorderSettings;
  readonly #onTrouble: KeeperOptions['onTrouble'];
  #queue: { readonly error: RecordedError; readonly bytes: number }[] = [];
  #bytes = 0;
  #isStopping = false;
  #loops: readonly Promise<void>[] = [];
  /** Wake what sleeps: the one that stores when an error comes, both at the end. */
  #wakers = new Set<() => void>();
  #onFirst: (() => void) | undefined = undefined;
  #second = 0;
  #stacks = 0;
  readonly #strangers: StrangerBudget;

  constructor(keeper: ErrorKeeper, settings: RecorderSettings, onTrouble: KeeperOptions['onTrouble']) {
    this.#keeper = keeper;
    this.#settings = settings;
    this.#onTrouble = onTrouble;
    this.#strangers = new StrangerBudget(settings);
  }

  start(): void {
    this.#loops = [this.#storeInTurn(), this.#loadInTurn()];
  }

  record(report: ReportedError): RecordedError | undefined {
    const isStranger = report.programId === undefined && report.caller === undefined;
    if (isStranger && !this.#strangers.take(report.address, performance.now())) {
      this.#keeper.drop('strangers', 1);
      return undefined;
    }
    const { error, bytes } = logEntryOf(report, report.cause !== undefined && this.#mayFormatStack());
    if (this.#queue.length >= this.#settings.queueMost || this.#bytes + bytes > this.#settings.queueBytesMost) {
      this.#keeper.drop('queue_full', 1);
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
    const deadline = performance.now() + STOP_TIME;
    while (this.#queue.length > 0) {
      const batch = this.#take();
      // The spool is quick where the database is slow, and nobody waits long for a service to stop.
      const isKept = await this.#keeper.keep(batch, performance.now() > deadline);
      if (!isKept) this.#keeper.drop('spool_full', batch.length + this.#takeAll());
    }
    const lost = await this.#keeper.close();
    if (lost > 0) this.#onTrouble(`${lost} errors were dropped, and neither database nor spool could be told`);
  }

  /** Stores what the queue holds, batch by batch, until the end. */
  async #storeInTurn(): Promise<void> {
    while (!this.#isStopping) {
      if (this.#queue.length === 0) await this.#firstError();
      if (this.#queue.length < this.#settings.batch) await this.#sleep(this.#settings.gather_ms);
      if (this.#isStopping) return;
      const crowded = this.#queue.length > this.#settings.crowdedFrom;
      const started = performance.now();
      const batch = this.#take();
      while (batch.length > 0 && !(await this.#keep(batch, crowded))) {
        // Neither place takes them. They keep their place at the front, and the queue fills up behind them.
        if (this.#isStopping) {
          this.#queue.unshift(...batch.map((error) => ({ error, bytes: 0 })));
          return;
        }
        await this.#sleep(this.#settings.loadEvery_ms);
      }
      await this.#rest(performance.now() - started);
    }
  }

  /** Loads what waits in spools, whenever the database takes it, until the end. */
  async #loadInTurn(): Promise<void> {
    const rest = async (milliseconds: number): Promise<boolean> => {
      await this.#rest(milliseconds);
      return !this.#isStopping;
    };
    let adoptAt = performance.now();
    while (!this.#isStopping) {
      try {
        if (this.#keeper.hasWaiting) await this.#keeper.load(rest);
        if (performance.now() >= adoptAt) {
          adoptAt = performance.now() + this.#settings.adoptEvery_ms;
          await this.#keeper.adopt(rest);
        }
      } catch (error) {
        this.#onTrouble('a spool of errors cannot be loaded', error);
      }
      await this.#sleep(this.#settings.loadEvery_ms);
    }
  }

  async #keep(batch: readonly RecordedError[], crowded: boolean): Promise<boolean> {
    try {
      return await this.#keeper.keep(batch, crowded);
    } catch (error) {
      this.#onTrouble('errors could not be kept', error);
      return false;
    }
  }

  #take(): readonly RecordedError[] {
    const taken = this.#queue.splice(0, this.#settings.batch);
    for (const { bytes } of taken) this.#bytes -= bytes;
    return taken.map(({ error }) => error);
  }

  #takeAll(): number {
    const count = this.#queue.length;
    this.#queue = [];
    this.#bytes = 0;
    return count;
  }

  /** Whether a failure of this second is still one of the first: in a storm they are all alike. */
  #mayFormatStack(): boolean {
    const second = Math.floor(performance.now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#stacks = 0;
    }
    this.#stacks += 1;
    return this.#stacks <= this.#settings.stacksASecond;
  }

  #firstError(): Promise<void> {
    return new Promise((resolve) => {
      this.#onFirst = () => {
        this.#onFirst = undefined;
        resolve();
      };
    });
  }

  #rest(milliseconds: number): Promise<void> {
    // Bounded, because a statement that nobody answered has taken long and cost nothing.
    return this.#sleep(Math.min(milliseconds * this.#settings.restFactor, this.#settings.loadEvery_ms));
  }

  /** Ends early when the recorder does. */
  #sleep(milliseconds: number): Promise<void> {
    if (this.#isStopping) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#wakers.delete(wake);
        resolve();
      };
      // The recorder alone is no reason for a process to go on.
      const timer = setTimeout(wake, milliseconds).unref();
      this.#wakers.add(wake);
    });
  }
}

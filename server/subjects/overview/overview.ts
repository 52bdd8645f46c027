import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { ERRORS } from '../../../contract/errors/catalogue.ts';
import type { Overview, ProcessRecord } from '../../../contract/service/overview.ts';
import type { ServiceStatus } from '../../../contract/service/status.ts';
import { isBurst } from '../../../domain/support/incident.ts';
import { TRANSFER_TYPES, type TransferType } from '../../../domain/transfers/transfer.ts';
import type { Reply, Service } from '../../calls/call.ts';
import type { ResponseCounter } from '../../calls/responses/response-counter.ts';
import { databaseTime, hourOf } from '../../foundation/database-clock.ts';
import type { Database } from '../../store/connection/database.ts';
import {
  deleteProcess,
  type ListedProcess,
  listProcesses,
  type StoredMinute,
  storeProcess,
  toListedProcess,
} from '../../store/overview/service-process.ts';
import {
  readTransferCounts,
  storeTransferCounts,
  type TransferCount,
  toHourlyCount,
} from '../../store/overview/transfer-count.ts';
import { figuresOf, RecentRequests } from './recent-requests.ts';

const SECOND_MILLISECONDS = 1_000;

/** All requests within this time get the same bytes, so ten consoles cost as much as one. */
const CACHED_MILLISECONDS = 1_000;

/** How often the database is read while someone requests the overview. */
const READ_MILLISECONDS = 5_000;

/** A reading that is older than this is not shown. A request then waits for a new one. */
const MAX_READ_AGE_MILLISECONDS = 10_000;

const DAY_MILLISECONDS = 86_400_000;

const EVERYTHING = { programId: null, type: null } as const;

type ReadStatus = (service: Service) => Promise<ServiceStatus>;

/** The data read from the database, and when the read began, in the time of `performance.now()`. */
type Reading = {
  readonly status: ServiceStatus;
  readonly hours: Overview['hours'];
  /** Null if the database does not respond. */
  readonly processes: readonly ListedProcess[] | null;
  readonly at: number;
};

/** Creates the overview for operators. Its charts show only this process. Its figures also cover all processes together. */
export class OverviewMaker {
  readonly counts = new TransferCounts();
  readonly #requests: RecentRequests;
  readonly #bursts: Bursts;
  readonly #processes: Processes;
  readonly #readStatus: ReadStatus;
  readonly #lane: { readonly waiting: () => number };
  #tickedAt = new Date(databaseTime());
  #timer: NodeJS.Timeout | undefined;
  #cached: { readonly json: string; readonly at: number } | undefined;
  #making: Promise<string> | undefined;
  #reading: Reading | undefined;
  #read: Promise<Reading> | undefined;

  constructor(
    readStatus: ReadStatus,
    responses: ResponseCounter,
    { lane, version }: { readonly lane: { readonly waiting: () => number }; readonly version: string },
  ) {
    this.#processes = new Processes(version);
    this.#requests = new RecentRequests(responses);
    this.#bursts = new Bursts(responses);
    this.#readStatus = readStatus;
    this.#lane = lane;
  }

  start(): void {
    // The timer must not keep the process running.
    this.#timer ??= setInterval(() => this.tick(), SECOND_MILLISECONDS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async store(database: Pick<Database, 'writeUnguarded'>): Promise<void> {
    await this.counts.store(database);
    await this.#processes.store(database, this.#requests.minute());
  }

  /** Stores the counts one last time, and removes this process from the list of processes. */
  async leave(database: Pick<Database, 'writeUnguarded'>): Promise<void> {
    await this.counts.store(database);
    await this.#processes.leave(database);
  }

  /** Completes the current second. Called once a second. */
  tick(): void {
    this.counts.tick();
    this.#requests.tick({ transfers: this.counts.total, laneWaiting: this.#lane.waiting() });
    this.#bursts.tick();
    this.#tickedAt = new Date(databaseTime());
  }

  /** get_overview: returns the overview, which is computed at most once a second. */
  async get(service: Service): Promise<Reply<'get_overview'>> {
    if (this.#cached !== undefined && performance.now() - this.#cached.at < CACHED_MILLISECONDS)
      return { json: this.#cached.json };
    this.#making ??= this.#make(service).finally(() => {
      this.#making = undefined;
    });
    return { json: await this.#making };
  }

  async #make(service: Service): Promise<string> {
    const { status, hours, processes } = await this.#readings(service);
    const shown = processes === null ? null : this.#processes.show(processes, this.#requests.minute());
    const overview: Overview = {
      made_at: new Date(databaseTime()).toISOString(),
      all: shown?.all ?? null,
      processes: shown?.processes ?? null,
      now: this.#requests.now(),
      lane_waiting: this.#lane.waiting(),
      recent: this.#requests.recent(this.#tickedAt),
      hours,
      proposed_incidents: this.#bursts.find(),
      status,
    };
    const json = JSON.stringify(overview);
    this.#cached = { json, at: performance.now() };
    return json;
  }

  /** Returns the last reading. Waits for a new one only if the last is too old to be shown. */
  async #readings(service: Service): Promise<Reading> {
    const age = this.#reading === undefined ? Number.POSITIVE_INFINITY : performance.now() - this.#reading.at;
    if (this.#reading !== undefined && age < READ_MILLISECONDS) return this.#reading;
    this.#read ??= this.#readAll(service).finally(() => {
      this.#read = undefined;
    });
    if (this.#reading === undefined || age > MAX_READ_AGE_MILLISECONDS) return this.#read;
    this.#read.catch(() => undefined);
    return this.#reading;
  }

  async #readAll(service: Service): Promise<Reading> {
    const at = performance.now();
    const { database } = service;
    const [status, hours, processes] = await Promise.all([
      this.#readStatus(service),
      readHours(database),
      // Null if the database does not respond, as for the hours.
      this.#processes.list(database).catch(() => null),
    ]);
    const reading = { status, hours, processes, at };
    this.#reading = reading;
    return reading;
  }
}

/** Reads the hours. Returns null if the database does not respond: the limits of its connection then end the statement. */
async function readHours(database: Database): Promise<Overview['hours']> {
  const from = new Date(hourOf(databaseTime() - DAY_MILLISECONDS));
  const rows = await database.read(readTransferCounts(from, EVERYTHING)).catch(() => undefined);
  if (rows === undefined) return null;
  return rows.map(toHourlyCount).map(({ hour, type, count }) => ({
    start: new Date(hour).toISOString(),
    type,
    transfers: count,
  }));
}

/** A process counts as alive for this long after its last write: three write intervals, plus a few seconds for a busy database. */
const ALIVE_SECONDS = 35;

/** More than the number of processes on any database. */
const MAX_PROCESSES = 100;

/** The processes of the service on one database. Each stores a row with the time and its figures of the last minute. */
export class Processes {
  readonly #own = {
    processId: randomUUID(),
    host: hostname(),
    pid: process.pid,
    startedAt: new Date(Date.now() - process.uptime() * 1000),
  };
  readonly #version: string;

  constructor(version: string) {
    this.#version = version;
  }

  async store(database: Pick<Database, 'writeUnguarded'>, minute: StoredMinute): Promise<void> {
    await database.writeUnguarded(storeProcess({ ...this.#own, version: this.#version, minute }));
  }

  /** Deletes the row of this process when it stops. */
  async leave(database: Pick<Database, 'writeUnguarded'>): Promise<void> {
    await database.writeUnguarded(deleteProcess(this.#own.processId));
  }

  async list(database: Pick<Database, 'read'>): Promise<readonly ListedProcess[]> {
    return (await database.read(listProcesses(MAX_PROCESSES))).map(toListedProcess);
  }

  /** Returns the figures of all running processes, together and for each. The figures of this process are current (`minute`). */
  show(
    listed: readonly ListedProcess[],
    minute: StoredMinute,
  ): { readonly all: ReturnType<typeof figuresOf>; readonly processes: ProcessRecord[] } {
    const { processId } = this.#own;
    const others = listed.filter((one) => one.processId !== processId);
    const own: ListedProcess = { ...this.#own, version: this.#version, minute, seenAt: new Date(), secondsAgo: 0 };
    const all = [...others, own].toSorted((left, right) => left.startedAt.getTime() - right.startedAt.getTime());
    // If the clock is set back, the times of all rows are in the future. A running process soon stores a row with the new time, but
    // the row of a dead process stays in the future.
    const isAlive = ({ secondsAgo }: ListedProcess): boolean => Math.abs(secondsAgo) <= ALIVE_SECONDS;
    return {
      all: figuresOf(all.filter(isAlive).map((one) => one.minute)),
      processes: all.map((one) => ({
        host: one.host,
        process_id: one.pid,
        version: one.version,
        started_at: one.startedAt.toISOString(),
        seen_at: one.seenAt.toISOString(),
        alive: isAlive(one),
        current: one.processId === processId,
        figures: figuresOf([one.minute]),
      })),
    };
  }
}

type Totals = ReadonlyMap<string, number>;

const SECONDS = 60;
const MINUTES = 60;
const NONE: Totals = new Map();

/**
 * Finds codes of Server and Process Errors that suddenly occur often in the responses of this process. Keeps the totals of the last
 * minute by second, and of the hour before it by minute.
 */
export class Bursts {
  readonly #counter: ResponseCounter;
  readonly #seconds: Totals[] = [];
  readonly #minutes: Totals[] = [];
  #ticks = 0;

  constructor(counter: ResponseCounter) {
    this.#counter = counter;
  }

  /** Completes the current second. Called once a second. */
  tick(): void {
    this.#seconds.push(this.#totals());
    if (this.#seconds.length <= SECONDS) return;
    const past = this.#seconds.shift() ?? NONE;
    if (this.#ticks++ % SECONDS !== 0) return;
    this.#minutes.push(past);
    if (this.#minutes.length > MINUTES + 1) this.#minutes.shift();
  }

  /** Returns the codes, most frequent first. */
  find(): Overview['proposed_incidents'] {
    const minuteAgo = this.#seconds.length < SECONDS ? NONE : (this.#seconds[0] ?? NONE);
    const hourAgo = this.#minutes.length <= MINUTES ? NONE : (this.#minutes[0] ?? NONE);
    return [...this.#totals()]
      .map(([code, total]) => {
        const before = minuteAgo.get(code) ?? 0;
        return { code, in_last_minute: total - before, in_hour_before: before - (hourAgo.get(code) ?? 0) };
      })
      .filter(({ in_last_minute, in_hour_before }) => isBurst(in_last_minute, in_hour_before))
      .sort((one, other) => other.in_last_minute - one.in_last_minute);
  }

  #totals(): Totals {
    const totals = new Map<string, number>();
    for (const { code, count, kind } of this.#counter.series) {
      if (code === undefined || count === 0 || kind === 'stray' || ERRORS[code].type === 'Request Error') continue;
      totals.set(code, count + (totals.get(code) ?? 0));
    }
    return totals;
  }
}

// Invariant: A transfer is counted once, in the hour of its creation, even if counts are stored twice
// Kept by: each process stores its own totals, not increments
// Tested by: `test/api/overview.test.ts`

/**
 * Maximum number of rows in a statement. With this limit, it takes only a few milliseconds, even with thousands of busy card
 * programs.
 */
const MAX_ROWS = 1_000;

type OfProgram = { readonly counts: Record<TransferType, number>; readonly stored: Record<TransferType, number> };

/**
 * Counts the transfers that this process creates, in memory, until a job stores the counts. Each transfer costs one look-up in a
 * map. If the process is killed, at most the counts of ten seconds are lost.
 */
export class TransferCounts {
  readonly #processId = randomUUID();
  /** Counts by hour and the program's inner UUID: the current hour, and earlier hours that are not completely stored. */
  readonly #hours = new Map<number, Map<string, OfProgram>>();
  #hour: number;
  #programs: Map<string, OfProgram>;
  #total = 0;

  constructor() {
    this.#hour = hourOf(databaseTime());
    this.#programs = new Map();
    this.#hours.set(this.#hour, this.#programs);
  }

  get total(): number {
    return this.#total;
  }

  /** Counts a transfer that was just committed. Must not throw, and must cost next to nothing. */
  readonly note = (programId: string, type: TransferType): void => {
    this.#total += 1;
    const program = this.#programs.get(programId) ?? this.#begin(programId);
    program.counts[type] += 1;
  };

  /** Begins the next hour when it is due. Called every second. */
  tick(now = databaseTime()): void {
    const hour = hourOf(now);
    if (hour === this.#hour) return;
    this.#hour = hour;
    this.#programs = this.#hours.get(hour) ?? new Map();
    this.#hours.set(hour, this.#programs);
  }

  /** Stores the changed counts. After a failure, the next call stores them. */
  async store(database: Pick<Database, 'writeUnguarded'>): Promise<void> {
    for (const [hour, programs] of [...this.#hours]) {
      const changed = this.#changed(hour, programs);
      for (let at = 0; at < changed.length; at += MAX_ROWS) {
        const rows = changed.slice(at, at + MAX_ROWS);
        await database.writeUnguarded(storeTransferCounts(rows));
        for (const { programId, type, count } of rows) {
          const program = programs.get(programId);
          if (program !== undefined) program.stored[type] = count;
        }
      }
      if (hour !== this.#hour && this.#changed(hour, programs).length === 0) this.#hours.delete(hour);
    }
  }

  #changed(hour: number, programs: ReadonlyMap<string, OfProgram>): readonly TransferCount[] {
    const processId = this.#processId;
    return [...programs].flatMap(([programId, { counts, stored }]) =>
      TRANSFER_TYPES.filter((type) => counts[type] > stored[type]).map((type) => ({
        hour,
        programId,
        type,
        processId,
        count: counts[type],
      })),
    );
  }

  #begin(programId: string): OfProgram {
    const program: OfProgram = {
      counts: { load: 0, unload: 0, card_to_card: 0 },
      stored: { load: 0, unload: 0, card_to_card: 0 },
    };
    this.#programs.set(programId, program);
    return program;
  }
}

import type { Overview } from '../../../contract/service/overview.ts';
import type { ServiceStatus } from '../../../contract/service/status.ts';
import type { Reply } from '../../calls/call.ts';
import type { ResponseCounter } from '../../calls/responses/response-counter.ts';
import type { Service } from '../../calls/service.ts';
import { databaseTime, hourOf } from '../../foundation/database-clock.ts';
import type { Database } from '../../store/connection/database.ts';
import type { ListedProcess } from '../../store/overview/service-process.ts';
import { readTransferCounts, toHourlyCount } from '../../store/overview/transfer-count.ts';
import { Processes } from './processes.ts';
import { RecentRequests } from './recent-requests.ts';
import { TransferCounts } from './transfer-counts.ts';

const SECOND_MILLISECONDS = 1_000;

/** Everybody who asks within a second gets the same bytes: ten consoles cost what one does. */
const MADE_MILLISECONDS = 1_000;

/** How often the database is asked while somebody looks. */
const READ_MILLISECONDS = 5_000;

/** What was read longer ago, because nobody has looked, is read again before it is shown. */
const MAX_READ_AGE_MILLISECONDS = 10_000;

const DAY_MILLISECONDS = 86_400_000;

const EVERYTHING = { programId: null, type: null } as const;

/** Reads the status of this process. */
type ReadStatus = (service: Service) => Promise<ServiceStatus>;

/** What the database says, and the time by `performance.now()` at which it was asked. */
type Reading = {
  readonly status: ServiceStatus;
  readonly hours: Overview['hours'];
  /** Null where the database does not respond. */
  readonly processes: readonly ListedProcess[] | null;
  readonly at: number;
};

/** What an operator looks at first. The charts are those of this process; the figures are also those of all together. */
export class OverviewMaker {
  /** Counts the transfers that this process makes. */
  readonly counts = new TransferCounts();
  readonly #requests: RecentRequests;
  readonly #processes: Processes;
  readonly #readStatus: ReadStatus;
  readonly #lane: { readonly waiting: () => number };
  #turnedAt = new Date(databaseTime());
  #timer: NodeJS.Timeout | undefined;
  #made: { readonly json: string; readonly at: number } | undefined;
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
    this.#readStatus = readStatus;
    this.#lane = lane;
  }

  /** Begins to end seconds; the process may end all the same. */
  start(): void {
    this.#timer ??= setInterval(() => this.turn(), SECOND_MILLISECONDS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Stores what this process did, for all of them. */
  async store(database: Pick<Database, 'read'>): Promise<void> {
    await this.counts.store(database);
    await this.#processes.store(database, this.#requests.minute());
  }

  /** Stores it once more, and takes this process away from those that are alive. */
  async leave(database: Pick<Database, 'read'>): Promise<void> {
    await this.counts.store(database);
    await this.#processes.leave(database);
  }

  /** Ends a second. */
  turn(): void {
    this.counts.turn();
    this.#requests.turn({ transfers: this.counts.total, laneWaiting: this.#lane.waiting() });
    this.#turnedAt = new Date(databaseTime());
  }

  /** get_overview: made once a second, however many ask. */
  async get(service: Service): Promise<Reply<'get_overview'>> {
    if (this.#made !== undefined && performance.now() - this.#made.at < MADE_MILLISECONDS)
      return { json: this.#made.json };
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
      recent: this.#requests.recent(this.#turnedAt),
      hours,
      status,
    };
    const json = JSON.stringify(overview);
    this.#made = { json, at: performance.now() };
    return json;
  }

  /** What the database said last. Whoever looks again does not wait for the next reading. */
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
      // Null where the database does not respond, as for the hours.
      this.#processes.list(database).catch(() => null),
    ]);
    const reading = { status, hours, processes, at };
    this.#reading = reading;
    return reading;
  }
}

/** Null where the database does not respond; the statement ends by the limits of its connection. */
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

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { ProcessRecord } from '../../../contract/service/overview.ts';
import type { Database } from '../../store/connection/database.ts';
import {
  deleteProcess,
  type ListedProcess,
  listProcesses,
  type StoredMinute,
  storeProcess,
  toListedProcess,
} from '../../store/overview/service-process.ts';
import { figuresOf } from './recent-requests.ts';

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

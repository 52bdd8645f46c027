import { once } from 'node:events';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { programAt } from '../../../installation.mjs';
import { connectAsSuperuser } from '../postgres-server.ts';
import { isArchived, listArchive, punchHole, removeAbandoned } from './archive.ts';
import type { BackupDirectory } from './backup-directory.ts';
import { CopyInProgress, lockCopies } from './base-copy.ts';
import type { CopyOutcome, CopyTask } from './copy-worker.ts';
import { listCopies } from './manifest.ts';
import { type ArchiveState, readArchiveState, writeArchiveState } from './ownership.ts';
import { findLastCopy, isCopyDue, removeSurplus } from './retention.ts';
import { parsePosition, parseSegment, segmentAt, segmentName } from './wal-files.ts';

export type BackupStatus = {
  readonly lastCopyAt: Date | undefined;
  /** When a copy or the maintenance of the archive last failed, and why. It is kept after a later success. */
  readonly lastFailureAt: Date | undefined;
  readonly lastFailure: string | undefined;
  readonly failures: number;
  /** All commits until this time can be restored. If all is well, it is about half a minute ago. */
  readonly coveredUntil: Date | undefined;
  readonly isCopying: boolean;
};

export type BackupJobParts = {
  readonly directory: BackupDirectory;
  /** The state at the start of the server. */
  readonly state: ArchiveState;
  readonly socketDirectory: string;
  readonly dataDirectory: string;
  readonly retentionDays: number;
  readonly onCopy: (name: string) => void;
  /** Called only for the first of several equal failures in a row. */
  readonly onFailure: (problem: string) => void;
};

/**
 * How often written WAL is given to the archiver. Two such intervals, plus the time for a file to arrive, are less than
 * a minute, which is the maximum loss.
 */
const INTERVAL_MILLISECONDS = 25_000;

/** How often copies and the whole archive are checked. The archive may have a hundred thousand files. */
const CARE_MILLISECONDS = 600_000;

const DAY_MILLISECONDS = 86_400_000;

/** Usually, the archiver stores a file immediately. After a failure, it tries again a minute later. */
const ARCHIVER_MILLISECONDS = 5_000;
const LOOK_MILLISECONDS = 200;
const LATE_MILLISECONDS = 60_000;
const STALE_MILLISECONDS = 600_000;

/** Time for the thread to remove a copy that is not finished. */
const STOP_MILLISECONDS = 1_500;

/** Maintains the backups while the service runs: takes copies, monitors the archive, and deletes files that are too old. */
export class BackupJob {
  readonly #parts: BackupJobParts;
  readonly #end = new AbortController();
  #state: ArchiveState;
  #status: BackupStatus;
  #worker: Worker | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #copying: Promise<unknown> = Promise.resolve();
  /** The time of the next check. Like all waits here, it uses the monotonic clock, because the time of day may be set back. */
  #nextCare = 0;
  #nextRetention = 0;
  /**
   * The WAL that was last given to the archiver, until it is in the archive. Its times are by the clock of the database, and by the
   * monotonic clock.
   */
  #handedOver: { readonly time: Date; readonly at: number; readonly segment: string } | undefined;
  /** The number of the first file that has not been shrunk. */
  #shrunk: number | undefined;
  #failing: string | undefined;

  constructor(parts: BackupJobParts) {
    this.#parts = parts;
    this.#state = parts.state;
    this.#status = {
      lastCopyAt: undefined,
      lastFailureAt: undefined,
      lastFailure: undefined,
      failures: 0,
      coveredUntil: parts.state.coveredUntil === null ? undefined : new Date(parts.state.coveredUntil),
      isCopying: false,
    };
  }

  get status(): BackupStatus {
    return this.#status;
  }

  readonly readStatus = (): BackupStatus => this.#status;

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#end.abort();
    this.#worker?.postMessage('stop');
    const late = sleep(STOP_MILLISECONDS, undefined, { ref: false });
    await Promise.race([Promise.all([this.#running, this.#copying]), late]);
    await this.#worker?.terminate();
    // Records that this ledger has released the directory, so that a restored ledger can use it immediately. If this fails, the
    // restored ledger waits.
    await writeArchiveState(this.#parts.directory.path, { ...this.#state, seenAt: null }).catch(() => undefined);
  }

  async #run(): Promise<void> {
    while (!this.#end.signal.aborted) {
      try {
        await this.#turn();
        this.#failing = undefined;
      } catch (error) {
        if (!this.#end.signal.aborted) this.#fail(error instanceof Error ? error.message : String(error));
      }
      await sleep(INTERVAL_MILLISECONDS, undefined, { ref: false, signal: this.#end.signal }).catch(() => undefined);
    }
  }

  async #turn(): Promise<void> {
    if (this.#handedOver === undefined) await this.#handOver();
    await this.#awaitArchiver();
    await this.#noteArchived();
    if (this.#handedOver !== undefined) await removeAbandoned(this.#parts.directory.wal);
    if (performance.now() >= this.#nextCare && !this.#status.isCopying) {
      await this.#care();
      this.#nextCare = performance.now() + CARE_MILLISECONDS;
    }
    this.#requireArchived();
  }

  async #care(): Promise<void> {
    const { directory, retentionDays, dataDirectory } = this.#parts;
    await removeAbandoned(directory.wal);
    const names = await listArchive(directory.wal);
    const copies = await listCopies(directory.base);
    const last = findLastCopy(copies, new Date());
    const lastCopyAt = last?.manifest === undefined ? undefined : new Date(last.manifest.endedAt);
    this.#status = { ...this.#status, lastCopyAt };
    if (isCopyDue(last, names, this.#state.timeline, new Date())) {
      if (await this.#hasCopyElsewhere()) return;
      // The first copy is taken soon, because until then there is no backup.
      this.#copying = this.#copy(last === undefined);
    } else if (performance.now() >= this.#nextRetention) {
      if (await this.#hasCopyElsewhere()) return;
      const lock = await lockCopies(dataDirectory, 'retention');
      try {
        await removeSurplus(directory, retentionDays, new Date());
      } finally {
        lock.release();
      }
      this.#nextRetention = performance.now() + DAY_MILLISECONDS;
    }
  }

  /** Whether the `backup` command is running. If so, this job has nothing to do, and that is not a failure. */
  async #hasCopyElsewhere(): Promise<boolean> {
    try {
      (await lockCopies(this.#parts.dataDirectory, 'retention')).release();
      return false;
    } catch (error) {
      if (error instanceof CopyInProgress) return true;
      throw error;
    }
  }

  /** Ends the current WAL file if it contains anything, unless the archiver still has earlier files to store. */
  async #handOver(): Promise<void> {
    const client = await connectAsSuperuser(this.#parts.socketDirectory);
    try {
      const clock = await client.query<{ now: Date }>('select clock_timestamp() as now');
      const { rows } = await client.query<{ position: string; timeline: number }>(
        'select pg_switch_wal()::text as position, (select timeline_id from pg_control_checkpoint()) as timeline',
      );
      const [row] = rows;
      const now = clock.rows[0]?.now;
      if (row === undefined || now === undefined) return;
      // `row.position` is the position after the last byte. If nothing was written, it is the start of the next file.
      const number = segmentAt(parsePosition(row.position) - 1n);
      this.#handedOver = { time: now, at: performance.now(), segment: segmentName({ timeline: row.timeline, number }) };
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** Waits a short time for the archiver. If that is not enough, the next round checks again. */
  async #awaitArchiver(): Promise<void> {
    const handedOver = this.#handedOver;
    if (handedOver === undefined) return;
    const deadline = performance.now() + ARCHIVER_MILLISECONDS;
    while (!(await isArchived(this.#parts.directory.wal, handedOver.segment))) {
      if (performance.now() > deadline) break;
      await sleep(LOOK_MILLISECONDS, undefined, { ref: false, signal: this.#end.signal });
    }
    // After this long, the file was probably archived and then deleted, because no copy needs it. Stop waiting for it.
    if (performance.now() - handedOver.at > STALE_MILLISECONDS) this.#handedOver = undefined;
  }

  /** Throws if the last file has waited too long for the archiver. */
  #requireArchived(): void {
    const handedOver = this.#handedOver;
    if (handedOver === undefined || performance.now() - handedOver.at < LATE_MILLISECONDS) return;
    throw new Error(
      `PostgreSQL has not archived the WAL file ${handedOver.segment} in ${this.#parts.directory.wal} since ` +
        `${handedOver.time.toISOString()}; its log says why. Is the disk of the backups full, or its directory gone?`,
    );
  }

  /** Records in the backup directory that this ledger is alive, and how far the backup is complete. */
  async #noteArchived(): Promise<void> {
    this.#end.signal.throwIfAborted();
    const { directory } = this.#parts;
    const found = await readArchiveState(directory.path);
    if (found !== undefined && found.owner !== this.#state.owner) {
      throw new Error(
        `another ledger, in ${found.dataDirectory} on ${found.host}, archives into ${directory.path} as well`,
      );
    }
    const handedOver = this.#handedOver;
    const isStored = handedOver !== undefined && (await isArchived(directory.wal, handedOver.segment));
    const seenAt = new Date().toISOString();
    this.#state = { ...this.#state, host: hostname(), seenAt };
    if (isStored) {
      const timeline = parseSegment(handedOver.segment)?.timeline ?? this.#state.timeline;
      const coveredUntil = handedOver.time.toISOString();
      this.#state = { ...this.#state, timeline, coveredUntil, coveredSegment: handedOver.segment };
    }
    await writeArchiveState(directory.path, this.#state);
    if (!isStored) return;
    this.#status = { ...this.#status, coveredUntil: handedOver.time };
    this.#handedOver = undefined;
    await this.#shrink(handedOver.segment);
  }

  /**
   * Shrinks the files that were archived since the last call. If a killed process did not shrink a file, the file stays
   * unchanged.
   */
  async #shrink(name: string): Promise<void> {
    const segment = parseSegment(name);
    if (segment === undefined) return;
    for (let number = this.#shrunk ?? segment.number; number <= segment.number; number += 1) {
      if (this.#end.signal.aborted) return;
      // A problem with one file must not delay the files after it.
      this.#shrunk = number + 1;
      await punchHole(this.#parts.directory, segmentName({ timeline: segment.timeline, number }));
    }
  }

  async #copy(isFirst: boolean): Promise<void> {
    const { directory, socketDirectory, dataDirectory, onCopy } = this.#parts;
    this.#status = { ...this.#status, isCopying: true };
    const source = { socketDirectory, dataDirectory, wal: directory.wal, base: directory.base };
    const task: CopyTask = { source, fast: isFirst };
    try {
      const worker = new Worker(programAt('server/postgres/backup/copy-worker'), {
        workerData: task,
      });
      this.#worker = worker;
      let outcome: CopyOutcome | undefined;
      worker.on('message', (message: CopyOutcome) => {
        outcome = message;
      });
      await once(worker, 'exit');
      if (this.#end.signal.aborted) return;
      if (outcome !== undefined && 'name' in outcome) {
        this.#status = { ...this.#status, lastCopyAt: new Date() };
        this.#nextRetention = 0;
        this.#nextCare = 0;
        onCopy(outcome.name);
      } else this.#fail(outcome?.problem ?? 'the thread that takes copies ended');
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
    } finally {
      this.#worker = undefined;
      this.#status = { ...this.#status, isCopying: false };
    }
  }

  #fail(problem: string): void {
    this.#status = {
      ...this.#status,
      failures: this.#status.failures + 1,
      lastFailureAt: new Date(),
      lastFailure: problem,
    };
    if (this.#failing !== problem) this.#parts.onFailure(problem);
    this.#failing = problem;
  }
}

import { copyFile, open, stat, statfs, truncate } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, diskFullProblem, isDiskFull, StartupProblem } from '../foundation/startup-problem.ts';
import { restoreSocketDirectory } from './ledger-location.ts';
import {
  lastReasonIn,
  type ServerProcess,
  type ServerSetup,
  spawnServer,
  waitUntilAccepting,
  writeAccessRules,
} from './postgres-server.ts';
import { clearLeftovers } from './processes.ts';

/**
 * `failed` means that the last attempt to restart the server has failed. The next attempt follows within two seconds.
 */
export type SupervisorState = 'running' | 'starting' | 'stopped' | 'failed';

export type SupervisorReports = {
  onProgress: (line: string) => void;
  onServerExit: (description: string) => void;
};

/**
 * First a fast shutdown, then an immediate one, then a kill: 3.8 s at most. An immediate shutdown loses nothing, but the next start
 * takes longer.
 */
const END_SERVER = [
  { signal: 'SIGINT', waitMilliseconds: 2_500 },
  { signal: 'SIGQUIT', waitMilliseconds: 800 },
  { signal: 'SIGKILL', waitMilliseconds: 500 },
] as const;

/**
 * The first restart is immediate. Then the delay doubles, up to the maximum. Restarts continue forever, because space may be
 * freed on a full disk.
 */
const FIRST_BACKOFF_MILLISECONDS = 100;
const LAST_BACKOFF_MILLISECONDS = 2_000;
/** If a server ran for this long, it was healthy, so the next restart is immediate again. */
const HEALTHY_MILLISECONDS = 10_000;

/** Errors that are temporary when a server starts shortly after another was killed. */
const TEMPORARY_ERRORS = /pre-existing shared memory block|lock file ".*" already exists/;
const TEMPORARY_ERRORS_MILLISECONDS = 15_000;

const STOPPED_MEANWHILE = 'PostgreSQL was stopped before it accepted connections.';

/** The log is emptied when it has this size. The log and the previous log together stay below about twice this size. */
const MAX_LOG_BYTES = 8 * 1_024 * 1_024;
const LOG_CHECK_MILLISECONDS = 30_000;
/** A server that starts writes more than this to its log and its lock file. */
const MIN_FREE_BYTES = 65_536;
/** Number of bytes at the end of the log that are read to find out why the server has ended. */
const LOG_TAIL_BYTES = 16_384;

/**
 * Keeps one PostgreSQL server running.
 *
 *     stopped --begin--> starting --accepts--> running --ends--> starting | failed --accepts--> running ...
 *     any --pause--> stopped, until begin
 *
 * One loop at a time starts the server. `pause` withdraws the request, ends the process and waits for the loop.
 */
export class Supervisor {
  readonly #setup: ServerSetup;
  readonly #reports: SupervisorReports;
  readonly #logTimer: NodeJS.Timeout;
  #state: SupervisorState = 'stopped';
  #isDiskFull = false;
  /**
   * `run` after a call of `begin`, `stop` after a call of `pause`. `#wanted` is whether the current loop must keep the
   * server running.
   */
  #requested: 'run' | 'stop' = 'stop';
  #wanted = false;
  #loop: Promise<void> | undefined;
  #accepting = Promise.withResolvers<void>();
  #interruption = new AbortController();
  #server: ServerProcess | undefined;

  constructor(setup: ServerSetup, reports: SupervisorReports) {
    this.#setup = setup;
    this.#reports = reports;
    this.#logTimer = setInterval(() => void this.#boundLog(), LOG_CHECK_MILLISECONDS);
    this.#logTimer.unref();
    process.on('exit', this.#onProcessExit);
  }

  /** Stops the server even if the service ends without `stop`, for example because of an uncaught exception. */
  readonly #onProcessExit = (): void => {
    this.#server?.child.kill('SIGINT');
  };

  get state(): SupervisorState {
    return this.#state;
  }

  get isDiskFull(): boolean {
    return this.#isDiskFull && this.#state === 'failed';
  }

  get processId(): number | undefined {
    return this.#state === 'stopped' ? undefined : this.#server?.child.pid;
  }

  /**
   * Starts the server, and resolves when it accepts connections. From then on, the server is restarted each time it ends.
   *
   * @param persistent whether to keep trying if it fails before it has ever accepted connections.
   * @throws StartupProblem with the server's last message if it failed and `persistent` is false, or if it was stopped while it
   * was starting.
   */
  async begin(persistent: boolean): Promise<void> {
    this.#requested = 'run';
    while (!this.#wanted && this.#loop) await this.#loop;
    if (this.#isStopRequested()) throw new StartupProblem('embedded-postgres-failed', STOPPED_MEANWHILE);
    if (!this.#wanted) {
      this.#wanted = true;
      this.#accepting = Promise.withResolvers();
      this.#accepting.promise.catch(() => undefined);
      this.#interruption = new AbortController();
      this.#loop = this.#keepRunning(persistent).finally(() => {
        this.#loop = undefined;
      });
    }
    await this.#accepting.promise;
  }

  /**
   * This is a method, so that the compiler does not assume an unchanged value: `pause` may have been called while `begin`
   * waited.
   */
  #isStopRequested(): boolean {
    return this.#requested === 'stop';
  }

  /** Stops the server until `begin` is called. Resolves when its process has ended. */
  async pause(): Promise<void> {
    this.#requested = 'stop';
    this.#wanted = false;
    this.#interruption.abort();
    if (this.#server) await endServer(this.#server);
    await this.#loop;
  }

  /** Stops the server permanently. */
  async end(): Promise<void> {
    clearInterval(this.#logTimer);
    await this.pause();
    process.off('exit', this.#onProcessExit);
  }

  async #keepRunning(persistent: boolean): Promise<void> {
    const begun = performance.now();
    let mayGiveUp = !persistent;
    let backoff = 0;
    while (this.#wanted) {
      const { accepted, ranMilliseconds, description } = await this.#runOnce(!mayGiveUp);
      if (!this.#wanted) break;
      if (accepted) mayGiveUp = false;
      const passes = TEMPORARY_ERRORS.test(description) && performance.now() - begun < TEMPORARY_ERRORS_MILLISECONDS;
      if (mayGiveUp && !passes) {
        this.#wanted = false;
        this.#state = 'stopped';
        this.#accepting.reject(this.#describeFailedStart(description));
        return;
      }
      this.#state = accepted ? 'starting' : 'failed';
      this.#isDiskFull = isDiskFull(description);
      if (!mayGiveUp) this.#reports.onServerExit(description);
      if (ranMilliseconds > HEALTHY_MILLISECONDS) backoff = 0;
      await sleep(backoff, undefined, { signal: this.#interruption.signal }).catch(() => undefined);
      backoff = Math.min(Math.max(FIRST_BACKOFF_MILLISECONDS, backoff * 2), LAST_BACKOFF_MILLISECONDS);
    }
    this.#state = 'stopped';
    this.#accepting.reject(new StartupProblem('embedded-postgres-failed', STOPPED_MEANWHILE));
  }

  #describeFailedStart(description: string): StartupProblem {
    const { dataDirectory, serverLog } = this.#setup;
    if (isDiskFull(description)) return diskFullProblem(`PostgreSQL cannot start in ${dataDirectory}`);
    const problem = `PostgreSQL did not start in ${dataDirectory}: ${description}.`;
    return new StartupProblem('embedded-postgres-failed', `${problem} See its log, ${serverLog}.`);
  }

  /**
   * Runs the server once: removes the previous server's leftovers, starts the server, and waits until it ends. Never throws.
   */
  async #runOnce(isPatient: boolean): Promise<{ accepted: boolean; ranMilliseconds: number; description: string }> {
    const { dataDirectory, socketDirectory, serverLog, user } = this.#setup;
    if (this.#state === 'stopped') this.#state = 'starting';
    let accepted = false;
    let acceptedAt = performance.now();
    let trouble: string | undefined;
    let logBegin = 0;
    let ending = 'PostgreSQL could not be started';
    try {
      await restoreSocketDirectory(socketDirectory, user);
      await clearLeftovers(dataDirectory, socketDirectory, this.#reports.onProgress);
      await writeAccessRules(dataDirectory, user);
      await this.#boundLog();
      logBegin = await sizeOf(serverLog);
      // If `pause` was called in the meantime, it found no process to end. So no process may start now.
      if (!this.#wanted) return { accepted, ranMilliseconds: 0, description: ending };
      const server = spawnServer(this.#setup);
      this.#server = server;
      try {
        accepted = await this.#awaitAccepting(server, isPatient);
        acceptedAt = performance.now();
      } catch (error) {
        trouble = error instanceof Error ? error.message : String(error);
        await endServer(server);
      }
      ending = await server.exited;
    } catch (error) {
      trouble = error instanceof Error ? error.message : String(error);
    } finally {
      this.#server = undefined;
      if (this.#state === 'running') this.#state = 'starting';
    }
    const words = trouble ?? (await this.#findReason(logBegin, accepted));
    const ranMilliseconds = accepted ? performance.now() - acceptedAt : 0;
    return { accepted, ranMilliseconds, description: words === undefined ? ending : `${ending}: ${words}` };
  }

  /** Returns why the server ended: from its log or, if there was no room for a log, from its disk. */
  async #findReason(logBegin: number, accepted: boolean): Promise<string | undefined> {
    const { serverLog } = this.#setup;
    const tail = await readTail(serverLog, logBegin);
    const words = lastReasonIn(tail);
    // If the server fails to start because the disk is full, the message is in the middle of the log. A server that was running
    // may have recovered from a full disk, so only failed starts are checked.
    if (!accepted && (isDiskFull(tail) || (words === undefined && (await hasNoRoom(serverLog)))))
      return 'the disk is full';
    return words;
  }

  async #awaitAccepting(server: ServerProcess, isPatient: boolean): Promise<boolean> {
    const gone = new AbortController();
    void server.exited.then(() => gone.abort());
    const signal = AbortSignal.any([gone.signal, this.#interruption.signal]);
    const { onProgress } = this.#reports;
    const accepted = await waitUntilAccepting(this.#setup.socketDirectory, { signal, isPatient, onProgress });
    if (accepted && this.#wanted) {
      this.#state = 'running';
      this.#accepting.resolve();
    }
    return accepted;
  }

  /**
   * Keeps the log small. The server appends to the file, so the file can be emptied while it runs. Lines that are written during
   * the copy may be lost.
   */
  async #boundLog(): Promise<void> {
    const { serverLog } = this.#setup;
    try {
      if ((await stat(serverLog)).size <= MAX_LOG_BYTES) return;
      await copyFile(serverLog, `${serverLog}.1`);
      await truncate(serverLog);
    } catch (error) {
      // The log must be emptied even if the disk is full.
      if (codeOf(error) === 'ENOSPC') await truncate(serverLog).catch(() => undefined);
    }
  }
}

async function endServer(server: ServerProcess): Promise<void> {
  let ended = false;
  const exited = server.exited.then(() => {
    ended = true;
  });
  for (const { signal, waitMilliseconds } of END_SERVER) {
    server.child.kill(signal);
    const timeout = new AbortController();
    const timer = sleep(waitMilliseconds, undefined, { signal: timeout.signal }).catch(() => undefined);
    await Promise.race([exited, timer]);
    timeout.abort();
    if (ended) return;
  }
}

/** Returns whether a log is empty because its disk is full. Then nothing else shows why the server ended. */
async function hasNoRoom(path: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(dirname(path));
    return bavail * bsize < MIN_FREE_BYTES;
  } catch {
    return false;
  }
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

/**
 * Reads the end of what was appended to a file since it had a given size. If the file was emptied in the meantime, reads the end
 * of the whole file.
 */
async function readTail(path: string, sizeBefore: number): Promise<string> {
  try {
    const handle = await open(path, 'r');
    try {
      const { size } = await handle.stat();
      const begin = Math.max(size - LOG_TAIL_BYTES, size < sizeBefore ? 0 : sizeBefore);
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - begin), 0, size - begin, begin);
      return buffer.subarray(0, bytesRead).toString('utf8');
    } finally {
      await handle.close();
    }
  } catch {
    return '';
  }
}

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

/** `failed` means that the last attempt to start it again failed. The next one follows within two seconds. */
export type SupervisorState = 'running' | 'starting' | 'stopped' | 'failed';

export type SupervisorReports = {
  onProgress: (line: string) => void;
  onServerExit: (description: string) => void;
};

/** Fast, immediate, kill: 3.8 s at most. An immediate shutdown loses nothing, but moves work to the next start. */
const END_SERVER = [
  { signal: 'SIGINT', waitMilliseconds: 2_500 },
  { signal: 'SIGQUIT', waitMilliseconds: 800 },
  { signal: 'SIGKILL', waitMilliseconds: 500 },
] as const;

/**
 * The first restart is immediate. Then the delay doubles up to the maximum. Restarts never stop, because a full disk can recover.
 */
const FIRST_BACKOFF_MILLISECONDS = 100;
const LAST_BACKOFF_MILLISECONDS = 2_000;
/** A server that ran this long was healthy, so its next restart is immediate again. */
const HEALTHY_MILLISECONDS = 10_000;

/** Temporary errors of a start shortly after a server was killed. */
const TEMPORARY_ERRORS = /pre-existing shared memory block|lock file ".*" already exists/;
const TEMPORARY_ERRORS_MILLISECONDS = 15_000;

const STOPPED_MEANWHILE = 'PostgreSQL was stopped before it accepted connections.';

/** The log and the previous one together always stay below about twice this. */
const MAX_LOG_BYTES = 8 * 1_024 * 1_024;
const LOG_CHECK_MILLISECONDS = 30_000;
/** Less than a server writes to its log and its lock file while it starts. */
const MIN_FREE_BYTES = 65_536;
/** How much of the end of the log is read to find out why the server ended. */
const LOG_TAIL_BYTES = 16_384;

/**
 * Keeps one PostgreSQL server running.
 *
 *     stopped --begin--> starting --accepts--> running --ends--> starting | failed --accepts--> running ...
 *     any --pause--> stopped, until begin
 *
 * One loop at a time does all the starting; `pause` withdraws the request, ends the process and waits for the loop.
 */
export class Supervisor {
  readonly #setup: ServerSetup;
  readonly #reports: SupervisorReports;
  readonly #logTimer: NodeJS.Timeout;
  #state: SupervisorState = 'stopped';
  #isDiskFull = false;
  /** The last request. `#wanted` is the value for the current loop. */
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

  /** If the service ends without `stop`, for example through an uncaught exception, it still stops its server. */
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
   * Starts the server and resolves when it accepts connections. From then on the server is restarted whenever it ends.
   *
   * @param persistent whether to keep trying if it fails before it ever accepted connections.
   * @throws StartupProblem with the server's last message if it failed and `persistent` is false, or if it was stopped during the
   * start.
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

  /** A method, because a `pause` may have come while `begin` waited. */
  #isStopRequested(): boolean {
    return this.#requested === 'stop';
  }

  /** Stops the server until `begin`. Resolves when its process is gone. */
  async pause(): Promise<void> {
    this.#requested = 'stop';
    this.#wanted = false;
    this.#interruption.abort();
    if (this.#server) await endServer(this.#server);
    await this.#loop;
  }

  /** `pause` for good. */
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

  /** Runs the server once, from removing its predecessor's leftovers to its end. Never throws. */
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
      // If it was paused in the meantime, `pause` found no process to end, so none may start after it.
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

  /** Why the server ended, according to its log, or to its disk if that has no room for a log. */
  async #findReason(logBegin: number, accepted: boolean): Promise<string | undefined> {
    const { serverLog } = this.#setup;
    const tail = await readTail(serverLog, logBegin);
    const words = lastReasonIn(tail);
    // If a start fails because the disk is full, it logs this in the middle of its log. A server that was running may have recovered from it.
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
   * Keeps the log small. The server appends, so the file can be emptied while it runs. Lines written during the copy may be lost.
   */
  async #boundLog(): Promise<void> {
    const { serverLog } = this.#setup;
    try {
      if ((await stat(serverLog)).size <= MAX_LOG_BYTES) return;
      await copyFile(serverLog, `${serverLog}.1`);
      await truncate(serverLog);
    } catch (error) {
      // A full disk must not keep the log from being emptied.
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

/** Whether a log stays empty because its disk is full, so that nothing else shows why the server ended. */
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

/** Reads the end of the text appended to a file since it had a given size, or of the whole file if it was emptied in between. */
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

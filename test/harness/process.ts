import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { TransferService } from '../../sdk/client.ts';
import { countStart, placeOfDirectories, templatesOfThisRun } from './ledger-templates.ts';
import { findStockPostgresOf, stopStockPostgresIn, withStockPostgres } from './postgres/stock-postgres.ts';
import { bundledService } from './run/bundle.ts';
import { forgetDirectory, noteDirectory } from './run/leftovers.ts';
import { followRunbook } from './runbook.ts';

const MAIN = new URL('../../server/main.ts', import.meta.url).pathname;
const COMMAND = new URL('../../cli/main.ts', import.meta.url).pathname;

/** The time limit of a start in milliseconds, including crash recovery on a busy machine. */
const START_TIME = 180_000;

const { PATH = '', NODE_COMPILE_CACHE } = process.env;

/** Points to Node's compile cache, if the run has one. Without it, our processes take twice as long to start. */
export const COMPILED: Readonly<Record<string, string>> =
  NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };

/** The variables that every process inherits, such as the path of the pinned Node. */
const INHERITED = { PATH, ...COMPILED };

/**
 * In a test run, a service must not refuse requests because other tests keep the machine busy. In campaigns and in the
 * benchmark, it sheds load as usual.
 */
const patience = (): Readonly<Record<string, string>> =>
  templatesOfThisRun() === undefined ? {} : { OVERLOAD_DELAY_MILLISECONDS: '0' };

/** A service in a separate process, as an operator runs it. */
export type ServiceProcess = {
  readonly url: string;
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly errors: () => string;
  /** A client that never retries, so that a test sees each response. */
  readonly client: TransferService;
  /**
   * Stops and starts the database, either with the sandbox's operations or directly if the tests run on stock binaries.
   */
  readonly database: { readonly stop: () => Promise<void>; readonly start: () => Promise<void> };
  /** Stops the service as an operator does, and returns the exit code. */
  readonly stop: () => Promise<number | null>;
  /** Sends SIGKILL and waits for the process to end. */
  readonly kill: () => Promise<void>;
};

/** Creates an empty directory for a ledger. `remove` deletes it after the test. */
export async function temporaryDirectory(): Promise<{ readonly path: string; readonly remove: () => Promise<void> }> {
  // The path is short enough for PostgreSQL's socket. If root runs the tests, PostgreSQL's user can enter it.
  const path = await mkdtemp(join(placeOfDirectories(), 'transfer-service-test-'));
  // If that user could not enter the directory, the ledger would be in /var/lib, where `remove` would not delete it.
  await chmod(path, 0o711);
  const templates = templatesOfThisRun();
  if (templates !== undefined) noteDirectory(templates, path);
  const remove = async (): Promise<void> => {
    await stopStockPostgresIn(path);
    await rm(path, { recursive: true, force: true, maxRetries: 5 });
    if (templates !== undefined) forgetDirectory(templates, path);
  };
  return { path, remove };
}

/**
 * The settings of a service. DATA_DIR is required, because its default is a directory of the checkout. There, a service
 * would find errors that a killed service of another test could not store, and would add them to its own ledger.
 */
export type ServiceSettings = Readonly<Record<string, string>> & { readonly DATA_DIR: string };

/**
 * Starts the service and waits for its banner. Rejects with the output if the service ends before that. `main` is the file to
 * start, for example in a copy. The default is the run's bundle, or the source outside a run.
 */
export async function startService(environment: ServiceSettings, main?: string): Promise<ServiceProcess> {
  countStart('service');
  const bundled = main === undefined ? bundledService() : undefined;
  const child = spawn(process.execPath, [main ?? bundled?.main ?? MAIN], {
    env: {
      ...INHERITED,
      ...bundled?.environment,
      ...patience(),
      PORT: '0',
      HOST: '127.0.0.1',
      ...(await withStockPostgres(environment)),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  // 'close' comes after all output.
  const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no banner appeared in time:\n${output}`)), START_TIME);
    let isReady = false;
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      // Stops searching after the banner. If every request is logged, searching all output repeatedly would be slow.
      if (isReady) return;
      const found = /Ready at (\S+)/.exec(output)?.[1];
      if (found !== undefined) {
        clearTimeout(timer);
        isReady = true;
        resolve(found.replace('localhost', '127.0.0.1'));
      }
    };
    child.stdout.on('data', read);
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
      read(chunk);
    });
    void ended.then((code) => {
      clearTimeout(timer);
      reject(new Error(`ended with ${code}:\n${output}`));
    });
  });
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    return ended;
  };
  const client = new TransferService({ baseUrl: url, maxRetries: 0, timeoutMilliseconds: 120_000 });
  const stock = findStockPostgresOf(environment);
  return {
    url,
    child,
    output: () => output,
    errors: () => errors,
    client,
    database: {
      stop: async () => void (await ((await stock)?.pause() ?? client.sandbox.stopDatabase())),
      // On a very busy machine, a start takes longer than the service waits, so the request is repeated. The repeated
      // request waits for the same start.
      start: async () => void (await ((await stock)?.resume() ?? client.sandbox.startDatabase({ maxRetries: 10 }))),
    },
    stop: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
  };
}

/** Lines that a start or a command prints every five seconds on a busy machine. Tests must not depend on them. */
const WAITS = /^(?:Still .+|PostgreSQL is still starting) \(\d+ s\).*\n/gm;

/** The result of a process that ran until it ended. */
export type Ending = { readonly exitCode: number | null; readonly output: string; readonly errors: string };

/** Runs a service that must refuse to start. */
export function startInVain(environment: Readonly<Record<string, string>>): Promise<Ending> {
  return runToEnd([MAIN], { PORT: '0', HOST: '127.0.0.1', ...environment });
}

/** Runs the command line in a separate process, as a person would. */
export function runCommand(
  commandLine: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Ending> {
  return runToEnd([COMMAND, ...commandLine], environment);
}

/** Runs Node with a script until it ends. If its output names a page of the runbook, checks that page. */
export async function runToEnd(
  program: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Ending> {
  const settings = await withStockPostgres(environment);
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, program, {
      env: { ...INHERITED, ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const timer = setTimeout(() => child.kill('SIGTERM'), START_TIME);
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
    });
    child.once('error', fail);
    child.once('close', (exitCode) => {
      clearTimeout(timer);
      try {
        followRunbook(errors);
        done({ exitCode, output, errors: errors.replaceAll(WAITS, '') });
      } catch (error) {
        fail(error);
      }
    });
  });
}

/** The PostgreSQL of a data directory: its main process, and the URL for a second service. */
export type RunningServer = { readonly processId: number; readonly databaseUrl: string };

/**
 * Reads the process id and the URL of a PostgreSQL server from its postmaster.pid. Rejects while the file is missing or
 * incomplete, because PostgreSQL creates it empty and adds line after line.
 */
export async function embeddedServerOf(dataDirectory: string): Promise<RunningServer> {
  const location = await readFile(join(dataDirectory, 'postgresql-location'), 'utf8').catch(() => '');
  const files = location.split('\n').find((line) => line !== '' && !line.startsWith('#')) ?? 'postgresql';
  const kept = await readFile(join(resolve(dataDirectory, files), 'postmaster.pid'), 'utf8');
  const [processId = '', , , port = '', socketDirectory = ''] = kept.split('\n');
  if (!(Number(processId) > 0) || socketDirectory === '') {
    throw new Error(`the postmaster.pid of ${dataDirectory} is not complete: ${JSON.stringify(kept)}`);
  }
  const host = encodeURIComponent(socketDirectory);
  return {
    processId: Number(processId),
    databaseUrl: `postgresql://transfer_service@/transfer_service?host=${host}&port=${port}`,
  };
}

/** Returns whether a process is still running. A zombie counts as ended. */
export async function isRunning(processId: number): Promise<boolean> {
  try {
    process.kill(processId, 0);
  } catch {
    return false;
  }
  const status = await readFile(`/proc/${processId}/stat`, 'utf8').catch(() => undefined);
  if (status === undefined) return process.platform !== 'linux';
  return !/^[ZX]/.test(status.slice(status.lastIndexOf(')') + 2));
}

/** Waits for a condition. Only broken code reaches the time limit. */
export async function waitFor(what: string, condition: () => Promise<boolean>, most = START_TIME): Promise<void> {
  const deadline = performance.now() + most;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`timed out waiting for: ${what}`);
    await new Promise((wake) => setTimeout(wake, 20));
  }
}

/**
 * Repeats an attempt that must finish before a future time, for example before a key expires. Each attempt gets more
 * time. Throws if an attempt fails before its time is up.
 */
export async function beforeMoment<Result>(attempt: (moment: Date) => Promise<Result>, first = 1000): Promise<Result> {
  for (let milliseconds = first; ; milliseconds *= 2) {
    const moment = new Date(Date.now() + milliseconds);
    const isLate = (): boolean => Date.now() >= moment.getTime() && milliseconds < START_TIME;
    try {
      const result = await attempt(moment);
      if (!isLate()) return result;
    } catch (error) {
      if (!isLate()) throw error;
    }
  }
}

// Finds the Node that runs the service and programs that use its database. Runs them in a child process and passes our
// signals to it. Plain JavaScript without packages, because in a fresh clone it runs on the machine's Node before anything is
// installed.
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { inOptionalPackage, placeOf, programAt } from '../installation.mjs';

/** The oldest Node that can run the service, and TypeScript without a build. */
export const OLDEST_NODE_OF_SERVICE = 24;

/** A failure that the reader can fix; its message says how, so no stack is shown. */
export class SetupProblem extends Error {
  /**
   * @param {string} message
   * @param {number} exitCode
   */
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * Returns `glibc`, `musl`, or an empty string on other systems. Reads the name of the loader at the beginning of Node's
 * executable, because a report of the process takes 50 ms.
 */
export function libraryOfC() {
  if (process.platform !== 'linux') return '';
  const loader = /\/ld-(linux|musl)-/.exec(beginningOf(process.execPath))?.[1];
  if (loader !== undefined) return loader === 'musl' ? 'musl' : 'glibc';
  // Without this the report looks up a name for every open connection, which can take seconds.
  process.report.excludeNetwork = true;
  const { header } = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (
    /** @type {unknown} */ (process.report.getReport())
  );
  return header.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}

/** @param {string} path */
function beginningOf(path) {
  const bytes = Buffer.alloc(2048);
  try {
    const file = openSync(path, 'r');
    readSync(file, bytes);
    closeSync(file);
  } catch {
    // A program may be executable without being readable. Its beginning then counts as empty.
  }
  return bytes.toString('latin1');
}

/** Returns the package with the pinned Node for this machine, or undefined if none is published for it. */
export function packageOfPinnedNode() {
  if (process.platform !== 'linux' || (process.arch !== 'x64' && process.arch !== 'arm64')) return undefined;
  return libraryOfC() === 'glibc' ? `node-linux-${process.arch}` : undefined;
}

export const isNewEnough = () => Number.parseInt(process.versions.node, 10) >= OLDEST_NODE_OF_SERVICE;

export function describeMissingNode() {
  const need = `Node ${OLDEST_NODE_OF_SERVICE} or later is needed to run the service, and this is ${process.versions.node}.`;
  if (libraryOfC() === 'musl') {
    return `This system uses musl (Alpine, for example). The Node and the PostgreSQL that come with this project are built for glibc and cannot run here. ${need} Install a current Node with the system's package manager, and set DATABASE_URL to the address of a PostgreSQL server, version 15 or later.`;
  }
  if (packageOfPinnedNode() === undefined) {
    return `This project does not come with a Node for ${process.platform} ${process.arch}. ${need} Install one from nodejs.org or with the system's package manager, then run the same command again.`;
  }
  return `${need} The one that comes with this project, the optional package ${packageOfPinnedNode()}, is not installed. Run "npm install --include=optional" here, or install Node ${OLDEST_NODE_OF_SERVICE} from nodejs.org, then run the same command again.`;
}

/**
 * Returns the path of the Node for the service: the pinned one if it is installed, otherwise the machine's if it is new enough.
 *
 * @returns {string}
 */
function chooseNode() {
  const name = packageOfPinnedNode();
  try {
    if (name !== undefined) {
      const node = join(dirname(inOptionalPackage(`${name}/package.json`)), 'bin', 'node');
      if (existsSync(node)) return node;
    }
  } catch {
    // The package is optional, so it may be missing.
  }
  if (isNewEnough()) return process.execPath;
  throw new SetupProblem(describeMissingNode());
}

/**
 * Whether a SIGINT came from Ctrl-C. The terminal sends it to every process of its foreground group, so our child already
 * has it. If we passed it on, one Ctrl-C would look like two, and the second one means "stop at once".
 */
function terminalSignalsTheGroup() {
  if (process.platform !== 'linux') return process.stdin.isTTY === true;
  try {
    // After the command's closing bracket: state, parent, group, session, terminal, the terminal's foreground group.
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return fields[2] === fields[5];
  } catch {
    return process.stdin.isTTY === true;
  }
}

/**
 * @typedef {{
 *   child: import('node:child_process').ChildProcess | undefined,
 *   received: NodeJS.Signals | undefined,
 *   stop: () => void,
 * }} Signals The child that receives the signals, the first signal received, and a function that stops passing signals on.
 */

/**
 * Passes each kind of signal on to the child once. npm repeats signals that its script already gets from the terminal, or
 * from a supervisor that signals the whole group. Before the child runs, a signal ends this process.
 *
 * @returns {Signals}
 */
export function passSignalsOn() {
  /** @type {Signals} */
  const signals = { child: undefined, received: undefined, stop: () => undefined };
  /** @type {(readonly [NodeJS.Signals, () => void])[]} */
  const listeners = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']).map((signal) => {
    let passedOn = false;
    const pass = () => {
      signals.received ??= signal;
      if (signals.child === undefined) process.exit(128 + constants.signals[signal]);
      if (passedOn || (signal === 'SIGINT' && terminalSignalsTheGroup())) return;
      passedOn = true;
      signals.child.kill(signal);
    };
    process.on(signal, pass);
    return [signal, pass];
  });
  signals.stop = () => {
    for (const [signal, pass] of listeners) process.off(signal, pass);
  };
  return signals;
}

/**
 * Treats the end of npm, or of npm's shell, as a SIGTERM. A signal can end them without reaching this process. Nothing
 * would then stop the child, and it would keep its port. Only for a process that npm started, because a program in the
 * background of a shell should outlive the shell.
 */
export function endWithNpm() {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    process.emit('SIGTERM');
  }, 250);
  watch.unref();
}

/**
 * Runs a program with Node and returns its exit code: 128 plus the signal's number if a signal ended it.
 *
 * @param {string} node
 * @param {readonly string[]} commandLine
 * @param {Signals} signals
 * @returns {Promise<number>}
 */
export function runToTheEnd(node, commandLine, signals) {
  return new Promise((resolve, reject) => {
    const child = spawn(node, commandLine, { stdio: 'inherit' });
    signals.child = child;
    child.on('error', (error) => reject(new SetupProblem(`The Node at ${node} cannot be started: ${error.message}.`)));
    child.on('exit', (code, signal) => resolve(signal === null ? (code ?? 1) : 128 + constants.signals[signal]));
  });
}

/**
 * Runs the service. In a clone it first builds the console if its sources have changed. The package contains the console.
 *
 * @param {string} node
 * @param {Signals} signals
 * @returns {Promise<number>}
 */
export async function runService(node, signals) {
  const consoleBuild = placeOf('tools/console/build.ts');
  if (existsSync(consoleBuild)) {
    // If this fails it reports why, and the service starts without the console.
    await runToTheEnd(node, [consoleBuild], signals);
    if (signals.received !== undefined) return 128 + constants.signals[signals.received];
  }
  return runToTheEnd(node, [programAt('server/main')], signals);
}

/**
 * Runs a task of server/host/administration.ts with the service's Node, and returns its exit code and standard output.
 *
 * @param {readonly string[]} task
 * @returns {Promise<{ readonly exitCode: number, readonly output: string }>}
 * @throws {SetupProblem} if no Node is new enough
 */
export async function readFromServiceNode(task) {
  const child = spawn(chooseNode(), [programAt('server/host/administration'), ...task], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ exitCode: code ?? 1, output }));
  });
}

/**
 * Runs the service, or a task of server/host/administration.ts, with the service's Node. Returns the exit code when it ends.
 *
 * @param {{ readonly task?: readonly string[], readonly isRunByNpm: boolean }} options
 * @returns {Promise<number>}
 * @throws {SetupProblem} if no Node is new enough
 */
export async function runOnServiceNode({ task, isRunByNpm }) {
  const node = chooseNode();
  const signals = passSignalsOn();
  if (isRunByNpm) endWithNpm();
  if (task === undefined) return runService(node, signals);
  return runToTheEnd(node, [programAt('server/host/administration'), ...task], signals);
}

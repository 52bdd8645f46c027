// Installs or updates the dependencies before anything else runs. Plain JavaScript for Node 20 or later, without any
// package, because nothing may be installed yet.
import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  accessSync,
  constants,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import { libraryOfC, packageOfPinnedNode, SetupProblem } from './service-node.mjs';

/** Returns the path of the pinned Node once it is installed, or undefined on a platform that has none. */
export function pinnedNode(root) {
  const name = packageOfPinnedNode();
  return name === undefined ? undefined : join(root, 'node_modules', name, 'bin', 'node');
}

const stampPath = (root) => join(root, 'node_modules', '.transfer-service-installed');
const lockPath = (root) => join(root, '.install-lock');

/** Hashes everything that an install depends on. A different lockfile, CPU or C library requires a new install. */
function fingerprint(root) {
  const parts = [process.platform, process.arch, libraryOfC(), readFileSync(join(root, 'package-lock.json'))];
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex');
}

function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const fits = (list, own) => list === undefined || list.includes(own);

/**
 * Whether npm's own record of node_modules matches the lockfile, for example after someone ran `npm ci`. Then nothing is
 * installed again. Optional packages for other platforms may be missing.
 */
function installedByHand(root) {
  const record = readIfThere(join(root, 'node_modules', '.package-lock.json'));
  if (record === undefined) return false;
  const installed = JSON.parse(record).packages;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const found = installed[path];
    if (found !== undefined) return found.version === entry.version && found.integrity === entry.integrity;
    const here = fits(entry.os, process.platform) && fits(entry.cpu, process.arch) && fits(entry.libc, libraryOfC());
    return entry.optional === true && (entry.os === undefined || !here);
  });
}

function isCurrent(root, wanted, withNode) {
  const pinned = withNode ? pinnedNode(root) : undefined;
  if (pinned !== undefined && !isExecutable(pinned)) return false;
  if (readIfThere(stampPath(root)) === wanted) return true;
  if (!installedByHand(root)) return false;
  try {
    writeFileSync(stampPath(root), wanted);
  } catch {
    // Another user installed the packages, so this user may not write the stamp. The installation is complete.
  }
  return true;
}

function isAlive(pid) {
  if (pid === undefined) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/**
 * Whether the owner of a lock is gone. If the owner is on another host (with a shared volume), only the age of the lock file
 * shows this.
 */
function isStale(path, owner) {
  let silentSeconds;
  try {
    silentSeconds = (Date.now() - statSync(path).mtimeMs) / 1000;
  } catch {
    return false;
  }
  if (owner.host !== hostname()) return silentSeconds > 60;
  // If the owner is killed, its npm keeps running, and no other process may install while npm writes. If the lock file was not
  // touched for five minutes, the process id must belong to another process by now.
  return silentSeconds > 300 || (!isAlive(owner.pid) && !isAlive(owner.installer));
}

function readLock(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Creates the lock with its content atomically: a link either takes the name or fails. */
function tryToLock(path, owner) {
  const draft = `${path}.${owner.token}`;
  try {
    writeFileSync(draft, JSON.stringify(owner));
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw new SetupProblem(`The dependencies cannot be installed: this directory is not writable (${error.code}).`);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Renames the lock before checking it: if two processes find a stale lock, the slower one does not remove the new lock of the faster one. */
function removeStale(path, seen) {
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
    if (readLock(aside)?.token !== seen.token) linkSync(aside, path);
  } catch {
    // Another process was faster.
  }
  rmSync(aside, { force: true });
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Waits while another process installs. Returns false if that install has made ours unnecessary. */
async function lockUnlessInstalled(root, owner, wanted, { what, withNode }) {
  const path = lockPath(root);
  let told = false;
  while (!tryToLock(path, owner)) {
    const other = readLock(path);
    if (other !== undefined && isStale(path, other)) {
      removeStale(path, other);
      continue;
    }
    if (!told && other !== undefined) process.stderr.write(`Waiting for another process to install ${what}.\n`);
    told = told || other !== undefined;
    await pause(200);
    if (readLock(path) === undefined && isCurrent(root, wanted, withNode)) return false;
  }
  return true;
}

/**
 * Returns the npm that runs this process, because a machine may have several. Yarn and other tools set the same variable to their
 * own path.
 */
function npmCommand() {
  const path = process.env.npm_execpath;
  if (path !== undefined && /^npm-cli\.[cm]?js$/.test(basename(path))) return [process.execPath, path];
  return ['npm'];
}

/** How often the progress of an install is logged when the output is not a terminal. */
const SAY_EVERY_MILLISECONDS = 10_000;

/** Shows the seconds on a terminal. Elsewhere it prints a line at intervals, so that a log is never silent for long. */
function showProgress(what, everyMilliseconds = SAY_EVERY_MILLISECONDS) {
  const started = Date.now();
  const seconds = () => Math.round((Date.now() - started) / 1000);
  const terminal = process.stderr.isTTY === true;
  const line = () => process.stderr.write(`\rInstalling ${what} (needed once): ${seconds()} s `);
  if (!terminal) process.stderr.write(`Installing ${what} (needed once).\n`);
  else line();
  const again = () => process.stderr.write(`Still installing ${what} (${seconds()} s).\n`);
  const timer = terminal ? setInterval(line, 1000) : setInterval(again, everyMilliseconds);
  return (succeeded) => {
    clearInterval(timer);
    if (terminal) process.stderr.write('\r\x1b[K');
    if (succeeded) process.stderr.write(`Installed ${what} in ${seconds()} s.\n`);
  };
}

function runNpm(root, onStart) {
  const [command, ...before] = npmCommand();
  // Ignores warnings about engines: they concern the machine's Node, which only starts the pinned one. Development packages are
  // included explicitly because NODE_ENV=production would leave them out and `npm test` needs them.
  const options = [
    '--loglevel=error',
    '--engine-strict=false',
    '--include=dev',
    '--include=optional',
    // This option is not in .npmrc, because there it would also apply to prepack.
    '--ignore-scripts',
    '--progress=false',
  ];
  return new Promise((resolve) => {
    const child = spawn(command, [...before, 'ci', ...options], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output = (output + text).slice(-20_000);
      });
    }
    child.on('spawn', () => onStart(child));
    child.on('error', (error) => resolve({ code: 1, signal: null, output, missing: error.code === 'ENOENT' }));
    child.on('close', (code, signal) => resolve({ code, signal, output, missing: false }));
  });
}

async function install(root, owner, wanted, signals, { what, sayEveryMilliseconds }) {
  const path = lockPath(root);
  const finish = showProgress(what, sayEveryMilliseconds);
  const heartbeat = setInterval(() => {
    try {
      utimesSync(path, new Date(), new Date());
    } catch {
      // Another process has taken the lock, but this npm still has to finish.
    }
  }, 5_000);
  const result = await runNpm(root, (child) => {
    signals.child = child;
    writeFileSync(`${path}.${owner.token}`, JSON.stringify({ ...owner, installer: child.pid }));
    renameSync(`${path}.${owner.token}`, path);
  });
  signals.child = undefined;
  clearInterval(heartbeat);
  const succeeded = result.code === 0 && signals.received === undefined;
  finish(succeeded);
  if (signals.received !== undefined) return;
  if (result.missing) throw new SetupProblem('npm was not found: install it (it comes with Node), then try again.');
  if (!succeeded) {
    process.stderr.write(`${result.output.trimEnd().split('\n').slice(-25).join('\n')}\n\n`);
    const ending = result.signal === null ? `exit code ${result.code}` : `signal ${result.signal}`;
    throw new SetupProblem(
      `Could not install ${what}: "npm ci" ended with ${ending}, for the reason above. Fix that and run the same command again.`,
    );
  }
  writeFileSync(stampPath(root), wanted);
}

/** The default subject of an install: its name in messages, and whether it includes the pinned Node. */
const OF_THE_PROJECT = { what: 'the dependencies', withNode: true };

/**
 * Installs the packages of package-lock.json unless they are installed. A signal during the install ends it: `signals` has
 * the first signal received, and the child that gets it.
 */
export async function ensureInstalled(root, signals, subject = OF_THE_PROJECT) {
  const wanted = fingerprint(root);
  if (isCurrent(root, wanted, subject.withNode)) return;
  const owner = { pid: process.pid, host: hostname(), token: randomUUID() };
  if (!(await lockUnlessInstalled(root, owner, wanted, subject))) return;
  try {
    if (!isCurrent(root, wanted, subject.withNode)) await install(root, owner, wanted, signals, subject);
  } finally {
    if (readLock(lockPath(root))?.token === owner.token) rmSync(lockPath(root), { force: true });
  }
}

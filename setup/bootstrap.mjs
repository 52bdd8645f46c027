// From whatever Node the machine has (20 or later) to a TypeScript file running on the Node this project is pinned to.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, libraryOfC, pinnedNode, SetupProblem } from './install.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const oldestNodeThatRunsTypeScript = 24;
/** What `npm start` runs, and what it needs before that. */
const serviceFile = 'server/main.ts';
const consoleBuild = 'setup/console/build.ts';
const machineNode = () => Number.parseInt(process.versions.node, 10);

/** The Node to run on. Asked before the install, so that nobody waits a minute to read that it was in vain. */
function chooseNode() {
  const pinned = pinnedNode(root);
  if (pinned !== undefined) return pinned;
  if (machineNode() >= oldestNodeThatRunsTypeScript) return process.execPath;
  const need = `Node ${oldestNodeThatRunsTypeScript} or later is needed, and this is ${process.versions.node}.`;
  if (libraryOfC() === 'musl') {
    throw new SetupProblem(
      `This system uses musl (Alpine, for example). The Node and the PostgreSQL that this project installs are built for glibc and cannot run here. ${need} Install a current Node with the system's package manager, and set DATABASE_URL to a PostgreSQL 15 or later.`,
    );
  }
  throw new SetupProblem(
    `No Node is published for this project on ${process.platform} ${process.arch}. ${need} Install one from nodejs.org or with the system's package manager, then run the same command again.`,
  );
}

/**
 * Whether a SIGINT came from Ctrl-C. The terminal sends that to every process of its foreground group, so our child
 * has it already; passing it on would make one Ctrl-C look like two, and a second one means "at once".
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
 * Passes each kind of signal on to the child, once: npm repeats what its script gets already from the terminal or from
 * a supervisor that signals a whole group. Before the child runs, a signal ends the install.
 */
function passSignalsOn() {
  const signals = { child: undefined, received: undefined };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    let passedOn = false;
    process.on(signal, () => {
      signals.received ??= signal;
      if (signals.child === undefined) process.exit(128 + constants.signals[signal]);
      if (passedOn || (signal === 'SIGINT' && terminalSignalsTheGroup())) return;
      passedOn = true;
      signals.child.kill(signal);
    });
  }
  return signals;
}

/**
 * npm's shell dies of a signal without a word to us, and npm may be killed outright. Either way nobody would be left
 * who could stop the child, which would go on holding its port: their end counts as a SIGTERM. Only under npm, since
 * whoever puts this program in the background of a shell and closes that means it to stay.
 */
function endWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    process.emit('SIGTERM');
  }, 250);
  watch.unref();
}

function runToTheEnd(node, commandLine, signals) {
  return new Promise((resolve, reject) => {
    const child = spawn(node, commandLine, { stdio: 'inherit' });
    signals.child = child;
    child.on('error', (error) => reject(new SetupProblem(`The Node at ${node} cannot be started: ${error.message}.`)));
    child.on('exit', (code, signal) => resolve(signal === null ? code : 128 + constants.signals[signal]));
  });
}

/**
 * Installs the dependencies if need be, runs a TypeScript file (its path counts from the project's root) with the
 * arguments, and ends this process with the file's exit code: 128 and the signal's number if a signal ended it.
 */
export async function runTypeScript(file, commandLineArguments) {
  try {
    if (machineNode() < 20) {
      throw new SetupProblem(`Node 20 or later is needed to start, and this is ${process.versions.node}.`);
    }
    const node = chooseNode();
    const signals = passSignalsOn();
    endWithNpm();
    await ensureInstalled(root, signals);
    if (signals.received !== undefined) process.exit(128 + constants.signals[signals.received]);
    if (file === serviceFile) {
      // The service starts without the console if this fails; it has said why.
      await runToTheEnd(node, [resolve(root, consoleBuild)], signals);
      if (signals.received !== undefined) process.exit(128 + constants.signals[signals.received]);
    }
    process.exit(await runToTheEnd(node, [resolve(root, file), ...commandLineArguments], signals));
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(error.exitCode);
  }
}

// Runs a TypeScript file on the pinned Node of the project. Any installed Node 20 or later can start this file.
import nodeModule from 'node:module';
import { constants } from 'node:os';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, pinnedNode } from './install.mjs';
import {
  describeMissingNode,
  endWithNpm,
  isNewEnough,
  passSignalsOn,
  runService,
  runToTheEnd,
  SetupProblem,
} from './service-node.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const compileCache = resolve(root, 'node_modules', '.compile-cache');
const serviceFile = 'server/main.ts';

/** Returns the Node to run on. It is chosen before the install, so that a missing Node is reported at once. */
function chooseNode() {
  const pinned = pinnedNode(root);
  if (pinned !== undefined) return pinned;
  if (isNewEnough()) return process.execPath;
  throw new SetupProblem(describeMissingNode());
}

/** Installs the dependencies if they are missing or outdated. Passes signals on to the program if it is a separate process. */
async function prepare() {
  if (Number.parseInt(process.versions.node, 10) < 20) {
    throw new SetupProblem(`Node 20 or later is needed to start, and this is ${process.versions.node}.`);
  }
  const node = chooseNode();
  const signals = passSignalsOn();
  if (process.env.npm_lifecycle_event !== undefined) endWithNpm();
  await ensureInstalled(root, signals);
  if (signals.received !== undefined) process.exit(128 + constants.signals[signals.received]);
  // Most of a program's load time goes into TypeScript; this caches the compiled JavaScript.
  process.env.NODE_COMPILE_CACHE ??= compileCache;
  return { node, signals };
}

async function endWithProblem(run) {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(error.exitCode);
  }
}

/**
 * Installs the dependencies if they are missing or outdated. Then runs a TypeScript file (its path is relative to the project's
 * root) with the arguments, and exits with its exit code. If a signal ended the program, the exit code is 128 plus the signal's
 * number.
 */
export function runTypeScript(file, commandLineArguments) {
  return endWithProblem(async () => {
    const { node, signals } = await prepare();
    if (file === serviceFile) process.exit(await runService(node, signals));
    process.exit(await runToTheEnd(node, [resolve(root, file), ...commandLineArguments], signals));
  });
}

/**
 * Prepares and runs the command line. It runs in this process if its Node can run TypeScript, because a second Node takes time to
 * start.
 */
export function runCommandLine() {
  return endWithProblem(async () => {
    const { node, signals } = await prepare();
    if (!isNewEnough()) {
      process.exit(await runToTheEnd(node, [resolve(root, 'cli/main.ts'), ...process.argv.slice(2)], signals));
    }
    signals.stop();
    nodeModule.enableCompileCache(process.env.NODE_COMPILE_CACHE);
    await import('./main.ts');
  });
}

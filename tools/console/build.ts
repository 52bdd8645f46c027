// Builds the console into console/built: node tools/run.mjs tools/console/build.ts. `npm start` and `npm test` run it when the
// sources have changed.
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../command.ts';
import { packagesAmong } from '../supply-chain/packages.ts';
import { BUILT, type Build, isBuilt, stampOf } from './stamp.ts';

const target = join(root, BUILT);

/** Builds into a temporary folder and renames it, so that no service reads half a console. */
async function buildConsole(stamp: string): Promise<Build> {
  const draft = `${target}.${process.pid}`;
  try {
    const made = await buildInto(draft, stamp);
    rmSync(target, { recursive: true, force: true });
    renameSync(draft, target);
    return made;
  } catch (error) {
    // Another process was faster, with the same result.
    if (isBuilt(root, stamp)) return { stamp, files: [], packages: [] };
    throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

async function buildInto(folder: string, stamp: string): Promise<Build> {
  let made: Build;
  try {
    // Vite is loaded on demand. Most starts have nothing to build, and loading it takes longer than comparing the stamp.
    const [{ build }, { VITE_OPTIONS }] = await Promise.all([import('vite'), import('./vite-options.ts')]);
    const built = await build({ ...VITE_OPTIONS, build: { ...VITE_OPTIONS.build, outDir: folder } });
    made = { stamp, files: filesIn(folder), packages: packagesAmong(root, sourcesOf(built)) };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    made = { stamp, files: [], packages: [], failure: firstLines(error) };
  }
  writeFileSync(join(folder, 'build.json'), `${JSON.stringify(made)}\n`);
  return made;
}

/** The package with the colors of console/styles/tokens.css: see tools/generate.ts. */
const COLORS = join(root, 'node_modules/@radix-ui/colors/index.mjs');

/** The modules and fonts in a build, and the package whose colors its stylesheet contains. */
function sourcesOf(built: Awaited<ReturnType<typeof import('vite').build>>): readonly string[] {
  const outputs = Array.isArray(built) ? built : 'output' in built ? [built] : [];
  const sources = outputs.flatMap(({ output }) =>
    output.flatMap((file) =>
      file.type === 'chunk' ? file.moduleIds : file.originalFileNames.map((name) => join(root, 'console', name)),
    ),
  );
  return [...sources, COLORS];
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .sort();
}

function firstLines(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  // Vite colors its messages even if the output is not a terminal.
  const plain = text.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g'), '').replaceAll(root, '.');
  return plain.trim().split('\n').slice(0, 6).join('\n');
}

const started = performance.now();
const stamp = stampOf(root);
if (!isBuilt(root, stamp) || process.argv.includes('--force')) {
  const { failure } = await buildConsole(stamp);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (failure === undefined) console.log(`Built the console in ${seconds} s.`);
  else console.error(`The console could not be built, so the service runs without it:\n${failure}\n`);
  if (failure !== undefined) process.exitCode = 1;
}

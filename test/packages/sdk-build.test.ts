import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import manifestOfService from '../../package.json' with { type: 'json' };
import { folderWith, packedSdk, runAsUser } from './packed.ts';

// Tests the contents of the SDK's tarball, and the size of the SDK in a browser.

/** The documented limit for the whole SDK, minified and compressed, as a page loads it. */
const MAX_BUNDLE_BYTES = 15_000;
/**
 * The limit for the modules in the tarball, which are not minified. Without a limit, the generated modules would grow
 * unnoticed. The limit was 16,500 at first. Cases and incidents (16 operations and `openCase`) raised it to 17,500,
 * attempts, connectors and breaks (6 operations) to 18,000, names with escapes to 18,500, people with their sign-in (6
 * operations, 9 codes) to 19,000, approvals and access (9 operations) to 19,500, and move-ins and comparisons (11
 * operations, 5 codes) to 19,700.
 */
const MAX_MODULES_BYTES = 19_700;

let sdk: string;
beforeAll(async () => {
  sdk = join((await packedSdk()).folder, 'node_modules', '@transfer-service', 'sdk');
});

const filesOf = (): readonly string[] =>
  readdirSync(sdk, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(sdk.length + 1))
    .sort();

/** Bundles everything that the SDK exports, minified as a bundler does. */
async function bundle(): Promise<string> {
  const output = await build({
    configFile: false,
    logLevel: 'error',
    root: sdk,
    build: {
      write: false,
      target: 'es2022',
      rolldownOptions: { input: join(sdk, 'dist/client.js'), preserveEntrySignatures: 'strict' },
    },
  });
  const [{ output: chunks } = { output: [] }] = 'output' in output ? [output] : [];
  return chunks.map((chunk) => ('code' in chunk ? chunk.code : '')).join('');
}

const compressedBytes = (text: string): number => gzipSync(text, { level: 9 }).length;

describe('the tarball of the SDK', () => {
  test('contains the built modules with their types, and no sources or tests', () => {
    const files = filesOf();
    const others = files.filter((file) => !file.startsWith('dist/'));
    expect(others).toEqual(['LICENSE', 'README.md', 'package.json']);
    const modules = files.filter((file) => file.endsWith('.js'));
    expect(modules).toContain('dist/client.js');
    const built = modules.flatMap((file) => [file, file.replace(/\.js$/, '.d.ts')]).sort();
    expect(files.filter((file) => file.startsWith('dist/'))).toEqual(built);
  });

  test('has the right manifest, no dependency and no install script', () => {
    const manifest = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8'));
    const { version } = manifestOfService;
    expect(manifest).toMatchObject({ name: '@transfer-service/sdk', version, type: 'module', license: 'MIT' });
    expect(manifest).toMatchObject({ sideEffects: false, engines: { node: '>=20' } });
    for (const path of Object.values<string>(manifest.exports['.'])) expect(filesOf()).toContain(path.slice(2));
    for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies', 'private'])
      expect(manifest).not.toHaveProperty(kind);
    expect(Object.keys(manifest.scripts)).toEqual(['prepack']);
    expect(readdirSync(join(sdk, '..', '..')).filter((name) => !name.startsWith('.'))).toEqual(['@transfer-service']);
  });

  test('imports only its own modules, under names that Node and browsers understand', () => {
    for (const file of filesOf().filter((one) => /\.(?:js|d\.ts)$/.test(one))) {
      const text = readFileSync(join(sdk, file), 'utf8');
      const imported = [...text.matchAll(/(?:\bfrom |\bimport\(|^import )'([^']+)'/gm)].map(([, name = '']) => name);
      for (const name of imported) expect(name, file).toMatch(/^\.{1,2}\/[a-z/-]+\.js$/);
    }
  });

  test('has a comment for every declaration, and no comments in the code', () => {
    const declarations = readFileSync(join(sdk, 'dist/generated/resources.d.ts'), 'utf8').split('\n');
    const methods = declarations.flatMap((line, at) => (/^ {4}\w+\(/.test(line) ? [at] : []));
    expect(methods.length).toBeGreaterThan(80);
    for (const at of methods) {
      const isConstructor = declarations[at]?.includes('constructor(');
      expect(isConstructor || declarations[at - 1]?.trimEnd().endsWith('*/'), declarations[at]).toBe(true);
    }
    for (const file of filesOf().filter((one) => one.endsWith('.js')))
      expect(readFileSync(join(sdk, file), 'utf8'), file).not.toMatch(/^\s*(?:\/\*|\/\/)/m);
  });
});

describe('the size of the SDK', () => {
  test('is at most 15 KB in a bundle, compressed', async () => {
    const code = await bundle();
    expect(code).toContain('create_transfer');
    expect(code).toContain('whsec_');
    const bytes = compressedBytes(code);
    console.log(`bundle: ${code.length} bytes, ${bytes} compressed`);
    expect(bytes).toBeLessThanOrEqual(MAX_BUNDLE_BYTES);
  });

  test('is not much larger with the separate modules of the tarball', () => {
    const modules = filesOf().filter((file) => file.endsWith('.js'));
    const code = modules.map((file) => readFileSync(join(sdk, file), 'utf8')).join('');
    const bytes = compressedBytes(code);
    console.log(`modules: ${code.length} bytes, ${bytes} compressed`);
    expect(bytes).toBeLessThanOrEqual(MAX_MODULES_BYTES);
  });
});

test('errors keep their names in a bundle that renames classes', async () => {
  const folder = await folderWith(await packedSdk());
  onTestFinished(folder.remove);
  await writeFile(join(folder.path, 'bundle.mjs'), await bundle());
  const program = `import { RequestError, TransferService } from './bundle.mjs';
const record = { Message: 'No.', Status: 409, Code: 'card_lost', Type: 'Request Error' };
const fetch = async () => Response.json(record, { status: 409, headers: { 'Money-Moved': 'no' } });
const error = await new TransferService({ fetch }).cards.get('card_lost').catch((thrown) => thrown);
console.log(error instanceof RequestError, error.name);
console.log(error);`;
  await writeFile(join(folder.path, 'print.mjs'), program);
  const { stdout } = await runAsUser(process.execPath, ['print.mjs'], { cwd: folder.path });
  expect(stdout).toMatch(/^true RequestError\nRequestError \[card_lost\]: No\. \(money moved: no\)\n {4}at /);
});

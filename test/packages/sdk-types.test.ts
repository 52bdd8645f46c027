import { copyFileSync, existsSync, symlinkSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { folderWith, packedSdk, runAsUser } from './packed.ts';

// Compiles the SDK's types as a user's strict compiler would, including the declarations in packages.

const ROOT = join(import.meta.dirname, '..', '..');
const TOOLS = join(import.meta.dirname, 'tools', 'node_modules');
const COMPILERS = {
  'TypeScript 5.4': join(TOOLS, 'typescript-5.4', 'bin', 'tsc'),
  'TypeScript 7': join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'),
};
const STRICT = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  noEmit: true,
  target: 'es2022',
};

let folder: Awaited<ReturnType<typeof folderWith>>;
beforeAll(async () => {
  folder = await folderWith(await packedSdk());
  copyFileSync(join(import.meta.dirname, 'programs', 'use-types.mts'), join(folder.path, 'use-types.mts'));
  await mkdir(join(folder.path, 'types'));
  symlinkSync(join(TOOLS, '@types', 'node'), join(folder.path, 'types', 'node'));
});
afterAll(() => folder.remove());

async function compile(compiler: string, options: object, file = 'use-types.mts'): Promise<string> {
  const project = join(folder.path, 'tsconfig.json');
  await writeFile(project, JSON.stringify({ compilerOptions: { ...STRICT, ...options }, files: [file] }));
  return runAsUser(process.execPath, [compiler, '--project', project], { cwd: folder.path }).then(
    ({ stdout }) => stdout,
    (error: { readonly stdout: string }) => error.stdout,
  );
}

describe.each(Object.entries(COMPILERS))('%s', (_, compiler) => {
  describe.each([
    ['nodenext', { module: 'nodenext', moduleResolution: 'nodenext' }],
    ['bundler', { module: 'esnext', moduleResolution: 'bundler' }],
  ])('%s', (_name, resolution) => {
    test.each([
      ['with the types of Node', { lib: ['es2022'], typeRoots: ['types'], types: ['node'] }],
      ['with the types of a browser', { lib: ['es2022', 'dom', 'dom.iterable'], types: [] }],
    ])('compiles %s', async (_where, environment) => {
      expect(existsSync(compiler), 'run "node tools/fetch-packages.mjs tools"').toBe(true);
      expect(await compile(compiler, { ...resolution, ...environment })).toBe('');
    });
  });

  test('reports code that the service would refuse', async () => {
    await writeFile(
      join(folder.path, 'wrong.mts'),
      `import { type ErrorCode, TransferService } from '@transfer-service/sdk';
const service = new TransferService({ apiKey: 'tsk_1' });
service.transfers.create({ amout: 1000, card_id: 'card_active' });
service.transfers.list({ status: 'complete' });
export const code: ErrorCode = 'insufficient_fund';
`,
    );
    const options = { module: 'nodenext', moduleResolution: 'nodenext', lib: ['es2022', 'dom'], types: [] };
    const lines = (await compile(compiler, options, 'wrong.mts')).match(/^wrong\.mts\(\d+/gm);
    expect(lines).toEqual([2, 3, 4, 5].map((line) => `wrong.mts(${line}`));
    await rm(join(folder.path, 'wrong.mts'));
  });
});

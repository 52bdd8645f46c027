import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { fileOf, readSources } from './mutant.ts';
import { MUTANTS } from './mutants.ts';
import { SELECTION } from './selection.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const sources = await readSources(ROOT);
const read = (file: string) => readFile(resolve(ROOT, file), 'utf8').catch(() => '');

test.each(MUTANTS)('the mutant $name fits the source and the tests', async ({ witnesses, also = [], ...first }) => {
  for (const edit of [first, ...also]) fileOf(edit, sources);
  for (const { file, only = '' } of witnesses) {
    expect(await read(file), `${file} has tests named: ${only}`).toMatch(new RegExp(`(test|it)[\\s\\S]*${only}`));
  }
});

test('the mutants of npm run verify exist', () => {
  const names = MUTANTS.map(({ name }) => name);
  expect(SELECTION.filter((name) => !names.includes(name))).toEqual([]);
});

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { MUTANTS } from './mutants.ts';
import { SELECTION } from './selection.ts';

const read = (file: string) => readFile(resolve(import.meta.dirname, '../..', file), 'utf8').catch(() => '');

test.each(MUTANTS)('the mutant $name fits the source and the tests', async ({ witnesses, also = [], ...first }) => {
  for (const { file, find } of [first, ...also]) {
    expect((await read(file)).split(find).length - 1, `times in ${file}: ${find.trim()}`).toBe(1);
  }
  for (const { file, only = '' } of witnesses) {
    expect(await read(file), `${file} has tests named: ${only}`).toMatch(new RegExp(`(test|it)[\\s\\S]*${only}`));
  }
});

test('the mutants of npm run verify exist', () => {
  const names = MUTANTS.map(({ name }) => name);
  expect(SELECTION.filter((name) => !names.includes(name))).toEqual([]);
});

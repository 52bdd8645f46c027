import { readdir, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { RUNS } from '../campaigns/cluster.ts';
import { CAMPAIGNS } from '../campaigns.ts';
import { changedBy, parse, readSources } from './mutant.ts';
import { MUTANTS } from './mutants.ts';
import { SELECTION } from './selection.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const sources = await readSources(ROOT);
const read = (file: string) => readFile(resolve(ROOT, file), 'utf8').catch(() => '');

test.each(MUTANTS)('the mutant $name can be applied, and its tests exist', async ({ witnesses, edits }) => {
  for (const [path, text] of changedBy(edits, sources)) {
    expect(text).not.toBe(sources.get(path));
    if (path.endsWith('.json')) JSON.parse(text);
    else if (!path.endsWith('.sql')) parse(path, text);
  }
  for (const { file, only = '' } of witnesses) {
    expect(await read(file), `${file} has a test named: ${only}`).toMatch(new RegExp(`['"\`].*${only}`));
  }
});

test('every mutant of npm run verify exists, and names are unique', () => {
  const names = MUTANTS.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
  expect(SELECTION.filter((name) => !names.includes(name))).toEqual([]);
});

test('CAMPAIGNS names every campaign once, and every nemesis is used in a campaign', async () => {
  const readAll = async (folder: string) => {
    const files = (await readdir(resolve(ROOT, folder))).filter((file) => !file.endsWith('.test.ts'));
    return Promise.all(files.map(async (file) => [file, await read(`${folder}/${file}`)] as const));
  };
  const campaigns = await readAll('verification/campaigns');
  const files = campaigns.flatMap(([file, text]) => (text.includes('function run(setting') ? [file.slice(0, -3)] : []));
  expect(CAMPAIGNS.map(({ name }) => name).toSorted()).toEqual([...files, ...Object.keys(RUNS)].toSorted());
  for (const { name, run } of CAMPAIGNS)
    expect(String(run)).toContain(`campaigns/${Object.hasOwn(RUNS, name) ? 'cluster' : name}.ts`);

  const nemeses = (await readAll('verification/nemeses')).flatMap(([, text]) => [
    ...text.matchAll(/^export const (\w+)\b.*\bNemesis</gm),
  ]);
  expect(nemeses.length).toBeGreaterThan(0);
  for (const [, name] of nemeses) expect(campaigns.join('\n')).toMatch(new RegExp(`\\b${name}\\b`));
});

test.each([
  ['text that is missing', 'Chain.close', 'this.open', 0],
  ['text that occurs twice', 'Chain', 'this.ends', 2],
  ['a symbol that is not declared', 'Chain.ends', 'this.ends', 0],
])('refuses an edit of %s', (_, where, text, times) => {
  const source = 'class Chain {\n  close() {\n    this.ends();\n  }\n  fail() {\n    this.ends();\n  }\n}\n';
  const edit = () => changedBy({ [where]: [text, ''] }, new Map([['server/chain.ts', source]]));
  expect(edit).toThrow(`this occurs ${times} times in ${where}`);
});

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { LISTED_SETTINGS } from '../../server/foundation/configuration/settings.ts';

const read = (file: string): string => readFileSync(resolve(import.meta.dirname, '../..', file), 'utf8');

/** The rows of the table in docs/retention.md, split into cells. */
const rows = read('docs/retention.md')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
const quoted = (text: string): readonly string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

test('docs/retention.md describes every table of the schema exactly once', () => {
  const lines = read('server/store/migrations/schema.txt').matchAll(/^table ([a-z_]+) column /gm);
  const tables = new Set([...lines].map(([, name = '']) => name).filter((name) => !name.endsWith('_default')));
  const described = rows.flatMap(([where = '']) => quoted(where).filter((name) => /^[a-z_]+$/.test(name)));
  expect(described.toSorted()).toEqual([...tables].toSorted());
});

test('docs/retention.md names every retention setting, and no others', () => {
  const named = new Set(rows.flatMap((cells) => quoted(cells[4] ?? '')));
  const known = LISTED_SETTINGS.map(({ name }) => name).filter((name) => name.endsWith('RETENTION_DAYS'));
  expect([...named].toSorted()).toEqual(known.toSorted());
});

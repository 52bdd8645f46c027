import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERRORS } from '../../contract/errors/catalogue.ts';
import { type ErrorCode, OPERATIONS } from '../../contract/operations.ts';
import { CARD_MOVES } from '../../domain/cards/card.ts';
import { TRANSFER_MOVES } from '../../domain/transfers/transfer.ts';
import { SECTIONS, withSections } from '../../tools/guides/sections.ts';

const read = (file: string) => readFileSync(join(import.meta.dirname, '..', '..', file), 'utf8');

describe.each(Object.keys(SECTIONS))('the generated sections of %s', (file) => {
  it('are current', () => {
    expect(withSections(file, read(file))).toBe(read(file));
  });

  it('replace manual edits, and nothing else', () => {
    const changed = read(file).replace(/(<!-- generated: .* -->\n\n)/, '$1Stale.\n');
    expect(changed).not.toBe(read(file));
    expect(withSections(file, changed)).toBe(read(file));
  });

  it('cannot be generated without their markers', () => {
    expect(() => withSections(file, read(file).replace('<!-- end of generated: ', '<!-- end: '))).toThrow(
      'has no place for',
    );
  });
});

describe('the diagrams', () => {
  it('draw every move of a transfer', () => {
    const lines = TRANSFER_MOVES.map(({ from, command, to }) => `    ${from ?? '[*]'} --> ${to}: ${command}`);
    expect(read('docs/transfers.md').split('\n')).toEqual(expect.arrayContaining(lines));
  });

  it('draw every change of the status of a card', () => {
    const lines = Object.entries(CARD_MOVES).flatMap(([from, all]) => all.map((to) => `    ${from} --> ${to}`));
    expect(read('docs/cards.md').split('\n')).toEqual(expect.arrayContaining(lines));
  });
});

it('docs/console.md has every screen with its scope, in the order of the table', () => {
  // The table is read as text, because it names screens, which only a browser can load.
  const table = read('console/app/routes.ts');
  const entries = [...table.matchAll(/path: '([^']+)',\n {4}title: '([^']+)',[\s\S]*?scope: (?:'([^']+)'|undefined)/g)];
  const guide = read('docs/console.md');
  const rows = [...guide.matchAll(/^\| ([^|]+), `(\/console[^`]*)` \| [^|]+ \| (?:`([a-z:]+)` )?\|$/gm)];
  expect(entries.length).toBeGreaterThan(15);
  expect(rows.map(([, title, path, scope]) => [path, title, scope])).toEqual(
    entries.map(([, path, title, scope]) => [path, title, scope]),
  );
});

/** Returns the guide's advice to a reader about an error: the first cell of the first row that fits. */
function rowFor(code: ErrorCode): string {
  const [, table = ''] = read('docs/errors-and-retries.md').split('## What to do');
  const rows = [...table.matchAll(/^\| (.+?) \| .+ \|$/gm)].map(([, cell = '']) => cell);
  const { status } = ERRORS[code];
  const fits = (cell: string): boolean =>
    cell.includes(`\`${code}\``) || cell.includes(`status ${status}`) || cell === 'any other `Request Error`';
  return rows.find(fits) ?? '';
}

it('the guide does not blame an application if a customer enters too large an amount', () => {
  const codes = OPERATIONS.create_transfer.errors.filter((code) => ERRORS[code].problem === 'A limit was reached');
  expect(codes).toEqual(['amount_too_small', 'amount_too_large', 'limit_exceeded']);
  for (const code of codes) expect(rowFor(code), code).not.toBe('any other `Request Error`');
  expect(rowFor('create_transfer_schema')).toBe('any other `Request Error`');
});

import { globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { readMessageIndex } from '../../../test/harness/runbook.ts';
import { READINESS_PAGES, RUNBOOK, runbookLine, runbookPath } from '../../foundation/runbook.ts';

// Messages name their pages, so each page must exist and cover its messages.

const root = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(resolve(root, path), 'utf8');
const pages = Object.keys(RUNBOOK) as (keyof typeof RUNBOOK)[];

test('every page has a file that begins with its title', () => {
  const files = readdirSync(resolve(root, 'docs/runbook')).filter((file) => file !== 'README.md');
  expect(files.sort()).toEqual(pages.map((page) => basename(runbookPath(page))).sort());
  for (const page of pages) expect(read(runbookPath(page)).split('\n')[0]).toBe(`# ${RUNBOOK[page]}`);
});

test('every page is used by a problem, a state or an alert', () => {
  const code = globSync('server/**/*.ts', { cwd: root }).filter((path) => !/runbook\.ts$|\.test\.ts$/.test(path));
  const alerts = globSync('ops/*.yml', { cwd: root });
  const text = [...code, ...alerts].map(read).join('\n');
  const ofStates: readonly string[] = Object.values(READINESS_PAGES);
  const isUsed = (page: string): boolean =>
    ofStates.includes(page) || text.includes(`'${page}'`) || text.includes(`docs/runbook/${page}.md`);
  expect(pages.filter((page) => !isUsed(page))).toEqual([]);
});

test('the index lists every page with its title', () => {
  const index = read('docs/runbook/README.md');
  for (const page of pages) expect(index).toContain(`[${RUNBOOK[page]}](${page}.md)`);
});

test('every page has the same sections', () => {
  for (const page of pages) {
    const parts = read(runbookPath(page)).match(/^## .*$/gm);
    expect(parts, page).toEqual([
      '## What it means',
      '## Is money at risk?',
      '## What to do',
      '## How to tell that it is resolved',
    ]);
  }
});

test('the source contains every message that the index quotes', () => {
  const code = globSync('server/**/*.ts', { cwd: root }).filter((path) => !path.endsWith('.test.ts'));
  // Joins strings that the source splits over several lines.
  const text = code
    .map(read)
    .join('\n')
    .replaceAll(/['`"] \+\s+['`"]/g, '')
    .replaceAll("\\'", "'");
  const rows = readMessageIndex();
  expect(rows.length).toBeGreaterThan(60);
  expect(rows.flatMap(({ pieces }) => pieces).filter((piece) => !text.includes(piece))).toEqual([]);
});

test('the index of messages has every page that a startup problem names', () => {
  const code = globSync('server/**/*.ts', { cwd: root }).map(read).join('\n');
  const named = new Set([...code.matchAll(/StartupProblem\(\s*'([a-z-]+)'/g)].map(([, page]) => page ?? ''));
  const found = new Set(readMessageIndex().map(({ page }) => page));
  expect([...named].filter((page) => !found.has(page))).toEqual([]);
});

test('the runbook line is right in a clone, in a different folder, and in the package or a container', () => {
  const path = resolve(root, 'docs/runbook/disk-full.md');
  expect(runbookLine('disk-full', root)).toBe('Runbook: docs/runbook/disk-full.md');
  expect(runbookLine('disk-full', '/')).toBe(`Runbook: ${path}`);
  expect(runbookLine('disk-full', root, false)).toBe(`Runbook: transfer-service runbook disk-full, or ${path}`);
});

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { untilShown, useConsole } from '../harness/use-console.ts';

const BUILT = join(import.meta.dirname, '..', '..', '..', 'console', 'built');

/** Bytes after gzip: of what the first page loads, and of everything that can be loaded. The design's own are 90 and 150. */
const MAX_FIRST_LOAD_BYTES = 110_000;
const MAX_TOTAL_BYTES = 150_000;

const { openConsole } = useConsole();
test('the first page loads few bytes', async () => {
  const page = await openConsole('/errors');
  const sizes = new Map<string, number>();
  page.on('response', async (response) => {
    const { pathname } = new URL(response.url());
    if (!pathname.startsWith('/console')) return;
    expect(response.headers()['content-encoding'], pathname).toBe('gzip');
    sizes.set(pathname, Number(response.headers()['content-length']));
  });
  await page.goto('/console');
  await untilShown(page);
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  expect(sizes.size).toBeGreaterThan(2);
  expect(bytes, JSON.stringify([...sizes])).toBeGreaterThan(10_000);
  expect(bytes, JSON.stringify([...sizes])).toBeLessThan(MAX_FIRST_LOAD_BYTES);
});

test('all files together are small', () => {
  const { files } = JSON.parse(readFileSync(join(BUILT, 'build.json'), 'utf8')) as {
    readonly files: readonly string[];
  };
  const sizes = files.map((file) => [file, statSync(join(BUILT, `${file}.gz`)).size] as const);
  const bytes = sizes.reduce((sum, [, size]) => sum + size, 0);
  expect(sizes.length).toBeGreaterThan(10);
  expect(bytes, JSON.stringify(sizes)).toBeLessThan(MAX_TOTAL_BYTES);
});

import { expect, test } from 'vitest';
import { untilShown, useConsole } from '../harness/use-console.ts';

/** Bytes after gzip. The design allows 90,000; `test/pages/console.test.ts` reads the files, and here a browser chooses them. */
const MAX_FIRST_LOAD_BYTES = 110_000;

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

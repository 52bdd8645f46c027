import type { Page, Route } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { createAll } from '../../harness/client/patience.ts';
import { makeWorld, type World } from '../harness/sample-world.ts';
import { pressKeys, untilShown, useConsole } from '../harness/use-console.ts';
import { addressOf, SCREENS } from './screens.ts';

/**
 * The maximum size of the console's first page in bytes, as it is sent, without fonts. `test/pages/console.test.ts` counts the files
 * themselves, but here a browser decides which files to load.
 */
const MAX_FIRST_LOAD_BYTES = 110_000;

/** The maximum size of the script that one screen needs in bytes, as it is sent. To add a part to a full screen, load one later. */
const MAX_SCREEN_BYTES = 60 * 1024;

/** Dialogs that no screen needs. The console loads them, and then the files that only they need, when it has nothing else to do. */
const PRELOADED = /\/(?:search-palette|caller-dialog)-/;

/** The requests that an open overview repeats, with their shortest intervals. */
const POLLS = [
  { path: '/api/v0.1/operator/overview', everyMilliseconds: 2_000 },
  { path: '/api/v0.1/operator/switch', everyMilliseconds: 5_000 },
  // This request is sent only in a sandbox, where anyone can move the clock.
  { path: '/api/v0.1/console/session', everyMilliseconds: 5_000 },
] as const;

/** The maximum number of rows that a list may have in the document. */
const MAX_ROWS = 300;

const { service, openConsole } = useConsole();
let world: World;

beforeAll(async () => {
  world = await makeWorld(service());
});

test('the first page loads no more bytes than allowed', async () => {
  const page = await openConsole('/errors');
  const sizes = new Map<string, number>();
  page.on('response', async (response) => {
    const { pathname } = new URL(response.url());
    if (!pathname.startsWith('/console')) return;
    const coding = pathname.endsWith('.woff2') ? undefined : pathname.includes('/assets/') ? 'br' : 'gzip';
    expect(response.headers()['content-encoding'], pathname).toBe(coding);
    if (coding === undefined) return;
    sizes.set(pathname, Number(response.headers()['content-length']));
  });
  await page.goto('/console');
  await untilShown(page);
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  expect(sizes.size).toBeGreaterThan(2);
  expect(bytes, JSON.stringify([...sizes])).toBeGreaterThan(10_000);
  expect(bytes, JSON.stringify([...sizes])).toBeLessThan(MAX_FIRST_LOAD_BYTES);
});

/** Returns when a page first painted a text or a picture, in milliseconds after the browser began to open it. */
const firstPaintOf = (page: Page): Promise<number | undefined> =>
  page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);

test('no screen needs more script than allowed', async () => {
  const found: Record<string, number> = {};
  const paints: string[] = [];
  const scripts: Record<string, readonly (readonly [name: string, bytes: number])[]> = {};
  for (const route of SCREENS) {
    // Each page except the first is in a new profile of the browser, without stored files.
    const page = await openConsole(addressOf(route, world));
    paints.push(`${route.title} ${Math.round((await firstPaintOf(page)) ?? Number.NaN)}`);
    const loaded = await page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .filter(({ name }) => name.endsWith('.js'))
        .map((one) => ({
          name: new URL(one.name).pathname,
          bytes: (one as PerformanceResourceTiming).encodedBodySize,
          startedAt: one.startTime,
        })),
    );
    const preloadedAt = Math.min(...loaded.flatMap((one) => (PRELOADED.test(one.name) ? [one.startedAt] : [])));
    const needed = loaded.flatMap(({ name, bytes, startedAt }) =>
      startedAt < preloadedAt ? [[name, bytes] as const] : [],
    );
    scripts[route.title] = needed;
    found[route.title] = needed.reduce((sum, [, bytes]) => sum + bytes, 0);
  }
  const sizes = Object.entries(found);
  expect(sizes).toHaveLength(SCREENS.length);
  // The code of every screen, and not an empty list because of a cache.
  expect(sizes.filter(([, bytes]) => bytes < 10_000)).toEqual([]);
  console.log(`script of screens: ${sizes.map(([title, bytes]) => `${title} ${bytes}`).join(', ')}`);
  // How long a paint takes depends on the machine, so it is only printed. The next test checks that it does not wait for data.
  console.log(`first paint of screens, in milliseconds: ${paints.join(', ')}`);
  const large = sizes.filter(([, bytes]) => bytes > MAX_SCREEN_BYTES);
  expect(large, JSON.stringify(large.map(([title]) => scripts[title]))).toEqual([]);
});

test('each screen paints before it has data', async () => {
  const page = await openConsole('/errors');
  const waiting: Route[] = [];
  await page.route('**/api/**', (request) => void waiting.push(request));
  for (const route of SCREENS) {
    await page.goto(addressOf(route, world));
    await expect.poll(() => firstPaintOf(page), { message: route.title }).toBeGreaterThan(0);
    // The screen has asked for data, and has no response.
    await expect.poll(() => waiting.length, { message: route.title }).toBeGreaterThan(0);
    waiting.length = 0;
  }
});

test('a list keeps only a few pages of rows in the document', async () => {
  const { client } = service();
  const transfers = Array.from({ length: 1000 }, (_, row) => ({
    amount: 1,
    card_id: 'card_two',
    idempotency_key: `row-${row}`,
  }));
  await createAll(client, transfers, { programId: world.program_id });
  const page = await openConsole(`/console/transfers?program=${world.program_id}`);
  const rows = page.locator('main tbody tr');
  // The times of the rows change.
  const firstRow = () => rows.first().locator('a[href*="/console/transfer/"]').first().getAttribute('href');
  const first = await firstRow();
  for (let turned = 0; turned < 8; turned += 1) {
    const before = await firstRow();
    await pressKeys(page, ']');
    await expect.poll(firstRow).not.toBe(before);
    expect(await rows.count()).toBeLessThanOrEqual(MAX_ROWS);
  }
  for (let turned = 0; turned < 8; turned += 1) {
    const before = await firstRow();
    await pressKeys(page, '[');
    await expect.poll(firstRow).not.toBe(before);
  }
  expect(await firstRow()).toBe(first);
});

test('an open overview polls no more often than the performance tests in bench/ assume', async () => {
  const page = await openConsole('/console');
  // Uses the page's times, because this process may notice one request late and the next one on time.
  await page.evaluate(() => performance.clearResourceTimings());
  const asked = new Map<string, number[]>();
  const readAsked = async (): Promise<void> => {
    asked.clear();
    const requests = await page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .map(({ name, startTime }) => [new URL(name).pathname, startTime] as const),
    );
    for (const [path, time] of requests) asked.set(path, [...(asked.get(path) ?? []), time]);
  };
  const paths = POLLS.map(({ path }) => path);
  await expect
    .poll(async () => {
      await readAsked();
      return paths.every((path) => (asked.get(path)?.length ?? 0) >= 3);
    })
    .toBe(true);
  // A request that is sent only once, such as for a name, is not a poll.
  const repeated = [...asked].filter(([, times]) => times.length > 1).map(([path]) => path);
  expect(repeated.toSorted()).toEqual(paths.toSorted());
  for (const { path, everyMilliseconds } of POLLS) {
    const times = asked.get(path) ?? [];
    const average = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / (times.length - 1);
    // A busy machine makes the interval longer, never shorter.
    expect(average, path).toBeGreaterThan(everyMilliseconds * 0.9);
  }
});

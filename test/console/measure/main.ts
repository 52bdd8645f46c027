import type { CDPSession, Page } from 'playwright-core';
import { startService, temporaryDirectory } from '../../harness/process.ts';
import { sharedBrowser } from '../harness/browser.ts';

// What the console takes in a browser, for row 23 of the bench: prints one line of JSON. Figures that depend on the machine,
// so no test of `npm test` has them.

const TRANSFERS = 100_000;
const BATCH = 1_000;
const LOADS = 7;
const PAGES = 200;

/** What is measured; each load or visit has a figure of its own. */
type ConsoleFigures = {
  /** From the navigation to the largest paint of the overview, in a browser without a cache. */
  readonly largestPaintMilliseconds: readonly number[];
  /** From the click on "Transfers" to the first page of a list of 100,000. */
  readonly firstPageMilliseconds: readonly number[];
  /** Memory of the page's scripts after the first page of the list, and after 200 pages. */
  readonly firstPageBytes: number;
  readonly lastPageBytes: number;
};

const directory = await temporaryDirectory();
const service = await startService({ DATA_DIR: directory.path, RATE_LIMIT_PER_ADDRESS: '999999', LOG_LEVEL: 'warn' });
const browser = await sharedBrowser();
try {
  const programId = await fill();
  process.stdout.write(`${JSON.stringify(await measure(programId))}\n`);
} finally {
  await browser.close();
  await service.stop();
  await directory.remove();
}

async function fill(): Promise<string> {
  const { client } = service;
  const { program_id: programId } = await client.programs.create({ name: 'Bench', currency: 'USD' });
  await client.deposits.create(programId, { amount: 1_000_000_000 });
  await client.cards.create({ card_id: 'card_bench' }, { programId });
  for (let made = 0; made < TRANSFERS; made += BATCH) {
    const rows = Array.from({ length: BATCH }, (_, row) => ({
      amount: 1 + ((made + row) % 5000),
      card_id: 'card_bench',
      description: `Transfer ${made + row} of the bench`,
      idempotency_key: `transfer-${made + row}`,
    }));
    await client.transfers.createBatch(rows, { programId });
  }
  return programId;
}

async function measure(programId: string): Promise<ConsoleFigures> {
  const largestPaintMilliseconds: number[] = [];
  for (let load = 0; load < LOADS; load += 1) largestPaintMilliseconds.push(await largestPaint(programId));
  const context = await browser.newContext({ baseURL: service.url, viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const firstPageMilliseconds: number[] = [];
  for (let visit = 0; visit < LOADS; visit += 1) {
    await page.goto(`/console/switch?program=${programId}`);
    await page.locator('main h1').waitFor();
    firstPageMilliseconds.push(await timeToRows(page));
  }
  const debuggerOfPage = await context.newCDPSession(page);
  const firstPageBytes = await usedBytes(debuggerOfPage);
  for (let turned = 1; turned < PAGES; turned += 1) await turnPage(page);
  const lastPageBytes = await usedBytes(debuggerOfPage);
  await context.close();
  return { largestPaintMilliseconds, firstPageMilliseconds, firstPageBytes, lastPageBytes };
}

async function largestPaint(programId: string): Promise<number> {
  const context = await browser.newContext({ baseURL: service.url, viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.goto(`/console?program=${programId}`);
  await page.locator('main h1').first().waitFor();
  await page.waitForTimeout(500);
  const time = await page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        new PerformanceObserver((list) => resolve(list.getEntries().at(-1)?.startTime ?? Number.NaN)).observe({
          type: 'largest-contentful-paint',
          buffered: true,
        });
      }),
  );
  await context.close();
  return time;
}

/** Milliseconds from the click on the link to the frame that has rows. */
function timeToRows(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        const started = performance.now();
        document.querySelector<HTMLAnchorElement>('nav a[href^="/console/transfers"]')?.click();
        const look = (): void => {
          if (document.querySelector('main tr[data-row]') !== null) resolve(performance.now() - started);
          else requestAnimationFrame(look);
        };
        look();
      }),
  );
}

/** Goes to the next page, and waits until it is there. */
async function turnPage(page: Page): Promise<void> {
  const first = page.locator('main tr[data-row]').first();
  const before = await first.getAttribute('data-row');
  await page.keyboard.press(']');
  await page.waitForFunction(
    (old) => document.querySelector('main tr[data-row]')?.getAttribute('data-row') !== old,
    before,
  );
}

async function usedBytes(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  await session.send('Performance.enable');
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? Number.NaN;
}

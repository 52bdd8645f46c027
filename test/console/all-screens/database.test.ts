import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { makeWorld, type World } from '../harness/sample-world.ts';
import { useConsole } from '../harness/use-console.ts';

const { service, openConsole } = useConsole();
let world: World;

beforeAll(async () => {
  world = await makeWorld(service());
});

/** The error record, with the request id for support. */
const record = (page: Page) => page.getByRole('alert').filter({ hasText: 'unknown_' });

/** Stops the database, runs `happen`, and starts the database again even if `happen` failed. */
async function whileStopped(happen: () => Promise<void>): Promise<void> {
  await service().database.stop();
  try {
    await happen();
  } finally {
    await service().database.start();
  }
}

test('a list keeps its rows if a new filter fails while the database is stopped, and recovers afterwards', async () => {
  const page = await openConsole(`/console/transfers?program=${world.program_id}`);
  const rows = page.locator('main tr[data-row]');
  const status = page
    .getByLabel(/status/i)
    .and(page.locator('select'))
    .first();
  // The times of the rows change.
  const shown = () =>
    rows.evaluateAll((all) =>
      all.map((row) => row.querySelector('a[href*="/console/transfer/"]')?.getAttribute('href')),
    );
  await rows.first().waitFor();
  const before = await shown();
  expect(before).not.toContain(undefined);
  await whileStopped(async () => {
    await status.selectOption('completed');
    await record(page).first().waitFor();
    expect(await shown()).toEqual(before);
    expect(await record(page).first().innerText()).toMatch(/req_/);
    expect(await record(page).first().innerText()).toMatch(/no money/i);
  });
  await status.selectOption({ index: 0 });
  // Reads both at once. A poll with the previous filter could also remove the error, but it would show other rows.
  await expect.poll(async () => [await record(page).count(), await shown()]).toEqual([0, before]);
});

test('a screen opened while the database is stopped shows the error record, and shows the data when it is reloaded later', async () => {
  const page = await openConsole('/errors');
  await whileStopped(async () => {
    await page.goto(`/console/card/${world.card_id}?program=${world.program_id}`);
    await record(page).first().waitFor();
  });
  await page.reload();
  await page.locator('main').getByText('4242').first().waitFor();
});

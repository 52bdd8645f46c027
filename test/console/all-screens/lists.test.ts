import { beforeAll, expect, test } from 'vitest';
import { makeWorld, type World } from '../harness/sample-world.ts';
import { pressKeys, untilShown, useConsole } from '../harness/use-console.ts';

/** Rows of lists in the document at once. */
const MAX_ROWS = 300;

const { service, openConsole } = useConsole();
let world: World;

beforeAll(async () => {
  world = await makeWorld(service());
});

test('j, k and Enter choose and open a row, and Back returns', async () => {
  const page = await openConsole(`/console/transfers?program=${world.program_id}`);
  await page.locator('main tr[data-row]').first().waitFor();
  await pressKeys(page, 'j j k Enter');
  await page.waitForURL(/\/console\/transfer\/tr_/);
  await untilShown(page);
  await page.goBack();
  await page.waitForURL(/\/console\/transfers/);
  await untilShown(page);
  expect(await page.locator('main tr[data-row]').count()).toBeGreaterThan(3);
});

test('letters typed into a field stay there', async () => {
  const page = await openConsole(`/console/transfers?program=${world.program_id}`);
  const field = page.locator('main input[type="text"], main input:not([type]), main input[type="search"]').first();
  await field.focus();
  await page.keyboard.type('g/?jk');
  expect(await field.inputValue()).toBe('g/?jk');
  expect(await page.getByRole('dialog').count()).toBe(0);
  expect(new URL(page.url()).pathname).toBe('/console/transfers');
});

test('a list never has more than a few pages of rows in the document', async () => {
  const { client } = service();
  const transfers = Array.from({ length: 1000 }, (_, row) => ({
    amount: 1,
    card_id: 'card_two',
    idempotency_key: `row-${row}`,
  }));
  await client.transfers.createBatch(transfers, { programId: world.program_id });
  const page = await openConsole(`/console/transfers?program=${world.program_id}`);
  const rows = page.locator('main tbody tr');
  const first = await rows.first().innerText();
  for (let turned = 0; turned < 8; turned += 1) {
    const before = await rows.first().innerText();
    await pressKeys(page, ']');
    await expect.poll(() => rows.first().innerText()).not.toBe(before);
    expect(await rows.count()).toBeLessThanOrEqual(MAX_ROWS);
  }
  for (let turned = 0; turned < 8; turned += 1) {
    const before = await rows.first().innerText();
    await pressKeys(page, '[');
    await expect.poll(() => rows.first().innerText()).not.toBe(before);
  }
  expect(await rows.first().innerText()).toBe(first);
});

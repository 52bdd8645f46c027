import { readFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { TransferService } from '../../sdk/client.ts';
import { createAll } from '../harness/client/patience.ts';
import { waitFor } from '../harness/process.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { expectProblem } from './harness/page-problems.ts';
import { makeWorld, SCRIPT, type World } from './harness/sample-world.ts';
import { pressKeys, screenshot, untilShown, useConsole } from './harness/use-console.ts';

const { openConsole, service, keyOf } = useConsole();
let world: World;
/** A client that acts in the card program of the sample world. */
let client: TransferService;

beforeAll(async () => {
  world = await makeWorld(service());
  client = new TransferService({ baseUrl: service().url, programId: world.program_id });
});

const at = (path: string, query: Readonly<Record<string, string>> = {}) =>
  `/console/${path}?${new URLSearchParams({ program: world.program_id, ...query })}`;
const rowsOf = (page: Page) => page.getByRole('table').first().locator('tbody tr');

/** Returns a time, relative to now, in the format of a field and in the browser's time zone, which the harness sets. */
function fieldTime(milliseconds: number): string {
  const parts = new Date(Date.now() + milliseconds).toLocaleString('sv-SE', { timeZone: 'America/New_York' });
  return parts.replace(' ', 'T');
}

/** Creates a load onto a new card, so that tests do not share transfers. */
async function newTransfer(amount: number, more: object = {}): Promise<string> {
  const { card_id } = await client.cards.create();
  return (await client.transfers.create({ amount, card_id, ...more })).transfer_id;
}

describe('Transfers', () => {
  test('finds transfers by filters, and keeps the filters in the URL', async () => {
    const page = await openConsole(at('transfers'));
    await expect.poll(() => rowsOf(page).count()).toBeGreaterThan(4);
    await page.getByLabel('Status').selectOption('pending');
    await expect.poll(() => rowsOf(page).count()).toBe(1);
    expect(new URL(page.url()).searchParams.get('status')).toBe('pending');
    await page.getByLabel('Type').selectOption('load');
    await page.getByText('No transfer matches').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => rowsOf(page).count()).toBeGreaterThan(4);
    await page.getByLabel('Card', { exact: true }).fill('card_two');
    await expect.poll(() => rowsOf(page).count()).toBe(1);
    await page.reload();
    await untilShown(page);
    await expect.poll(() => rowsOf(page).count()).toBe(1);
    expect(await page.getByLabel('Card', { exact: true }).inputValue()).toBe('card_two');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    // This is a typical search by support: 50.00, created in the last hour.
    await page.getByLabel('Amount', { exact: true }).fill('50');
    await page.getByLabel('Created', { exact: true }).selectOption('Last hour');
    await expect.poll(() => rowsOf(page).count()).toBe(2);
    await page.getByLabel('Created', { exact: true }).selectOption('Exact times');
    await page.getByLabel('Created from').fill(fieldTime(-3_600_000));
    await expect.poll(() => rowsOf(page).count()).toBe(2);
    await page.getByLabel('Created before').fill(fieldTime(-1_800_000));
    await page.getByText('No transfer matches').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByText('More filters').click();
    await page.getByLabel('Amount from').fill('6.99');
    await page.getByLabel('Amount to').fill('7');
    await expect.poll(() => rowsOf(page).count()).toBe(2);
    expect(new URL(page.url()).searchParams.get('maximum_amount')).toBe('700');
    expect(await page.getByLabel('Amount to').inputValue()).toBe('7');
    await page.getByLabel('Amount to').fill('seven');
    await page.getByText('Enter an amount, such as 1,500.00.').waitFor();
    await screenshot(page, 'transfers');
    await expectAccessibleInEveryView(page);
  });

  test('shows fifty transfers per page, and never more rows than one page has', async () => {
    const { card_id } = await client.cards.create();
    const rows = Array.from({ length: 60 }, (_, index) => ({
      amount: 1 + index,
      card_id,
      idempotency_key: `${card_id}-${index}`,
    }));
    await createAll(client, rows);
    const page = await openConsole(at('transfers', { card_id }));
    await expect.poll(() => rowsOf(page).count()).toBe(50);
    await page.getByRole('button', { name: 'Older' }).click();
    await expect.poll(() => rowsOf(page).count()).toBe(10);
    await page.getByRole('button', { name: 'Newer' }).click();
    await expect.poll(() => rowsOf(page).count()).toBe(50);
  });

  test('selects and opens a transfer with the keyboard', async () => {
    const page = await openConsole(at('transfers', { status: 'pending' }));
    await expect.poll(() => rowsOf(page).count()).toBe(1);
    await pressKeys(page, 'j Enter');
    await page.waitForURL(`**/console/transfer/${world.held_id}**`);
    await page.locator('.answer').waitFor();
  });

  test('exports the filtered transfers', async () => {
    const page = await openConsole(at('transfers', { card_id: 'card_one' }));
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as CSV' }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe('transfers.csv');
    const lines = (await readFile(await saved.path(), 'utf8')).split('\r\n');
    const { data } = await client.transfers.list({ card_id: 'card_one' });
    expect(lines[0]).toMatch(/^transfer_id,program_id,card_id/);
    for (const { transfer_id } of data) expect(lines.filter((line) => line.startsWith(transfer_id))).toHaveLength(1);
    await page.getByText(`Saved ${data.length} transfers.`).waitFor();
  });

  test('does not save an interrupted export', async () => {
    const { card_id } = await client.cards.create();
    const rows = Array.from({ length: 1000 }, (_, at) => ({ amount: 1, card_id, idempotency_key: `${card_id}-${at}` }));
    await createAll(client, rows);
    const cutter = await startCutter();
    const page = await openConsole(at('transfers', { card_id }));
    await page.goto(`http://127.0.0.1:${cutter.port}${at('transfers', { card_id })}`);
    await untilShown(page);
    let isDownloaded = false;
    page.on('download', () => {
      isDownloaded = true;
    });
    await page.getByRole('button', { name: 'Save as CSV' }).click();
    await page.getByText('Nothing was saved').waitFor();
    expect(cutter.cuts()).toBeGreaterThan(0);
    expect(isDownloaded).toBe(false);
    // The next export is not interrupted.
    await page.goto(at('transfers', { card_id }));
    await untilShown(page);
    // The test expects the problem only now, because the previous page kept reading its list.
    expectProblem(page, new RegExp(`^asked another host: http://127.0.0.1:${cutter.port}/`));
    await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as CSV' }).click()]);
    await page.getByText('Saved 1,000 transfers.').waitFor();
  });
});

/** Starts a proxy to the service that interrupts every export. */
async function startCutter(): Promise<{ readonly port: number; readonly cuts: () => number }> {
  let cuts = 0;
  const server = createServer((from) => {
    const to = connect(Number(new URL(service().url).port), '127.0.0.1');
    let isExport = false;
    let passed = 0;
    from.on('data', (chunk) => {
      isExport ||= chunk.includes('/core/transfer/export');
      to.write(chunk);
    });
    from.on('error', () => to.destroy()).on('end', () => to.end());
    to.on('error', () => from.destroy()).on('end', () => from.end());
    to.on('data', (chunk) => {
      passed += isExport ? chunk.length : 0;
      from.write(chunk);
      if (passed < 100_000) return;
      cuts += 1;
      from.destroy();
      to.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, cuts: () => cuts };
}

describe('one transfer', () => {
  test('shows whether the money moved, lists each step, and links to the request, the card and the duplicate', async () => {
    const page = await openConsole(at(`transfer/${world.transfer_id}`));
    await page
      .getByText(/^50.00 USD moved from the program's funding to the card Holder .* ··4242 on .*leaves 40.00 USD\.$/)
      .waitFor();
    // Sentences name a card by its name, with its id in the tooltip.
    expect(await page.locator('.answer').getByTitle('card_one').count()).toBe(1);
    expect(await page.locator('main .answer, main .timeline').allInnerTexts()).not.toContain('card_one');
    const steps = page.locator('.timeline > li');
    await expect.poll(() => steps.filter({ hasText: 'The event' }).count()).toBe(2);
    expect(await steps.filter({ hasText: 'reversed: it moved' }).textContent()).toMatch(
      /had 50.00 USD, then 40.00 USD/,
    );
    expect(await page.getByText(`10.00 USD was reversed: Mistake ${SCRIPT}`).count()).toBe(1);
    await page.getByRole('heading', { name: /^Load of 50.00 USD to Holder .* ··4242$/ }).waitFor();
    expect(await page.evaluate(() => Reflect.get(window, 'planted'))).toBeUndefined();
    const transfer = await client.transfers.get(world.transfer_id);
    await page.locator(`a[href^="/console/request/${transfer.request_id}"]`).first().waitFor();
    const duplicates = page.getByRole('list', { name: 'Likely duplicates' });
    await duplicates
      .getByText(/^The same caller sent it again .* later, with a different idempotency key\.$/)
      .waitFor();
    expect(await duplicates.getByText('A local caller').count()).toBe(2);
    await screenshot(page, 'transfer');
    await expectAccessibleInEveryView(page);
  });

  test('captures part of a hold with the keyboard, after a confirmation with the amounts', async () => {
    const id = await newTransfer(300, { capture: 'manual' });
    const page = await openConsole(at(`transfer/${id}`));
    await page.getByText(/^No money has moved: 3.00 USD is held/).waitFor();
    await page.getByRole('button', { name: 'Capture' }).focus();
    await pressKeys(page, 'Enter');
    await page.getByText("moves from the program's funding to the card").waitFor();
    await page.getByLabel('Amount', { exact: true }).fill('4');
    await page.getByText('That is more than 3.00 USD.').waitFor();
    await page.getByLabel('Amount', { exact: true }).fill('2');
    await page.getByText('The other 1.00 USD is released.').waitFor();
    await expectAccessibleInEveryView(page);
    await pressKeys(page, 'Enter');
    await page.getByText('Captured 2.00 USD.').waitFor();
    await page.getByText(/^2.00 USD moved .* the other 1.00 USD was released\.$/).waitFor();
    expect((await client.transfers.get(id)).captured_amount).toBe(200);
  });

  test('offers to reverse half or all of a duplicate in its row, and reverses it', async () => {
    const { card_id } = await client.cards.create();
    const { transfer_id: first } = await client.transfers.create({ amount: 250, card_id });
    const { transfer_id: second } = await client.transfers.create({ amount: 250, card_id });
    const page = await openConsole(at(`transfer/${first}`));
    const duplicates = page.getByRole('list', { name: 'Likely duplicates' });
    await duplicates.getByRole('button', { name: 'Reverse' }).last().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('heading', { name: 'Reverse the load of 2.50 USD' }).waitFor();
    await dialog.getByRole('button', { name: 'Half: 1.25 USD' }).click();
    await dialog.getByRole('button', { name: 'Reverse 1.25 USD' }).waitFor();
    await expectAccessibleInEveryView(page);
    await dialog.getByRole('button', { name: 'All: 2.50 USD' }).click();
    await dialog.getByRole('button', { name: 'Reverse 2.50 USD' }).click();
    await page.getByText('Reversed 2.50 USD.').waitFor();
    await duplicates.getByText('Nothing to reverse: the later one was reversed.').waitFor();
    expect((await client.transfers.get(second)).reversed_amount).toBe(250);
    expect((await client.transfers.get(first)).reversed_amount).toBe(0);
  });

  test('cancels a hold', async () => {
    const id = await newTransfer(310, { capture: 'manual' });
    const page = await openConsole(at(`transfer/${id}`));
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('heading', { name: 'Cancel the load of 3.10 USD' }).waitFor();
    await page.getByRole('button', { name: 'Cancel the load', exact: true }).click();
    await page
      .getByText(/^No money moved: the transfer was canceled, and the hold of 3.10 USD was released\.$/)
      .waitFor();
    expect(await page.getByRole('button', { name: 'Capture' }).count()).toBe(0);
  });

  test('repeats a reversal with the same key after a lost response, and moves money once', async () => {
    const id = await newTransfer(500);
    const page = await openConsole(at(`transfer/${id}`));
    const keys: string[] = [];
    // The service executes the reversal, but the browser gets no response.
    await page.route(`**/core/transfer/${id}/reverse`, async (route) => {
      keys.push((await route.request().headerValue('idempotency-key')) ?? '');
      const isLost = (await client.transfers.get(id)).reversed_amount === 0;
      const response = await route.fetch();
      await (isLost ? route.abort('connectionreset') : route.fulfill({ response }));
    });
    await page.getByRole('button', { name: 'Reverse' }).click();
    await page.getByLabel('Amount', { exact: true }).fill('1.50');
    await page.getByLabel('Reason (optional)').fill('twice');
    await page.getByRole('button', { name: 'Reverse 1.50 USD' }).click();
    await page.getByText('Reversed 1.50 USD.').waitFor();
    expect(keys.length).toBeGreaterThan(1);
    expect(new Set(keys).size).toBe(1);
    expect((await client.transfers.get(id)).reversed_amount).toBe(150);
  });

  test('repeats a reversal with an unknown outcome under the same key, and keeps the dialog open while the request runs', async () => {
    const id = await newTransfer(500);
    const page = await openConsole(at(`transfer/${id}`));
    const keys: string[] = [];
    let isLost = true;
    let lose: () => void = () => undefined;
    const lost = new Promise<void>((resolve) => {
      lose = resolve;
    });
    await page.route(`**/core/transfer/${id}/reverse`, async (route) => {
      keys.push((await route.request().headerValue('idempotency-key')) ?? '');
      const response = await route.fetch();
      await lost;
      await (isLost ? route.abort('connectionreset') : route.fulfill({ response }));
    });
    const dialog = page.getByRole('dialog');
    const reverse = async () => {
      await page.getByRole('button', { name: 'Reverse' }).click();
      await dialog.getByLabel('Amount', { exact: true }).fill('1.50');
      await dialog.getByRole('button', { name: 'Reverse 1.50 USD' }).click();
    };
    await reverse();
    await expect.poll(() => keys.length).toBe(1);
    await pressKeys(page, 'Escape Escape');
    expect(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
    expect(await dialog.getByRole('button', { name: 'Close' }).isDisabled()).toBe(true);
    lose();
    await expect.poll(() => dialog.getByRole('button', { name: 'Cancel' }).isEnabled()).toBe(true);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    isLost = false;
    await reverse();
    await page.getByText('Reversed 1.50 USD.').waitFor();
    expect(new Set(keys).size).toBe(1);
    expect((await client.transfers.get(id)).reversed_amount).toBe(150);
  });

  test('shows a refusal with its error record in the dialog', async () => {
    const { card_id } = await client.cards.create();
    const { transfer_id: id } = await client.transfers.create({ amount: 400, card_id });
    await client.transfers.create({ amount: 400, card_id, type: 'unload' });
    const page = await openConsole(at(`transfer/${id}`));
    await page.getByRole('button', { name: 'Reverse' }).click();
    await page.getByRole('button', { name: 'Reverse 4.00 USD' }).click();
    await page.getByRole('dialog').getByText('has 0.00 USD available').waitFor();
    await page.getByRole('dialog').getByText('No money moved.').waitFor();
    await pressKeys(page, 'Escape');
    await waitFor('the refusal to appear in the timeline', async () => {
      return (await page.locator('.timeline > li').filter({ hasText: 'insufficient_funds' }).count()) === 1;
    });
  });

  test('shows the error record if the transfer does not exist', async () => {
    const page = await openConsole(at('transfer/tr_00000000000000000000000000000000'));
    await page.getByText("There is no transfer 'tr_00000000000000000000000000000000'").waitFor();
    expect(await page.locator('.answer').count()).toBe(0);
  });

  test('a list stops polling only after a refusal', async () => {
    const page = await openConsole(at('transfers', { status: 'gone' }));
    await page.clock.install();
    let asked = 0;
    page.on('request', (request) => {
      asked += request.url().includes('/core/transfer?') ? 1 : 0;
    });
    const askedAfter = async (query: Readonly<Record<string, string>>, shown: string) => {
      await page.goto(at('transfers', query));
      await page.getByText(shown).first().waitFor();
      asked = 0;
      await page.clock.runFor(12_000);
      // When a later request has its response, the service has received all earlier requests.
      await page.evaluate(async () => (await fetch('/health/live')).status);
      return asked;
    };
    expect(await askedAfter({ status: 'gone' }, 'list_transfers_schema')).toBe(0);
    expect(await askedAfter({ card_id: 'card_two' }, '7.00 USD')).toBeGreaterThan(0);
  });
});

describe('the role of the caller', () => {
  test.each(['viewer', 'support'] as const)('%s can read a transfer and a list, but sees no actions', async (role) => {
    const page = await openConsole(at(`transfer/${world.held_id}`), { role });
    await page.locator('.answer').waitFor();
    for (const name of ['Capture', 'Cancel', 'Reverse']) {
      expect(await page.getByRole('button', { name, exact: true }).count(), name).toBe(0);
    }
    await page.getByText('To capture or cancel this transfer, ask an operator.').waitFor();
    await page.goto(at('transfers'));
    await expect.poll(() => rowsOf(page).count()).toBeGreaterThan(4);
  });

  test('an operator sees the actions that the status of the transfer allows', async () => {
    const page = await openConsole(at(`transfer/${world.held_id}`), { role: 'operator' });
    await page.getByRole('button', { name: 'Capture', exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Cancel', exact: true }).count()).toBe(1);
    expect(await page.getByRole('button', { name: 'Reverse', exact: true }).count()).toBe(0);
  });

  test('a timeline shows who reversed the transfer', async () => {
    const id = await newTransfer(300);
    const operator = new TransferService({ baseUrl: service().url, key: await keyOf('operator') });
    await operator.transfers.reverse(id, { amount: 100 }, { programId: world.program_id });
    const step = (page: Page) => page.locator('.timeline > li').filter({ hasText: '1.00 USD was reversed' });
    const page = await openConsole(at(`transfer/${id}`), { role: 'operator' });
    await step(page).getByText('1.00 USD was reversed by The operator of the tests.').waitFor();
    await screenshot(page, 'transfer-reversed');
  });
});

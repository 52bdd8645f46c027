import { beforeAll, describe, expect, test } from 'vitest';
import type { DayRecord } from '../../sdk/client.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { screenshot, untilShown, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();
const client = () => service().client;

const DAY_MILLISECONDS = 86_400_000;

/** Moves the sandbox clock to noon, so that no test runs past midnight. */
async function moveToNoon(daysAhead: number): Promise<void> {
  const now = Date.now();
  const noon = now - (now % DAY_MILLISECONDS) + (daysAhead + 0.5) * DAY_MILLISECONDS;
  await client().sandbox.moveClock({ seconds_ahead: Math.round((noon - now) / 1000) });
}

let programId: string;
/** The day on which the money moved. It is over by the sandbox clock. */
let day: string;

beforeAll(async () => {
  await moveToNoon(1);
  programId = (await client().programs.create({ name: 'Lumen Gift Cards', currency: 'USD' })).program_id;
  const options = { programId };
  const { created_at } = await client().deposits.create(programId, { amount: 123_456_789 });
  await client().cards.create({ card_id: 'card_one', last_four: '4242' }, options);
  await client().transfers.create({ amount: 25_000, card_id: 'card_one' }, options);
  await client().transfers.create({ amount: 4_990, card_id: 'card_one', type: 'unload' }, options);
  day = created_at.slice(0, 10);
  await moveToNoon(2);
});

const pathOf = (query = '') => `/console/programs/${programId}/day${query}`;

describe('the day of a card program', () => {
  test('says in the first sentence that the day adds up, and shows every line of the day', async () => {
    const page = await openConsole(pathOf(`?day=${day}`));
    await page
      .locator('.answer')
      .getByText(/ adds up\./)
      .waitFor();
    const table = page.getByRole('table', { name: 'The day in USD' });
    const rows = (await table.locator('tbody tr').allInnerTexts()).map((text) => text.split('\t').join(' '));
    expect(rows).toEqual([
      'Opening – 0.00 0.00 0.00 0.00',
      'Deposits 1 +1,234,567.89 – – –',
      'Loads 1 −250.00 +250.00 – –',
      'Unloads 1 +49.90 −49.90 – –',
      'Closing – 1,234,367.79 200.10 0.00 0.00',
    ]);
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'day');
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as CSV' }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe(`day-${day}.csv`);
    await page.getByText('Saved 5 lines.').waitFor();
  });

  test('can be reached from the overview, which links to yesterday, and from other days, each with its own address', async () => {
    const page = await openConsole(`/console?program=${programId}`);
    await page.getByRole('link', { name: 'See the day of Lumen Gift Cards' }).click();
    await page.waitForURL((url) => url.searchParams.get('day') !== null);
    await untilShown(page);
    const yesterday = await client().days.get(programId);
    expect(new URL(page.url()).searchParams.get('day')).toBe(yesterday.day);
    await page.getByRole('link', { name: 'Next day' }).click();
    await page.getByText('is not over').waitFor();
    expect(await page.getByRole('link', { name: 'Next day' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Close the day' }).count()).toBe(0);
    await page.getByLabel('Day', { exact: true }).fill('2026-02-28');
    await page.getByRole('heading', { name: 'Saturday 28 February 2026' }).waitFor();
    await page.getByRole('link', { name: 'Previous day' }).click();
    await page.getByRole('heading', { name: 'Friday 27 February 2026' }).waitFor();
    expect(new URL(page.url()).searchParams.get('day')).toBe('2026-02-27');
  });

  test('names the next step if the day does not add up, and shows the difference', async () => {
    const page = await openConsole('/console/programs');
    await page.route('**/api/**/day?*', async (route) => {
      const response = await route.fetch();
      const report = (await response.json()) as DayRecord;
      const currencies = report.currencies.map((sheet) => {
        return { ...sheet, closing: { ...sheet.closing, funding: 123_436_780 }, adds_up: false };
      });
      await route.fulfill({ response, json: { ...report, adds_up: false, currencies } });
    });
    await page.goto(pathOf(`?day=${day}`));
    await page.getByText('does not add up in USD').waitFor();
    await page.getByRole('row', { name: 'Difference' }).getByText('0.01').waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'day-differs');
    const href = (await page.getByRole('link', { name: 'What to do' }).getAttribute('href')) ?? '';
    expect((await page.request.get(href)).status()).toBe(200);
  });

  test('offers to close the day only with the scope, and shows the day after someone has closed it', async () => {
    const page = await openConsole(pathOf(`?day=${day}`), { role: 'support' });
    await page.getByText('No one has closed this day yet').waitFor();
    expect(await page.getByRole('button', { name: 'Close the day' }).count()).toBe(0);
    await page.getByText('To close a day, ask a treasurer.').waitFor();
    const other = await openConsole(pathOf(`?day=${day}`), { role: 'treasurer', theme: 'dark', width: 390 });
    await other.getByRole('button', { name: 'Close the day' }).click();
    const dialog = other.getByRole('dialog');
    const confirm = dialog.getByRole('button', { name: 'Close the day' });
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByLabel('What you checked').fill('Compared with the bank <b>statement</b>');
    await expectAccessibleInEveryView(other);
    await screenshot(other, 'day-closing');
    await confirm.click();
    await dialog.waitFor({ state: 'detached' });
    await other.locator('.answer').getByText('Compared with the bank <b>statement</b>').waitFor();
    expect(await other.getByRole('button', { name: 'Close the day' }).count()).toBe(0);
    await screenshot(other, 'day-closed-phone');
    expect(await client().days.get(programId, { day })).toMatchObject({
      status: 'closed',
      note: 'Compared with the bank <b>statement</b>',
    });
  });
});

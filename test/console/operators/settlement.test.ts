import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../harness/process.ts';
import { expectAccessible, expectAccessibleInEveryView } from '../harness/accessible.ts';
import { importFile } from '../harness/sample-world.ts';
import { pressKeys, screenshot, untilShown, useConsole } from '../harness/use-console.ts';

const { openConsole, service } = useConsole();
const client = () => service().client;

let programId: string;
beforeAll(async () => {
  const program = await client().programs.create({ name: 'Lumen Gift Cards', currency: 'USD' });
  programId = program.program_id;
  await client().deposits.create(programId, { amount: 1_000_000 });
});

const fundingOf = async () => (await client().programs.get(programId)).funding[0]?.balance ?? 0;

/** Loads a card at the simulator, 12.50 USD by default. Returns the line of a file that agrees. */
async function settledLoad(amount = 1250) {
  const card_id = `card_${crypto.randomUUID().slice(0, 8)}`;
  const at = { connector_id: 'simulator', processor_token: 'sim_approve' };
  await client().cards.create({ card_id, holder_reference: 'Ada Obi', last_four: '4242', ...at }, { programId });
  const { transfer_id } = await client().transfers.create({ amount, card_id }, { programId });
  const read = async () => (await client().transfers.attempts(transfer_id, { programId })).data[0];
  await waitFor('the approval', async () => (await read())?.status === 'approved');
  const { attempt_id = '', processor_reference } = (await read()) ?? {};
  const line = { kind: 'push', amount, currency: 'USD', fee: 12, settled_on: '2026-01-31' } as const;
  return { transfer_id, line: { ...line, attempt_id, processor_reference: processor_reference ?? '' } };
}

describe('settlement files', () => {
  test('says how to import the first file', async () => {
    const page = await openConsole('/console/settlement');
    await page.getByText('No settlement files').waitFor();
    await page.getByText('transfer-service settlement import FILE --connector CONNECTOR').waitFor();
    await page.getByLabel('Connector').selectOption('simulator');
    await page.getByText('transfer-service settlement import FILE --connector simulator').waitFor();
    expect(await page.getByRole('link', { name: 'Formats and columns' }).getAttribute('href')).toBe(
      '/guides/settlement',
    );
  });

  test('leads from a file to its difference, books it next to the history of the transfer, and shows it closed', async () => {
    const good = await settledLoad();
    const wrong = await settledLoad();
    const { file_id: fileId, break_id: breakId } = await importFile(client(), 'january.csv', [
      good.line,
      { ...wrong.line, amount: 1000 },
    ]);
    const before = await fundingOf();
    const page = await openConsole('/console/transfers');
    await page.locator('main').focus();
    await pressKeys(page, 'g l');
    const row = page.getByRole('table', { name: 'Settlement files' }).locator('tbody tr');
    await row.getByText('1 different').waitFor();
    expect(await row.innerText()).toContain('1 of 2 match');
    expect(await row.innerText()).toContain('22.50 USD to cards');
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'settlement');

    await row.getByRole('link', { name: 'january.csv' }).click();
    await page.waitForURL(`**/console/settlement/${fileId}*`);
    await untilShown(page);
    await page.getByText('Compared with the books: 1 of 2 match, 1 line is different.').waitFor();
    const sums = page.getByRole('table', { name: 'Sums of the lines' });
    expect(await sums.innerText()).toContain('0.24 USD');
    const outcomes = page.getByRole('table', { name: 'Outcomes of the lines' });
    expect(await outcomes.getByRole('row', { name: 'has a different amount' }).innerText()).toMatch(/\b1\b/);
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'settlement-file');

    const breaks = page.getByRole('table', { name: 'Breaks' }).locator('tbody tr');
    expect(await breaks.innerText()).toContain('load of 10.00 USD');
    await breaks.getByRole('link', { name: 'Contradicts an approval' }).click();
    await page.waitForURL(`**/console/break/${breakId}*`);
    await untilShown(page);
    const books = page.getByRole('region', { name: 'What the books say' });
    await books.locator('.timeline').getByText('Processor', { exact: true }).first().waitFor();
    const statement = page.getByRole('region', { name: 'What the processor says' });
    expect(await statement.innerText()).toContain('Load of 10.00 USD');
    await statement.getByText(wrong.line.processor_reference).waitFor();
    await statement.getByText('2026-01-31').waitFor();
    const ways = page.getByRole('table', { name: 'Ways to book the difference' });
    const way = ways.getByRole('row', { name: 'The card program gets it back' });
    expect(await way.innerText()).toContain('2.50 USD');
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'break');

    await way.getByRole('button', { name: 'Book…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Close a break of simulator' });
    expect(await dialog.getByLabel('Book the difference').inputValue()).toBe('funding');
    await dialog.getByLabel('What you found and did').fill('They moved 10.00 USD, their ticket 4711.');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Book the difference and close' }).click();
    await page.getByText('The break is closed, and its difference is booked.').waitFor();
    await page.getByText('They moved 10.00 USD, their ticket 4711.').waitFor();
    await expect.poll(() => page.getByRole('button', { name: /Close…|Book…/ }).count()).toBe(0);
    expect(await fundingOf()).toBe(before + 250);
    await screenshot(page, 'break-closed');
    await statement.getByRole('link').first().click();
    await page.waitForURL(`**/console/settlement/${fileId}*`);
    await page.getByText('No open breaks').waitFor();
  });

  test('settles a proposed order that a person accepts for a line with an unknown reference', async () => {
    const { transfer_id: id, line } = await settledLoad(777);
    const settled_on = new Date().toISOString().slice(0, 10);
    const { break_id: breakId } = await importFile(client(), 'sums.csv', [
      { kind: 'push', amount: 777, currency: 'USD', settled_on, processor_reference: 'a payment' },
    ]);
    const page = await openConsole(`/console/break/${breakId}`);
    const proposal = page.getByRole('table', { name: 'Orders that fit the line' }).locator('tbody tr');
    const link = proposal.getByRole('link', { name: 'Load of 7.77 USD' });
    expect(await link.getAttribute('href')).toContain(`/console/transfer/${id}`);
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'break-proposals');
    await proposal.getByRole('button', { name: 'Accept…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Close a break of simulator' });
    expect(await dialog.getByLabel('Orders that the line pays (optional)').inputValue()).toBe(line.attempt_id);
    await dialog.getByLabel('What you found and did').fill('Their advice of the payment.');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Settle 1 order and close' }).click();
    await page.getByText('The break is closed, and its orders are settled.').waitFor();
    await page.getByText('Their advice of the payment.').waitFor();
    await page.getByRole('region', { name: 'What the processor says' }).getByText(line.attempt_id).waitFor();
  });

  test('withdraws a file with a note, and closes the breaks that only this file has caused', async () => {
    const { line } = await settledLoad();
    const unknown = { ...line, attempt_id: `ours-${crypto.randomUUID()}` };
    const { file_id: fileId } = await importFile(client(), 'wrong.csv', [
      { ...unknown, processor_reference: 'theirs' },
    ]);
    const page = await openConsole(`/console/settlement/${fileId}`, { width: 390, theme: 'dark' });
    await page.getByText('Settled, but not in the books').waitFor();
    await screenshot(page, 'settlement-file-phone');
    await page.getByRole('button', { name: 'Withdraw…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Withdraw wrong.csv' });
    expect(await dialog.getByRole('button', { name: 'Withdraw the file' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Why').fill('The file of their test system.');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Withdraw the file' }).click();
    await page.getByText('The file is withdrawn.').waitFor();
    await page.getByText('The file of their test system.').waitFor();
    await page.getByText('This file no longer counts.').waitFor();
    await page.getByText('No open breaks').waitFor();
    expect(await page.getByRole('button', { name: 'Withdraw…' }).count()).toBe(0);
    await page.goto('/console/audit');
    await page.getByText('withdrew the settlement file').first().waitFor();
  });

  test('shows the progress of a file while it arrives, and names the role that can withdraw it', async () => {
    const sha256 = createHash('sha256').update(crypto.randomUUID()).digest('hex');
    const about = { connector_id: 'simulator', name: 'half.csv', sha256, line_count: 2, sequence_number: 17 };
    const { file_id: fileId } = await client().settlementFiles.create(about);
    const { line } = await settledLoad();
    await client().settlementFiles.addLines(fileId, { first_line: 1, lines: [line] });
    const page = await openConsole(`/console/settlement/${fileId}`, { role: 'support' });
    await page.getByRole('progressbar', { name: '1 of 2 lines have arrived' }).waitFor();
    await page.locator('.details').getByText('17', { exact: true }).waitFor();
    await page.getByText('To withdraw the file or close a break, ask a treasurer.').waitFor();
    expect(await page.getByRole('button', { name: /^(?:Withdraw|Close)/ }).count()).toBe(0);
    await client().settlementFiles.addLines(fileId, { first_line: 2, lines: [(await settledLoad()).line] });
    await page.getByText('All 2 lines match the books.').waitFor();
  });
});

import { describe, expect, test } from 'vitest';
import type { AddMoveInLinesBody } from '../../../sdk/client.ts';
import { expectAccessible, expectAccessibleInEveryView } from '../harness/accessible.ts';
import { compareCards, createMoveIn, moveCardsIn } from '../harness/sample-world.ts';
import {
  pressKeys,
  refusedActions,
  screenshot,
  signInAs,
  untilShown,
  useConsole,
  visit,
} from '../harness/use-console.ts';

const { openConsole, service } = useConsole();
const client = () => service().client;

const newProgram = async (name: string) => (await client().programs.create({ name, currency: 'USD' })).program_id;

type Line = AddMoveInLinesBody['lines'][number];

const card = (id: string, balance: number): Line => ({ kind: 'card', card_id: id, balance });
const hold = (id: string, amount: number, reference: string): Line => ({
  ...{ kind: 'hold', card_id: id, amount, reference },
  expires_at: new Date(Date.now() + 5 * 86_400_000).toISOString(),
});

const LINES = [
  card('card-1001', 12_500),
  card('card-1002', 800),
  card('card-1003', 0),
  hold('card-1001', 2000, 'hotel-77'),
  hold('card-1002', 500, 'fuel-12'),
];
const TOTALS = [{ currency: 'USD', cards: 3, balance: 13_300, holds: 2, held: 2500 }];

/** The balance file that agrees with LINES. */
const BALANCES = [
  { card_id: 'card-1001', balance: 12_500, holds: [{ amount: 2000, reference: 'hotel-77' }] },
  { card_id: 'card-1002', balance: 800, holds: [{ amount: 500, reference: 'fuel-12' }] },
  { card_id: 'card-1003', balance: 0 },
];

const manyCards = (count: number): readonly Line[] =>
  Array.from({ length: count }, (_, at) => card(`card-${String(at).padStart(5, '0')}`, 100));

describe('a move-in', () => {
  test('is preceded by a check on the command line', async () => {
    const page = await openConsole('/console/move-ins');
    await page.getByText('No move-ins', { exact: true }).waitFor();
    await page.getByText('transfer-service move-in check FILE --program PROGRAM').waitFor();
    await page.getByText('No comparisons', { exact: true }).waitFor();
    await page.getByText('transfer-service move-in compare FILE --program PROGRAM').waitFor();
    const guide = page.getByRole('link', { name: 'How to move a program' });
    expect(await guide.getAttribute('href')).toBe('/guides/move-in');
  });

  test('shows its sums, and is undone with a note', async () => {
    const program_id = await newProgram('Gift cards');
    const { move_in_id: id } = await moveCardsIn(client(), { program_id, name: 'gifts.csv', totals: TOTALS }, LINES);
    const other = await newProgram('Fuel cards');
    await moveCardsIn(client(), { program_id: other, name: 'fuel.csv' }, [card('card-1', 100)]);
    const page = await openConsole('/console/transfers');
    await page.locator('main').focus();
    await pressKeys(page, 'g n');
    const rows = page.getByRole('table', { name: 'Move-ins' }).locator('tbody tr');
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByLabel('Card program').selectOption({ label: 'Gift cards' });
    await expect.poll(() => rows.count()).toBe(1);
    expect(await rows.innerText()).toMatch(/gifts\.csv\s+moved in\s+5 lines\s+adds up\s+Gift cards/);
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'move-ins');

    await rows.getByRole('link', { name: 'gifts.csv' }).click();
    await page.waitForURL(`**/console/move-ins/${id}*`);
    await untilShown(page);
    await page.getByText('All 5 lines have moved in. The books equal the totals that the file states.').waitFor();
    const sums = page.getByRole('table', { name: 'Sums in the books' }).locator('tbody');
    expect(await sums.innerText()).toMatch(/USD\s+3\s+133\.00 USD\s+2\s+25\.00 USD/);
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'move-in');

    await page.getByRole('button', { name: 'Undo…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Undo gifts.csv' });
    expect(await dialog.getByRole('button', { name: 'Undo the move-in' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Why').fill('The file was from the wrong day.');
    await expectAccessible(page);
    await screenshot(page, 'move-in-undo');
    await dialog.getByRole('button', { name: 'Undo the move-in' }).click();
    await page.getByText('The move-in is undone.', { exact: true }).waitFor();
    await page.getByText('This move-in is undone, and nothing of it is left.').waitFor();
    await page.getByText('The file was from the wrong day.').waitFor();
    expect(await refusedActions(page)).toEqual({ 'Undo…': 'The move-in is already undone.' });
    expect(await client().moveIns.get(id)).toMatchObject({ status: 'undone', lines_undone: 5 });

    await visit(page, '/console/audit');
    const entry = page.getByRole('listitem').filter({ hasText: 'undid the move-in' }).first();
    expect(await entry.getByRole('link').filter({ hasText: 'mvi_' }).first().getAttribute('href')).toContain(
      `/console/move-ins/${id}`,
    );
  });

  test('shows its progress and speed while its lines arrive, and undoes thousands of them', async () => {
    const program_id = await newProgram('Many cards');
    const lines = manyCards(2500);
    const { move_in_id: id } = await createMoveIn(client(), { program_id, name: 'many.csv' }, lines.length);
    const add = (first: number) =>
      client().moveIns.addLines(id, { first_line: first, lines: lines.slice(first - 1, first + 999) });
    await add(1);
    const page = await openConsole(`/console/move-ins/${id}`, { width: 390, theme: 'dark' });
    await page.getByRole('progressbar', { name: '1,000 of 2,500 lines are moved in', exact: true }).waitFor();
    await add(1001);
    await page
      .getByRole('progressbar', { name: /^2,000 of 2,500 lines are moved in, [\d,]+ a second, about / })
      .waitFor();
    await screenshot(page, 'move-in-receiving-phone');
    await add(2001);
    await page.getByText('All 2,500 lines have moved in. The file states no totals.').waitFor();

    const undoes: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/undo')) undoes.push(request.url());
    });
    await page.getByRole('button', { name: 'Undo…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Keep this page open until everything is undone.').waitFor();
    await dialog.getByLabel('Why').fill('A rehearsal.');
    await dialog.getByRole('button', { name: 'Undo the move-in' }).click();
    await page.getByText('The move-in is undone.', { exact: true }).waitFor();
    expect(undoes).toHaveLength(3);
    expect(await client().moveIns.get(id)).toMatchObject({ status: 'undone', lines_undone: 2500 });
  });

  test('continues an undo that was interrupted', async () => {
    const program_id = await newProgram('Half undone');
    const { move_in_id: id } = await moveCardsIn(client(), { program_id, name: 'half.csv' }, manyCards(1500));
    await client().moveIns.undo(id, { note: 'Wrong program.' });
    const page = await openConsole(`/console/move-ins/${id}`);
    await page.getByRole('progressbar', { name: '1,000 of 1,500 lines are undone' }).waitFor();
    await page.getByText('Wrong program.').waitFor();
    await screenshot(page, 'move-in-undoing');
    await page.getByRole('button', { name: 'Continue the undo…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Continue the undo' }).click();
    await page.getByText('The move-in is undone.', { exact: true }).waitFor();
  });

  test('is not undone after money of a card has moved, and support reads who could undo it', async () => {
    const program_id = await newProgram('In use');
    const { move_in_id: id } = await moveCardsIn(client(), { program_id, name: 'used.csv' }, LINES);
    await client().transfers.create({ amount: 100, card_id: 'card-1002', type: 'unload' }, { programId: program_id });
    const page = await openConsole(`/console/move-ins/${id}`);
    await page.getByRole('button', { name: 'Undo…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Why').fill('Too late.');
    await dialog.getByRole('button', { name: 'Undo the move-in' }).click();
    await dialog.getByText('move_in_used').waitFor();
    await screenshot(page, 'move-in-undo-refused');
    const support = await openConsole(`/console/move-ins/${id}`, { role: 'support' });
    await support.getByText('To undo the move-in, ask a treasurer.').waitFor();
    expect(await support.getByRole('button', { name: /^Undo/ }).count()).toBe(0);
  });
});

/** Moves LINES into a new program whose transfers are disabled, and compares it with a balance file. */
async function compared(name: string, cards = BALANCES) {
  const program_id = await newProgram(name);
  await client().switch.change({ disabled: true, program_id, reason: 'Moving in' });
  await moveCardsIn(client(), { program_id, name: 'cards.csv', totals: TOTALS }, LINES);
  const { comparison_id } = await compareCards(client(), { program_id, name: 'balances.csv' }, cards);
  const isStopped = async () => {
    const { data } = await client().switch.get();
    return data.some((setting) => setting.disabled && setting.program_id === program_id);
  };
  return { program_id, comparison_id, isStopped };
}

describe('a comparison', () => {
  test('shows both sums and each difference with its reason, and cannot be cut over', async () => {
    const { program_id, comparison_id: id } = await compared('Differing cards', [
      { card_id: 'card-1001', balance: 12_400, holds: [{ amount: 2000, reference: 'hotel-77' }] },
      { card_id: 'card-1002', balance: 800, holds: [] },
      { card_id: 'card-1003', balance: 0 },
      { card_id: 'card-1004', balance: 50 },
    ]);
    const page = await openConsole(`/console/move-ins?of=${program_id}`);
    const row = page.getByRole('table', { name: 'Comparisons' }).locator('tbody tr');
    expect(await row.innerText()).toMatch(/balances\.csv\s+different\s+4 cards\s+3\s+Differing cards/);
    await row.getByRole('link', { name: 'balances.csv' }).click();
    await page.waitForURL(`**/console/move-ins/comparison/${id}*`);
    await untilShown(page);
    await page
      .getByText("Not every card has the balance and the holds that the old ledger has in 'balances.csv'")
      .waitFor();
    const sums = page.getByRole('table', { name: 'Sums here and in the file' });
    const sum = async (name: string) => (await sums.getByRole('row', { name }).innerText()).replaceAll(/\s+/g, ' ');
    expect(await sum('Balances, USD')).toBe('Balances, USD 133.00 USD 132.50 USD different');
    expect(await sum('Cards, USD')).toBe('Cards, USD 3 4 different');
    const differences = page.getByRole('table', { name: 'Differences', exact: true }).locator('tbody tr');
    await expect.poll(() => differences.count()).toBe(3);
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'comparison');

    const reasons = page.getByRole('table', { name: 'Differences by reason' });
    await reasons.getByRole('link', { name: 'Hold released in the old ledger' }).click();
    await expect.poll(() => differences.count()).toBe(1);
    expect(await differences.innerText()).toMatch(/hold released in the old ledger\s+5\.00 USD/);
    expect(await differences.innerText()).toContain('fuel-12');
    const link = differences.getByRole('link', { name: 'card-1002' });
    expect(await link.getAttribute('href')).toBe(`/console/card/card-1002?program=${program_id}`);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => differences.count()).toBe(3);
    await page.getByLabel('Probable reason').selectOption({ label: 'Card only in the file' });
    await expect.poll(() => differences.innerText()).toContain('card-1004');
    expect(await refusedActions(page)).toEqual({
      'Cut over…': 'There are differences. Resolve them, and compare again.',
    });
    const phone = await openConsole(`/console/move-ins/comparison/${id}`, { width: 390, theme: 'dark' });
    await screenshot(phone, 'comparison-phone');
    const list = await openConsole('/console/move-ins', { width: 390, theme: 'dark' });
    await screenshot(list, 'move-ins-phone');
  });

  test('shows its progress, and that only a comparison of the current books can be cut over', async () => {
    const program_id = await newProgram('Earlier books');
    const created = await client().comparisons.create({
      ...{ program_id, name: 'friday.csv', sha256: '5'.repeat(64), card_count: 2 },
      as_of: new Date(Date.now() - 120_000).toISOString(),
    });
    const page = await openConsole(`/console/move-ins/comparison/${created.comparison_id}`, { role: 'support' });
    await page.getByRole('progressbar', { name: '0 of 2 cards are compared' }).waitFor();
    await page.getByText('No differences so far').waitFor();
    await page.getByText('To cut the card program over, ask a treasurer.').waitFor();
    await client().comparisons.addCards(created.comparison_id, {
      first_card: 1,
      cards: [
        { card_id: 'a', balance: 1 },
        { card_id: 'b', balance: 2 },
      ],
    });
    await client().comparisons.addCards(created.comparison_id, { first_card: 3, cards: [] });
    await page.getByText('Not every card has the balance').waitFor();
  });

  test('is signed with a note, which enables the transfers of the card program', async () => {
    const { comparison_id: id, isStopped } = await compared('Cut over');
    const page = await openConsole(`/console/move-ins/comparison/${id}`);
    await page
      .getByText("Every card has the balance and the holds that the old ledger has in 'balances.csv'")
      .waitFor();
    await page.getByText('No differences', { exact: true }).waitFor();
    await screenshot(page, 'comparison-equal');
    await page.getByRole('button', { name: 'Cut over…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Sign the report and cut over' });
    await dialog.getByText('Every card has the balance').waitFor();
    expect(await dialog.getByRole('button', { name: 'Sign and cut over' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Note').fill('Checked by finance.');
    await expectAccessible(page);
    await screenshot(page, 'cut-over');
    await dialog.getByRole('button', { name: 'Sign and cut over' }).click();
    await page.getByText('The card program is cut over, and its transfers are enabled.').waitFor();
    await page.getByText('Checked by finance.').waitFor();
    expect(await isStopped()).toBe(false);
    expect(await refusedActions(page)).toEqual({ 'Cut over…': 'The card program is already cut over.' });
    await screenshot(page, 'comparison-cut-over');
  });

  test('is cut over after another person has approved it, where a rule says so', async () => {
    await client().approvals.changePolicy({ rules: [{ operation: 'cut_over' }] });
    const { comparison_id: id, isStopped } = await compared('Approved cut-over');
    const openAs = async (person: 'treasurer' | 'approver', path: string) => {
      const page = await openConsole('/console');
      await signInAs(page, person);
      await page.goto(`${service().url}${path}`);
      await untilShown(page);
      return page;
    };
    const tariq = await openAs('treasurer', `/console/move-ins/comparison/${id}`);
    await tariq.getByRole('button', { name: 'Cut over…' }).click();
    const dialog = tariq.getByRole('dialog');
    await dialog.getByText('A second person must approve this.').waitFor();
    await dialog.getByLabel('Note').fill('Checked by finance.');
    await dialog.getByRole('button', { name: 'Sign and cut over' }).click();
    await dialog.getByText('This is waiting for the approval of a second person.').waitFor();
    const link = dialog.getByRole('link', { name: 'Open the approval' });
    const path = (await link.getAttribute('href')) ?? '';
    await screenshot(tariq, 'cut-over-waiting');
    expect(await isStopped()).toBe(true);

    const amara = await openAs('approver', path);
    await amara.getByRole('heading', { name: /wants to sign the report of the comparison/ }).waitFor();
    await screenshot(amara, 'cut-over-approval');
    await amara.getByRole('button', { name: 'Approve', exact: true }).click();
    await amara.getByRole('dialog').getByRole('button', { name: 'Approve and carry out' }).click();
    await amara.getByText('Approved and carried out.').waitFor();
    expect(await isStopped()).toBe(false);
    await tariq.goto(`${service().url}/console/move-ins/comparison/${id}`);
    await tariq.getByText('Cut over by').waitFor();
    await tariq.getByText('cut over', { exact: true }).waitFor();
    await client().approvals.changePolicy({ rules: [] });
  });
});

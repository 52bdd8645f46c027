import { describe, expect, test } from 'vitest';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { makeWorld } from './harness/sample-world.ts';
import { chooseAction, pressKeys, refusedActions, screenshot, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();

describe('programs and funding', () => {
  test('a program is created, takes deposits, refuses a withdrawal that it cannot cover, and lists its movements', async () => {
    const page = await openConsole('/console/programs');
    await page.getByRole('button', { name: 'New program' }).click();
    const creating = page.getByRole('dialog', { name: 'New card program' });
    await creating.getByLabel('Name').fill('Console <b>program</b>');
    await creating.getByLabel('Currency').fill('usd');
    await pressKeys(page, 'Enter');
    await page.getByRole('heading', { name: 'Console <b>program</b>' }).waitFor();
    await page.getByText('No deposits yet').waitFor();
    expect(await refusedActions(page)).toEqual({ Withdraw: 'The program has no available funds.' });

    await page.getByRole('button', { name: 'Deposit' }).click();
    const deposit = page.getByRole('dialog', { name: 'Deposit to' });
    await deposit.getByLabel('Amount').fill('1,500.5');
    await deposit.getByLabel('Description').fill('wire 7');
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'deposit');
    await deposit.getByRole('button', { name: 'Deposit 1,500.50 USD' }).click();
    await deposit.waitFor({ state: 'detached' });
    await page.getByRole('row', { name: 'wire 7' }).getByText('+1,500.50').waitFor();
    await page.getByRole('row', { name: 'wire 7' }).getByText('A local caller').waitFor();

    await chooseAction(page, 'Withdraw');
    const withdrawal = page.getByRole('dialog', { name: 'Withdraw from' });
    await withdrawal.getByLabel('Amount').fill('2000');
    await withdrawal.getByRole('button', { name: 'Withdraw 2,000.00 USD' }).click();
    await withdrawal.getByText('insufficient_funds').waitFor();
    await withdrawal.getByText('No money moved.').waitFor();
    await withdrawal.getByLabel('Amount').fill('0.50');
    await withdrawal.getByRole('button', { name: 'Withdraw 0.50 USD' }).click();
    await withdrawal.waitFor({ state: 'detached' });
    await page.locator('.highlights').getByText('1,500.00').waitFor();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as CSV' }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe('deposits-and-withdrawals.csv');
    await page.getByText('Saved 2 deposits and withdrawals.').waitFor();
    const programId = /prog_[0-9a-f]{32}/.exec(page.url())?.[0] ?? '';
    const { funding } = await service().client.programs.get(programId);
    expect(funding).toEqual([{ currency: 'USD', balance: 150_000, available: 150_000 }]);
    await screenshot(page, 'program');
    await chooseAction(page, 'New card');
    await page.getByRole('dialog', { name: 'New card of Console <b>program</b>' }).waitFor();
    await page.getByRole('button', { name: 'Create the card' }).click();
    await page.waitForURL(/\/console\/card\//);
    expect((await service().client.cards.list({}, { programId })).data).toHaveLength(1);
    await page.goBack();
    await page.getByRole('button', { name: 'More', exact: true }).click();
    const colorOf = (name: string) =>
      page.getByRole('menuitem', { name }).evaluate((item) => window.getComputedStyle(item).color);
    expect(await colorOf('Stop transfers…')).not.toBe(await colorOf('Withdraw'));
    await pressKeys(page, 'Escape');
    await service().client.switch.change({ disabled: true, program_id: programId, reason: 'audit' });
    const stopped = { 'Stop transfers…': 'All transfers of the program are already stopped.' };
    await expect.poll(() => refusedActions(page)).toEqual(stopped);
    await service().client.switch.change({ disabled: false, program_id: programId });
  });

  test('only the edited limits and the edited threshold change', async () => {
    const { program_id: programId } = await makeWorld(service());
    const { client } = service();
    const page = await openConsole(`/console/programs/${programId}`, { theme: 'dark', width: 390 });
    await page.getByRole('button', { name: 'Change the limits' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Limits of all cards of Shop' });
    const field = dialog.getByLabel('Daily count').first();
    await field.fill('many');
    await dialog.getByText('A whole number').waitFor();
    await client.programs.update(programId, { limits: { out: { daily_count: 9 } } });
    await field.fill('5');
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'limits-phone');
    await dialog.getByRole('button', { name: 'Save the limits' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await client.programs.get(programId)).limits).toEqual({
      in: { daily_amount: 900_000, daily_count: 5 },
      out: { daily_count: 9 },
    });
    await chooseAction(page, 'Change');
    await page.getByLabel('Alert below').fill('99,999.00');
    await page.getByRole('button', { name: 'Save Shop' }).click();
    await page.getByText('funds are low').waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'program-phone');
  });

  test('a limit that someone else changed while the form was open is not overwritten', async () => {
    const { program_id: programId } = await makeWorld(service());
    const { client } = service();
    const page = await openConsole(`/console/programs/${programId}`);
    await page.getByRole('button', { name: 'Change the limits' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Limits of all cards of Shop' });
    await dialog.getByLabel('Daily count').first().fill('5');
    await client.programs.update(programId, { limits: { in: { daily_count: 9 } } });
    await dialog.getByRole('button', { name: 'Save the limits' }).click();
    await dialog.getByText('Someone else changed this').waitFor();
    expect((await client.programs.get(programId)).limits?.in).toEqual({ daily_amount: 900_000, daily_count: 9 });
  });

  test('a viewer sees every program, opens one with the keyboard, and is offered no changes', async () => {
    const page = await openConsole('/console/programs', { role: 'support' });
    await page.getByRole('table', { name: 'Card programs' }).getByText('Console <b>program</b>').waitFor();
    expect(await page.getByRole('button', { name: 'New program' }).count()).toBe(0);
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'programs');
    await pressKeys(page, 'j Enter');
    await page.waitForURL(/\/console\/programs\/prog_/);
    await page.getByRole('heading', { name: 'Deposits and withdrawals' }).waitFor();
    expect(await page.getByRole('button', { name: /Deposit|Withdraw|Change/ }).count()).toBe(0);
    await page.getByText('To deposit or withdraw, ask a treasurer.').waitFor();
  });
});

import { describe, expect, test } from 'vitest';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { pressKeys, screenshot, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();
const client = () => service().client;

describe('the screen that explains a transfer', () => {
  test('shows every check with its values, using only the keyboard, and moves no money', async () => {
    const { balance } = await client().cards.get('card_active');
    const page = await openConsole('/console');
    await pressKeys(page, 'g x');
    // The console focuses the content of a new screen a moment after the screen appears.
    await page.waitForFunction(() => document.activeElement?.id === 'content');
    const form = page.getByRole('form', { name: 'The transfer' });
    await form.getByLabel('Card', { exact: true }).focus();
    await page.keyboard.type('card_active');
    await pressKeys(page, 'Tab');
    await page.keyboard.type('12.50');
    await pressKeys(page, 'Enter');
    await page.getByText('This transfer would succeed now.').waitFor();
    const checks = page.getByRole('table', { name: 'Checks' });
    expect(await checks.locator('tbody tr').count()).toBeGreaterThan(5);
    await checks.getByText('12.50 USD').first().waitFor();
    expect(new URL(page.url()).searchParams.get('amount')).toBe('12.50');
    expect(await page.getByLabel('Amount', { exact: true }).inputValue()).toBe('12.50');
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'explain');
    expect((await client().cards.get('card_active')).balance).toBe(balance);
  });

  test('explains why a transfer would be refused, links the code, and repeats the check when opened from a link', async () => {
    const page = await openConsole('/console/explain?type=unload&card_id=card_empty&minor_units=5');
    const answer = page.locator('.answer');
    await answer.getByText('Would be declined: insufficient funds').waitFor();
    await expect.poll(() => page.getByLabel('Amount', { exact: true }).inputValue()).toBe('0.05');
    expect(await answer.getByRole('link', { name: /insufficient funds/ }).getAttribute('href')).toBe(
      '/errors/insufficient_funds',
    );
    await expectAccessibleInEveryView(page);
    await client().transfers.create({ amount: 5, card_id: 'card_empty' });
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('This transfer would succeed now.').waitFor();
  });

  test('names the missing fields before it sends anything', async () => {
    const page = await openConsole('/console/explain');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('Enter the id of a card.').waitFor();
    await page.getByLabel('Type', { exact: true }).selectOption('card_to_card');
    await page.getByText('Enter the id of the card that receives the money.').waitFor();
    await expectAccessibleInEveryView(page);
    await page.getByLabel('Card', { exact: true }).fill('card_active');
    await page.getByLabel('Receiving card').fill('card_active');
    await page.getByRole('textbox', { name: 'Amount' }).fill('ten');
    await page.getByText('Enter an amount, such as 125.00.').waitFor();
    await page.getByRole('textbox', { name: 'Amount' }).fill('5');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText("'destination_card_id' must be a different card").first().waitFor();
    await expectAccessibleInEveryView(page);
  });
});

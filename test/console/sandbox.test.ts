import { expect, test } from 'vitest';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { DEMO_CARDS } from '../../contract/sandbox/demo-cards.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { pressKeys, screenshot, untilShown, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();

test('every seeded card is there with its purpose, and a load says what becomes of it', async () => {
  // Whichever program is chosen: the cards are those of the demo program.
  const { program_id } = await service().client.programs.create({ name: 'Another', currency: 'EUR' });
  const page = await openConsole(`/console/sandbox?program=${program_id}`);
  const rows = page.getByRole('table', { name: 'Seeded cards' }).getByRole('row');
  const texts = await rows.allInnerTexts();
  for (const { name, purpose } of DEMO_CARDS)
    expect(texts.filter((text) => text.includes(name) && text.includes(purpose))).toHaveLength(1);
  expect(texts).toHaveLength(DEMO_CARDS.length + 1);
  await expectAccessibleInEveryView(page);
  expect(await page.getByRole('link', { name: 'card_active' }).getAttribute('href')).toContain(DEMO_PROGRAM);
  await page.getByTitle('Load 10.00 onto card_active').click();
  await page.getByText('card_active took it').waitFor();
  await page.getByTitle('Load 10.00 onto card_lost').click();
  await page.getByRole('link', { name: 'card_lost' }).first().waitFor();
  await page.locator('.error-record').waitFor();
  expect(await page.locator('.error-record').innerText()).toContain('No money moved.');
  await screenshot(page, 'sandbox');
});

test('any code of an operation is provoked by keyboard, and shown with its headers', async () => {
  const page = await openConsole('/console/sandbox');
  await page.getByLabel('Operation').selectOption('create_transfer');
  await page.getByLabel('Code').selectOption('service_disabled');
  await page.getByLabel('Code').focus();
  await pressKeys(page, 'Tab Tab Enter');
  const answer = page.locator('.answer');
  await answer.waitFor();
  const text = await answer.innerText();
  expect(text).toContain('Retry-After: 60');
  expect(text).toContain('"Code": "service_disabled"');
  await page.getByLabel('Code').selectOption('unknown_create_transfer');
  await page.getByLabel('It is not known whether money moved').check();
  await page.route('**/api/v0.1/core/transfer', (route) => {
    expect(route.request().headers()['sandbox-provoke']).toBe('unknown_create_transfer; money_moved=unknown');
    return route.fulfill({ status: 424, headers: { 'Error-Code': 'unknown_create_transfer' }, body: '{}' });
  });
  await page.getByRole('button', { name: 'Send it' }).click();
  await page.getByText('424 unknown_create_transfer').waitFor();
});

test('the clock moves on and back, and the database stops and starts while the page stays', async () => {
  const page = await openConsole('/console/sandbox');
  await page.getByText('the actual time.', { exact: false }).first().waitFor();
  await page.getByRole('button', { name: 'A day on' }).click();
  await page.getByText('1 d ahead of the actual time').waitFor();
  await page.getByRole('button', { name: 'Back to the actual time' }).click();
  await page.getByText(', the actual time.').waitFor();
  await page.locator('.badge.good', { hasText: 'running' }).waitFor();
  await page.getByRole('button', { name: 'Stop the database' }).click();
  const dialog = page.getByRole('dialog', { name: 'Stop the database' });
  await dialog.getByRole('button', { name: 'Stop it' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.locator('.badge.bad').waitFor();
  expect(await page.getByRole('table', { name: 'Seeded cards' }).isVisible()).toBe(true);
  await page.getByRole('button', { name: 'Start the database' }).click();
  await page.locator('.badge.good', { hasText: 'running' }).waitFor();
  await untilShown(page);
});

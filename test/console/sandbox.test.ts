import { expect, test } from 'vitest';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { DEMO_CARDS } from '../../contract/sandbox/demo-cards.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { pressKeys, screenshot, untilShown, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

test('lists every seeded card with its purpose, and shows the result of a load', async () => {
  // The screen shows the demo program's cards even if another program is chosen.
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
  await page.getByText('card_active accepted it').waitFor();
  await page.getByTitle('Load 10.00 onto card_lost').click();
  await page.getByRole('link', { name: 'card_lost' }).first().waitFor();
  await page.locator('.error-record').waitFor();
  expect(await page.locator('.error-record').innerText()).toContain('No money moved.');
  await screenshot(page, 'sandbox');
});

test('any error code of an operation can be provoked with the keyboard, and the page shows the response headers', async () => {
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
  await page.getByRole('button', { name: 'Provoke unknown_create_transfer' }).click();
  await page.getByText('424 unknown_create_transfer').waitFor();
});

test('shows a moved clock on every screen, and compares each time with the clock that set it', async () => {
  const { client } = service();
  const page = await openConsole('/console/keys?show=all', { role: 'support' });
  const banner = page.locator('.banner.clock');
  expect(await banner.count()).toBe(0);
  await client.sandbox.moveClock({ seconds_ahead: 9 * 86_400 });
  try {
    await client.keys.create({ name: 'Of the future', role: 'viewer', all_programs: true, expires_at: inDays(10) });
    // Another client has moved the clock, and the page must notice.
    await banner.getByText('9 d ahead').waitFor();
    await page.reload();
    await page.getByRole('row', { name: 'Of the future' }).getByText('active').waitFor();
    // The times when the key and the session were last used follow the real clock.
    const times = page.getByRole('table', { name: 'Sessions' }).locator('time');
    await times.first().waitFor();
    // A time of more than a day ago or ahead is a date.
    for (const text of await times.allTextContents()) expect(text).toMatch(/^(now|\d+ (s|min) ago|in \d+ (min|h))/);
    await pressKeys(page, 'g c');
    // If no program is chosen, the screen asks for one and focuses that field.
    await page.getByText('Choose a card program').waitFor();
    await banner.getByText('9 d ahead').waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'clock');
    await pressKeys(page, 'Escape');
    await pressKeys(page, 'g a');
    await banner.getByText('Times on this screen are actual times.').waitFor();
  } finally {
    await client.sandbox.moveClock({ seconds_ahead: 0 });
  }
  await banner.waitFor({ state: 'detached' });
});

test('moves the clock forward and back, and stops and starts the database', async () => {
  const page = await openConsole('/console/sandbox');
  await page.getByText('the actual time.', { exact: false }).first().waitFor();
  await page.getByRole('button', { name: 'Forward 1 day' }).click();
  await page.getByText('1 d ahead of the actual time').waitFor();
  await page.getByRole('button', { name: 'Reset to the actual time' }).click();
  await page.getByText(', the actual time.').waitFor();
  await page.locator('.badge.good', { hasText: 'running' }).waitFor();
  await page.getByRole('button', { name: 'Stop the database' }).click();
  const dialog = page.getByRole('dialog', { name: 'Stop the database' });
  await dialog.getByRole('button', { name: 'Stop the database' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.locator('.badge.bad').waitFor();
  expect(await page.getByRole('table', { name: 'Seeded cards' }).isVisible()).toBe(true);
  await page.getByRole('button', { name: 'Start the database' }).click();
  await page.locator('.badge.good', { hasText: 'running' }).waitFor();
  await untilShown(page);
});

test('signs in as one of four people, and refuses that person once they are blocked', async () => {
  const page = await openConsole('/console/sandbox');
  const signInAs = async (name: string) => {
    await page.getByRole('button', { name: 'Signed in:' }).click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Sign (in|out)$/ })
      .click();
    await page.getByRole('heading', { name: 'Sign in as' }).waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'sign-in-as');
    await page.getByRole('button', { name }).click();
  };
  await signInAs('Tariq, treasurer');
  await page.getByRole('button', { name: 'Tariq Haddad' }).waitFor();
  const { person_id } = (await service().client.people.list()).data[0] ?? {};
  await page.goto(`${service().url}/console/keys`);
  await page.getByRole('table', { name: 'People' }).getByText('Tariq Haddad').waitFor();
  // A treasurer may not block anyone.
  expect(await page.getByTitle('Block Tariq Haddad').count()).toBe(0);
  await page.getByRole('button', { name: 'Signed in:' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Continue without a key' }).click();
  await page.getByTitle('Block Tariq Haddad').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Block Tariq Haddad' }).click();
  await page.getByTitle('Unblock Tariq Haddad').waitFor();
  await expectAccessibleInEveryView(page);
  await screenshot(page, 'people');
  expect(await service().client.people.get(String(person_id))).toMatchObject({ blocked_at: expect.any(String) });
  await signInAs('Tariq, treasurer');
  await page.getByText('You were blocked from this service').waitFor();
});

import { beforeAll, describe, expect, test } from 'vitest';
import { refusalOf } from '../harness/service.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { SCRIPT } from './harness/sample-world.ts';
import { pressKeys, screenshot, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();
let programId = '';

beforeAll(async () => {
  const { client } = service();
  const program = await client.programs.create({ name: `Shop ${SCRIPT}`, currency: 'USD' });
  programId = program.program_id;
  await client.deposits.create(programId, { amount: 10_000 });
  await client.cards.create({ card_id: 'one' }, { programId });
  const scheduled_for = new Date(Date.now() + 3_600_000).toISOString();
  await client.transfers.create({ amount: 1, card_id: 'one', scheduled_for }, { programId });
});

const load = () => service().client.transfers.create({ amount: 1, card_id: 'one' }, { programId });

describe('the switch', () => {
  test('shows the effects of a stop, stops one type for a program, and restarts it', async () => {
    const page = await openConsole('/console');
    await page.clock.install();
    await page.goto('/console/switch');
    await page.getByLabel('What to stop').selectOption('transfer_type');
    await page.getByLabel('Card program', { exact: true }).selectOption(programId);
    await page.getByText('What continues').waitFor();
    await page.locator('.details').getByText('1, 1 of them within 24 hours').waitFor();
    await page.locator('.details').getByText(`Shop ${SCRIPT}`).waitFor();
    expect(new URL(page.url()).searchParams.get('of')).toBe(programId);
    await expectAccessibleInEveryView(page);

    await page.getByRole('button', { name: `Stop loads for Shop ${SCRIPT}…` }).click();
    await page.getByText('Enter a reason').waitFor();
    await page.getByLabel('Reason').fill(`Fraud ${SCRIPT}`);
    await pressKeys(page, 'Enter');
    const dialog = page.getByRole('dialog', { name: `Stop loads for Shop ${SCRIPT}` });
    await dialog.getByText('1 card program').waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'switch-confirm');
    expect((await load()).status).toBe('completed');
    // From here on no poll runs, so the page can read the changes only because of the stop.
    await page.clock.pauseAt(Date.now() + 60_000);
    await dialog.getByRole('button', { name: `Stop loads for Shop ${SCRIPT}` }).click();
    const banner = page.locator('.banner').getByText(`Fraud ${SCRIPT}`);
    await banner.waitFor();
    await page.clock.resume();
    await dialog.waitFor({ state: 'detached' });
    expect(await refusalOf(load())).toMatchObject({ code: 'service_disabled' });
    const row = page.getByRole('row', { name: `Loads for Shop ${SCRIPT}` });
    await row.getByText(`Fraud ${SCRIPT}`).waitFor();
    await page.getByText('Already stopped: ').waitFor();
    await screenshot(page, 'switch');

    // In a sandbox without keys, the caller has no name.
    await row.getByText('A local caller').waitFor();
    await row.getByRole('button', { name: 'Restart' }).click();
    const restarting = page.getByRole('dialog', { name: `Restart loads for Shop ${SCRIPT}` });
    await restarting.getByText('Card programs').waitFor();
    await page.clock.pauseAt(Date.now() + 120_000);
    await restarting.getByRole('button', { name: `Restart loads for Shop ${SCRIPT}` }).click();
    await banner.waitFor({ state: 'detached' });
    await page.clock.resume();
    await restarting.waitFor({ state: 'detached' });
    await row.getByText('running').waitFor();
    await page.getByText('Already stopped: ').waitFor({ state: 'detached' });
    expect((await load()).status).toBe('completed');
    // On a phone, the table leaves out cells that have only a dash.
    await page.setViewportSize({ width: 390, height: 800 });
    const settings = page.getByRole('table', { name: 'Settings of the switch' });
    expect(await settings.innerText()).toContain('running');
    expect(await settings.innerText()).not.toContain('–');
  });

  test('does not let the user confirm a stop until its own preview is shown', async () => {
    const page = await openConsole(`/console/switch?program=${programId}`);
    // The screen starts with the program chosen in the header, not with all programs.
    await page.getByRole('button', { name: `Stop all transfers for Shop ${SCRIPT}…` }).waitFor();
    await page.getByLabel('What to stop').selectOption('service');
    await page.getByLabel('Reason').fill('checked');
    await expect.poll(() => page.getByRole('button', { name: 'Stop everything…' }).isEnabled()).toBe(true);
    await page.getByText('What continues').waitFor();
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/switch/preview?*', async (route) => {
      await answered;
      await route.continue();
    });
    await page.getByLabel('What to stop').selectOption('program');
    await page.getByLabel('Card program', { exact: true }).selectOption(programId);
    const stop = page.getByRole('button', { name: `Stop all transfers for Shop ${SCRIPT}…` });
    await stop.waitFor();
    expect(await stop.isDisabled()).toBe(true);
    expect(await page.getByText('What continues').count()).toBe(0);
    answer();
    await page.getByText('What continues').waitFor();
    await expect.poll(() => stop.isEnabled()).toBe(true);
  });

  test('refuses a time in the past, shows the error record and stops nothing', async () => {
    const page = await openConsole('/console/switch?scope=service', { theme: 'dark', width: 390 });
    await page.getByLabel('Reason').fill('too late');
    await page.getByLabel('Until').fill('2001-01-01T00:00:00');
    await page.getByRole('button', { name: 'Stop everything…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Stop everything' });
    await dialog.getByRole('button', { name: 'Stop everything' }).click();
    await dialog.getByText('change_switch_schema').waitFor();
    await screenshot(page, 'switch-refused-phone');
    await pressKeys(page, 'Escape');
    expect((await load()).status).toBe('completed');
  });

  test('stops transfers at a connector, offers an incident, and restarts them', async () => {
    const { client } = service();
    const processor = { connector_id: 'simulator', processor_token: 'sim_approve' };
    await client.cards.create({ card_id: 'at_processor', ...processor }, { programId });
    const loadThere = () => client.transfers.create({ amount: 1, card_id: 'at_processor' }, { programId });
    const page = await openConsole('/console/switch?scope=connector');
    await page.getByText('Choose a connector to see what this would stop.').waitFor();
    await page.getByLabel('Connector', { exact: true }).selectOption('simulator');
    await page.getByText('Orders that have not been sent to their processor yet must wait.').waitFor();
    await page.getByLabel('Type of transfer').selectOption('load');
    await page.getByLabel('Reason').fill(`Outage ${SCRIPT}`);
    const what = 'loads at the connector simulator';
    await expectAccessibleInEveryView(page);
    await page.getByRole('button', { name: `Stop ${what}…` }).click();
    const dialog = page.getByRole('dialog', { name: `Stop ${what}` });
    await dialog.getByRole('button', { name: `Stop ${what}` }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.locator('.banner').getByText('Loads at the connector simulator are stopped').waitFor();
    expect(await refusalOf(loadThere())).toMatchObject({ code: 'service_disabled' });
    expect((await load()).status).toBe('completed');

    await page.getByRole('button', { name: 'Open an incident…' }).click();
    const title = page.getByRole('dialog').getByLabel('Title');
    expect(await title.inputValue()).toBe('Loads at the connector simulator are stopped');
    await pressKeys(page, 'Escape');
    await screenshot(page, 'switch-connector');
    const row = page.getByRole('row', { name: 'Loads at the connector simulator' });
    await row.getByRole('button', { name: 'Restart' }).click();
    await page.getByRole('button', { name: `Restart ${what}` }).click();
    await row.getByText('running').waitFor();
    expect((await loadThere()).status).toBe('pending');
  });

  test('shows callers without permission the settings, a preview and which role to ask', async () => {
    const page = await openConsole('/console/switch', { role: 'support' });
    await page.getByText('What continues').waitFor();
    await page.getByText('To stop or restart transfers, ask an operator.').waitFor();
    expect(await page.getByRole('button', { name: /Stop|Restart/ }).count()).toBe(0);
    expect(await page.getByLabel('Reason').count()).toBe(0);
  });
});

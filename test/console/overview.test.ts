import { describe, expect, test } from 'vitest';
import { waitFor } from '../harness/process.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { makeWorld } from './harness/sample-world.ts';
import { screenshot, untilShown, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();

describe('the overview', () => {
  test('shows what the service does, with the numbers of each chart as a table', async () => {
    await makeWorld(service());
    await waitFor('the figures', async () => (await service().client.status.overview()).now.requests > 0);
    const page = await openConsole('/console');
    await page.getByRole('heading', { name: 'Since the process was started' }).waitFor();
    await page.locator('.figures').getByText('Transfers a second').waitFor();
    await page.locator('.figures').getByText('Refused by rules').waitFor();
    await page.getByText('Transfers by hour').waitFor();
    await waitFor('the error of the sample', () => page.getByRole('link', { name: 'insufficient_funds' }).isVisible());
    expect(await page.getByRole('link', { name: 'insufficient_funds' }).getAttribute('href')).toContain(
      '/console/errors?code=insufficient_funds',
    );
    // The last chart comes with a response of its own, and is there or not from then on, for a minute.
    await page.getByText('The errors are being counted.').waitFor({ state: 'detached' });
    for (const summary of await page.getByText('The numbers').all()) await summary.click();
    expect(await page.locator('.numbers-scroll').count()).toBe(await page.locator('figure.chart').count());
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'overview');
  });

  test('what needs attention is named, with the page of the runbook', async () => {
    const { client } = service();
    await client.switch.change({ disabled: true, reason: 'a test' });
    const page = await openConsole('/console', { theme: 'dark', width: 390 });
    const concerns = page.getByRole('list', { name: 'What needs attention' });
    await concerns.getByText('docs/runbook/service-disabled.md').waitFor();
    await concerns.getByText('Transfers of the whole service are disabled').waitFor();
    await screenshot(page, 'overview-dark-phone');
    await client.switch.change({ disabled: false });
    await concerns.getByText('Transfers of the whole service are disabled').waitFor({ state: 'detached' });
  });

  test('without its database it shows what the process knows, and says what is not known', async () => {
    const { client } = service();
    const page = await openConsole('/console');
    await page.getByText('Transfers by hour').waitFor();
    await client.sandbox.stopDatabase();
    try {
      await page.getByText('Not known, because the database did not say').waitFor();
      await page.locator('.figures').getByText('Transfers a second').waitFor();
      await page.getByText('the database does not respond').first().waitFor();
    } finally {
      await client.sandbox.startDatabase();
    }
    // The banner of the switch asks the database, too.
    await page.getByText('Not known, because the database did not say').waitFor({ state: 'detached' });
    await untilShown(page);
  });
});

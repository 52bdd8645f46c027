import { describe, expect, test } from 'vitest';
import type { Overview } from '../../sdk/client.ts';
import { waitFor } from '../harness/process.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { makeWorld } from './harness/sample-world.ts';
import { screenshot, untilShown, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();

describe('the overview', () => {
  test('shows the activity of the service, and the numbers of each chart as a table', async () => {
    await makeWorld(service());
    await waitFor('the figures', async () => (await service().client.status.overview()).now.requests > 0);
    const page = await openConsole('/console');
    // The state in words comes first, then the most important figures, then all others.
    await page
      .locator('.answer')
      .getByText(/^(Everything works|The service|Some requests fail)/)
      .waitFor();
    await page.getByRole('heading', { name: 'Since the start' }).waitFor();
    await page.locator('.highlights').getByText('Transfers per second').waitFor();
    await page.locator('.highlights').getByText('Latency, p99').waitFor();
    await page.getByText(/^Of these: .*1 declined/).waitFor();
    await page.locator('.details').getByText('up to date').waitFor();
    expect(await page.locator('main').innerText()).not.toMatch(/–|of 0/);
    await page.getByText('Transfers by hour').waitFor();
    await waitFor('the error of the sample', () => page.getByRole('link', { name: 'insufficient_funds' }).isVisible());
    expect(await page.getByRole('link', { name: 'insufficient_funds' }).getAttribute('href')).toContain(
      '/console/errors?code=insufficient_funds',
    );
    // The last chart needs a separate response. After that, the chart stays either present or absent for a minute.
    await page.getByText('Counting errors…').waitFor({ state: 'detached' });
    for (const summary of await page.getByText('Show data').all()) await summary.click();
    expect(await page.locator('.numbers-scroll').count()).toBe(await page.locator('figure.chart').count());
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'overview');
  });

  test('shows a message if no requests arrived', async () => {
    const page = await openConsole('/console', { theme: 'dark', width: 390 });
    const overview: Overview = await service().client.status.overview();
    const figures = { ...overview.now, requests: 0, transfers_per_second: 0, success_ratio: null };
    const { recent } = overview;
    const none = { transfers: [], succeeded: [], refused: [], invalid: [], failed: [], errors: [], lane_waiting: [] };
    await page.route('**/operator/overview', (route) =>
      route.fulfill({
        json: { ...overview, all: figures, now: figures, hours: [], recent: { ...recent, ...none } },
      }),
    );
    await page.reload();
    await page.getByText('Quiet: no requests to move money.').first().waitFor();
    await page.getByText('No transfers.').waitFor();
    expect(await page.locator('.highlights').count()).toBe(0);
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'overview-quiet-phone');
  });

  test('names everything that needs attention, with its runbook page', async () => {
    const { client } = service();
    await client.switch.change({ disabled: true, reason: 'a test' });
    const page = await openConsole('/console', { theme: 'dark', width: 390 });
    const concerns = page.getByRole('list', { name: 'What needs attention' });
    await concerns.getByText('Transfers of the whole service are disabled').waitFor();
    // On a busy machine there may be another problem, with another page.
    const concern = concerns.getByRole('listitem').filter({ hasText: 'Transfers of the whole service are disabled' });
    expect(await concern.getByRole('link', { name: 'What to do' }).getAttribute('href')).toBe(
      '/docs/runbook/service-disabled.md',
    );
    await page.locator('.answer').getByText('All transfers are stopped.').waitFor();
    await screenshot(page, 'overview-dark-phone');
    await client.switch.change({ disabled: false });
    await concerns.getByText('Transfers of the whole service are disabled').waitFor({ state: 'detached' });
  });

  test('says in one sentence whether yesterday added up, and links to the days that did not', async () => {
    const page = await openConsole('/console');
    const overview: Overview = await service().client.status.overview();
    const show = async (yesterday: Overview['status']['yesterday'], degraded: Overview['status']['degraded']) => {
      await page.route('**/operator/overview', (route) =>
        route.fulfill({ json: { ...overview, status: { ...overview.status, yesterday, degraded } } }),
      );
      await page.reload();
    };
    const right = { programs: 12, checked: 12, not_checked: 0, not_adding_up: 0, days: [] };
    await show({ ...right, message: 'Yesterday added up for all 12 card programs.' }, []);
    await page.getByText('Yesterday added up for all 12 card programs.').waitFor();
    await screenshot(page, 'overview-yesterday');
    const message = 'Yesterday does not add up for 1 of 12 card programs: Lumen Gift Cards.';
    const days = [{ program_id: `prog_${'1'.repeat(32)}`, program_name: 'Lumen Gift Cards', day: '2026-01-30' }];
    await show({ ...right, not_adding_up: 1, days, message }, [
      { name: 'day_not_adding_up', message, runbook: 'docs/runbook/books-not-balanced.md' },
    ]);
    const concern = page.getByRole('list', { name: 'What needs attention' }).getByText(message);
    await concern.waitFor();
    expect(
      await concern.getByRole('link').evaluateAll((links) => links.map((link) => link.getAttribute('href'))),
    ).toEqual([`/console/programs/${days[0]?.program_id}/day?day=2026-01-30`, '/docs/runbook/books-not-balanced.md']);
    expect(await page.getByText('Yesterday').count()).toBe(1);
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'overview-day-not-adding-up');
  });

  test('shows the rest of the overview during an upgrade, when an earlier version sends no yesterday', async () => {
    const page = await openConsole('/console');
    const overview: Overview = await service().client.status.overview();
    const { yesterday: _, ...status } = overview.status;
    await page.route('**/operator/overview', (route) => route.fulfill({ json: { ...overview, status } }));
    await page.reload();
    await page.getByRole('heading', { name: 'The last minute' }).waitFor();
    expect(await page.getByText(/Yesterday|See the day/).count()).toBe(0);
  });

  test('lists the standbys and shows whether transfers survive a failover, but shows neither for a sandbox on one machine', async () => {
    const page = await openConsole('/console');
    await page.locator('.answer').waitFor();
    await page.locator('.details').getByText('up to date').waitFor();
    expect(await page.getByText('If the primary is lost').count()).toBe(0);
    const overview: Overview = await service().client.status.overview();
    const standby = { name: 'north', state: 'streaming', sync_state: 'sync', lag_bytes: 0, lag_seconds: null };
    const database: Overview['status']['database'] = {
      ...overview.status.database,
      kind: 'external',
      standbys: 2,
      waits_for_standby: true,
      replication_lag_bytes: 5_000_000,
      standby_list: [
        standby,
        { ...standby, name: 'south', sync_state: 'potential', lag_bytes: 5_000_000, lag_seconds: 2 },
      ],
      survives_primary_loss: {
        answer: 'yes',
        reason: 'A commit is acknowledged once a synchronous standby has it on disk.',
      },
    };
    await page.route('**/operator/overview', (route) =>
      route.fulfill({ json: { ...overview, status: { ...overview.status, mode: 'live', database } } }),
    );
    await page.reload();
    await page.getByText('Acknowledged transfers survive. A commit is acknowledged once').waitFor();
    await page.getByText(/^north: streaming, sync, 0/).waitFor();
    await page.getByText(/^south: streaming, potential, 5.0 MB, 2 s.* behind$/).waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'overview-standbys');
  });

  test('shows the figures of the process while the database is stopped, and names the parts that are unavailable', async () => {
    const page = await openConsole('/console');
    await page.getByText('Transfers by hour').waitFor();
    await service().database.stop();
    try {
      await page.getByText('Unavailable while the database is down:').waitFor();
      await page.locator('.answer.fault').getByText('transfers fail').waitFor();
    } finally {
      await service().database.start();
    }
    // The banner of the switch also needs the database.
    await page.getByText('Unavailable while the database is down:').waitFor({ state: 'detached' });
    await untilShown(page);
  });
});

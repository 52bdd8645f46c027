import { describe, expect, test } from 'vitest';
import type { Overview } from '../../sdk/client.ts';
import { waitFor } from '../harness/process.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { makeWorld } from './harness/sample-world.ts';
import { screenshot, untilShown, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();

describe('the overview', () => {
  test('says what to do first while there are no transfers, with a command that makes one', async () => {
    const page = await openConsole('/console', { theme: 'dark', width: 390 });
    await page.getByRole('heading', { name: 'No transfers in the last 24 hours' }).waitFor();
    const command = `curl ${service().url}/api/v0.1/core/transfer -d '{"amount": 1000, "card_id": "card_active"}'`;
    await page.getByText(command).waitFor();
    expect(await page.locator('.figures, figure.chart').count()).toBe(0);
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'overview-fresh-phone');
    await service().client.transfers.create({ amount: 1000, card_id: 'card_active' });
    await page.locator('.figures').waitFor();
    expect(await page.getByText(command).count()).toBe(0);
  });

  test('shows the activity of the service, and the numbers of each chart as a table', async () => {
    await makeWorld(service());
    await waitFor('the figures', async () => (await service().client.status.overview()).now.requests > 0);
    const page = await openConsole('/console');
    // The state in words comes first, then four figures, then everything that needs attention, and then the charts.
    await page
      .locator('.answer')
      .getByText(/^(Everything works|The service|Some requests fail)/)
      .waitFor();
    await expect
      .poll(() => page.locator('main h2').allInnerTexts())
      .toEqual([
        'The last minute',
        'What needs attention today',
        'The last 15 minutes',
        'The last 24 hours',
        'Parts of the service',
      ]);
    expect(await page.locator('.figures dt').allInnerTexts()).toEqual([
      'Transfers',
      'Refused',
      'Failed',
      'Latency, p99',
    ]);
    expect(await page.locator('.figures .sparkline').count()).toBe(4);
    const concerns = page.getByRole('list', { name: 'What needs attention' });
    for (const [text, link] of [
      ['1 request waits for an approval.', 'Open the approvals'],
      ['1 break with a processor is open.', 'Open the breaks'],
    ] as const) {
      await concerns.getByRole('listitem').filter({ hasText: text }).getByRole('link', { name: link }).waitFor();
    }
    await page.locator('.details').getByText('up to date').waitFor();
    expect(await page.locator('main').innerText()).not.toMatch(/–|of 0/);
    await waitFor('the error of the sample', () => page.getByRole('link', { name: 'insufficient_funds' }).isVisible());
    expect(await page.getByRole('link', { name: 'insufficient_funds' }).getAttribute('href')).toContain(
      '/console/errors?code=insufficient_funds',
    );
    for (const summary of await page.getByText('Show data').all()) await summary.click();
    expect(await page.locator('.numbers-scroll').count()).toBe(6);
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'overview');
  });

  test('draws every chart on a grid with three ticks or more, wide and narrow, and shows missing data as gaps', async () => {
    const page = await openConsole('/console');
    const overview: Overview = await service().client.status.overview();
    const { recent } = overview;
    // The process started 11 intervals ago and was suspended for 3 of them. All other values are 0.
    const counts = [0, 0, 0, 0, null, null, null, 0, 0, 0, 0];
    const nothing = counts.map(() => null);
    const flat = { transfers: counts, succeeded: counts, refused: counts, invalid: counts, failed: counts };
    const others = { lane_waiting: counts, p50_milliseconds: nothing, p99_milliseconds: nothing, errors: [] };
    const hours = [
      { start: new Date(Date.parse(overview.made_at) - 3_600_000).toISOString(), type: 'load', transfers: 1 },
    ];
    await page.route('**/operator/overview', (route) =>
      route.fulfill({ json: { ...overview, recent: { ...recent, ...flat, ...others }, hours } }),
    );
    await page.reload();
    const charts = page.locator('figure.chart');
    await expect.poll(() => charts.locator('svg').count()).toBe(6);
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 900 });
      for (const chart of await charts.all()) {
        const title = await chart.locator('.chart-title').innerText();
        for (const labels of ['.plot-value', '.plot-time']) {
          await expect
            .poll(async () => new Set(await chart.locator(labels).allTextContents()).size, {
              message: `${labels} of ${title}`,
            })
            .toBeGreaterThanOrEqual(3);
        }
      }
    }
    const chartOf = (title: string) => charts.filter({ has: page.getByText(title, { exact: true }) });
    const queued = chartOf('Transfers queued');
    // One gap before the start of the process, and one while it was suspended. The line has two parts.
    expect(await queued.locator('.plot-gap').count()).toBe(2);
    expect((await queued.locator('.plot-line').getAttribute('d'))?.match(/M/g)).toHaveLength(2);
    // A quiet time has no latency, which is not a gap.
    const latency = chartOf('Latency of requests that move money');
    expect(await latency.locator('.plot-gap').count()).toBe(2);
    expect(await latency.locator('.plot-line').first().getAttribute('d')).toBe('');
    expect(await chartOf('Transfers by hour').locator('.plot-gap').count()).toBe(0);
    await screenshot(page, 'overview-gaps-phone');
  });

  test('never says that everything works while requests fail or are refused', async () => {
    const page = await openConsole('/console');
    const overview: Overview = await service().client.status.overview();
    const status = { ...overview.status, degraded: [] };
    const show = async (counts: object, recent: object = {}) => {
      const figures = { ...overview.now, requests: 200, refused: 0, invalid: 0, failed: 0, ...counts };
      const json = { ...overview, status, now: figures, all: figures, recent: { ...overview.recent, ...recent } };
      await page.unroute('**/operator/overview');
      await page.route('**/operator/overview', (route) => route.fulfill({ json }));
      await page.reload();
    };
    await show({ failed: 40, refused: 100 });
    await page
      .locator('.answer.fault')
      .getByText('The service fails: 40 of 200 requests that move money in the last minute. It refused 100 more.')
      .waitFor();
    await page.locator('.figures .tone-bad').getByText('20.00 %').waitFor();
    await page.locator('.figures .tone-waiting').getByText('50.00 %').waitFor();
    await screenshot(page, 'overview-failing');
    await show({ refused: 100 });
    await page.locator('.answer').getByText('The service works, but it refused 100 of 200 requests').waitFor();
    const before = { failed: overview.recent.failed.map((_, at) => (at === 0 ? 7 : 0)) };
    await show({}, before);
    await page.locator('.answer').getByText('The service works again: 7 requests that move money failed').waitFor();
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
    const list = page.getByRole('list', { name: 'What needs attention' });
    const concern = list.getByRole('listitem').filter({ hasText: message });
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
    await page.getByRole('heading', { name: 'What needs attention today' }).waitFor();
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

import { request } from 'node:http';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { RUNBOOK } from '../../server/foundation/runbook.ts';
import { pendingApproval } from '../fixtures/service-things.ts';
import { runCommand, startInVain, waitFor } from '../harness/process.ts';
import { directoryForTest, useOwnService } from '../harness/service.ts';
import {
  isOnPage,
  namesOn,
  readDashboard,
  readPage,
  readProjectFile,
  type Series,
  selectorsIn,
} from './monitoring-files.ts';

const service = useOwnService('Its metrics count everything that the service does.', { METRICS_PORT: '0' });

/** Returns the URL of the metrics page, from the banner. */
function pageUrl(): string {
  const found = /Metrics: (\S+)/.exec(service().output())?.[1];
  if (found === undefined) throw new Error('the banner has no metrics page');
  return found;
}

async function readText(): Promise<string> {
  return (await fetch(pageUrl())).text();
}

/** Reads a page that was rendered after this call. The service caches a page for a second. */
async function readFreshPage(): Promise<readonly Series[]> {
  await new Promise((wake) => setTimeout(wake, 1_100));
  return readPage(await readText());
}

function sumOf(page: readonly Series[], name: string, labels: Readonly<Record<string, string>> = {}): number {
  const isWanted = (series: Series): boolean =>
    series.name === `transfer_service_${name}` &&
    Object.entries(labels).every(([key, of]) => series.labels[key] === of);
  return page.filter(isWanted).reduce((sum, { value }) => sum + value, 0);
}

/** Sends bytes and waits until the connection is closed. */
function sendBytes(text: string): Promise<void> {
  const { hostname, port } = new URL(service().url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.end(text));
    socket.on('close', () => resolve());
    socket.on('error', reject);
    socket.resume();
  });
}

test('every request is counted once, with any outcome', async () => {
  const { client, url } = service();
  const before = await readFreshPage();
  await client.transfers.create({ amount: 100, card_id: 'card_active' });
  await client.transfers.create({ amount: 100, card_id: 'card_closed' }).catch(() => undefined);
  await fetch(`${url}/api/v0.1/core/transfer`, { method: 'POST', body: '{' });
  await fetch(`${url}/api/v0.1/core/transfer/export`).then((response) => response.text());
  await fetch(`${url}/api/v0.1/nowhere`);
  for (const guess of ['/favicon.ico.bak', '/healthz', '/robots.txt', '/.env']) await fetch(`${url}${guess}`);
  await fetch(`${url}/errors`);
  await fetch(`${url}/health/live`);
  await sendBytes('these bytes are no request\r\n\r\n');
  const after = await readFreshPage();
  const gained = (labels: Readonly<Record<string, string>>): number =>
    sumOf(after, 'requests_total', labels) - sumOf(before, 'requests_total', labels);
  expect(gained({})).toBe(12);
  expect(gained({ operation: 'create_transfer', code: 'ok', status: '201' })).toBe(1);
  expect(gained({ operation: 'create_transfer', code: 'card_closed' })).toBe(1);
  expect(gained({ operation: 'create_transfer', kind: 'money' })).toBe(3);
  expect(gained({ kind: 'page', code: 'ok' })).toBe(1);
  expect(gained({ kind: 'health' })).toBe(1);
  expect(gained({ kind: 'none', code: 'route_not_found' })).toBe(1);
  expect(gained({ kind: 'stray', code: 'route_not_found', status: '404' })).toBe(4);
  const seconds = (page: readonly Series[]) => sumOf(page, 'request_seconds_count');
  expect(seconds(after) - seconds(before)).toBe(12);
  expect(sumOf(after, 'group_size_sum') - sumOf(before, 'group_size_sum')).toBe(2);
});

test('serves only the metrics page on its own port, and renders it at most once a second', async () => {
  const base = new URL(pageUrl()).origin;
  expect((await fetch(`${base}/`)).status).toBe(404);
  expect((await fetch(`${base}/health/live`)).status).toBe(404);
  expect((await fetch(`${base}/metrics`, { method: 'POST' })).status).toBe(405);
  expect((await fetch(`${service().url}/metrics`)).status).toBe(404);
  const page = await fetch(`${base}/metrics?name[]=x`);
  expect(page.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  await new Promise((wake) => setTimeout(wake, 1_100));
  const begun = performance.now();
  const texts = [await readText(), ...(await Promise.all([readText(), readText()]))];
  // All responses have the same text, unless a slow machine takes more than a second.
  expect(new Set(texts).size).toBeLessThanOrEqual(1 + Math.floor((performance.now() - begun) / 1_000));
  const head = await new Promise<number | undefined>((resolve) => {
    request(`${base}/metrics`, { method: 'HEAD' }, (response) => resolve(response.statusCode)).end();
  });
  expect(head).toBe(200);
});

test('refuses to start if the port is in use, and names the page of the runbook', async () => {
  const { port } = new URL(pageUrl());
  const { exitCode, errors } = await startInVain({ METRICS_PORT: port, DATA_DIR: await directoryForTest() });
  expect(exitCode).toBe(1);
  expect(errors).toContain(`Port ${port} of the metrics is already in use.`);
  expect(errors).toContain('Runbook: docs/runbook/port-unavailable.md');
});

test('shows new figures from the database after at most a few seconds', async () => {
  const { client } = service();
  const [program] = (await client.programs.list()).data;
  const programId = program?.program_id ?? '';
  await client.programs.update(programId, { funding_low_threshold: 900_000_000_000 });
  await client.switch.change({ program_id: programId, disabled: true, reason: 'a test' });
  await client.switch.change({ connector_id: 'simulator', disabled: true, reason: 'a test' });
  await pendingApproval(client);
  const created = await runCommand(['operator-key', 'create', '--name', 'emergency'], {
    DATA_DIR: service().directory,
  });
  expect(created.exitCode).toBe(0);
  const isShown = (page: readonly Series[]): boolean =>
    sumOf(page, 'funding_low') === 1 &&
    sumOf(page, 'host_keys_recent') === 1 &&
    sumOf(page, 'approval_oldest_pending_seconds') > 0 &&
    sumOf(page, 'switch_disabled', { scope: 'program' }) === 1 &&
    sumOf(page, 'switch_disabled', { scope: 'connector' }) === 1;
  await waitFor('the figures', async () => isShown(readPage(await readText())));
  await client.switch.change({ program_id: programId, disabled: false });
  await client.switch.change({ connector_id: 'simulator', disabled: false });
  await client.programs.update(programId, { funding_low_threshold: null });
});

test('counts cases by urgency and severity, with the age of the oldest unanswered case', async () => {
  const { client } = service();
  const url = `${service().url}/api/v0.1/core/transfer`;
  const headers = { 'Sandbox-Provoke': 'unknown_create_transfer' };
  const failed = await fetch(url, { method: 'POST', headers, body: '{"amount": 1, "card_id": "card_active"}' });
  const request_id = failed.headers.get('request-id') ?? '';
  const { case_id } = await client.cases.create({ request_id, severity: 'low' });
  await client.cases.create({ text: 'Why is it blue?', severity: 'critical' });
  const { incident_id } = await client.incidents.create({
    scope: 'all',
    codes: ['unknown_create_transfer'],
    title: 'A test',
    public_text: 'It is known.',
  });
  const ageOf = (page: readonly Series[], urgency: string) =>
    sumOf(page, 'case_oldest_unanswered_seconds', { urgency });
  await waitFor('the figures', async () => {
    const page = readPage(await readText());
    return ageOf(page, 'urgent') > 0 && sumOf(page, 'incident_oldest_update_seconds') > 0;
  });
  const page = readPage(await readText());
  expect(sumOf(page, 'cases_open', { urgency: 'urgent', severity: 'low' })).toBe(1);
  expect(sumOf(page, 'cases_open', { urgency: 'no_error', severity: 'critical' })).toBe(1);
  expect(sumOf(page, 'cases_open')).toBe(2);
  expect(ageOf(page, 'process_error')).toBe(0);
  // No case has been resolved yet, so a duration of 0 would be wrong.
  expect(page.filter(({ name }) => name.startsWith('transfer_service_case_resolution'))).toEqual([]);
  await client.cases.resolve(case_id, { text: 'Done.', outcome: 'nothing' });
  await client.incidents.resolve(incident_id, { text: 'Done.', outcome: 'nothing' });
  await waitFor('the figures', async () => {
    const after = readPage(await readText());
    return (
      sumOf(after, 'case_resolution_seconds', { share: '0.9' }) > 0 &&
      sumOf(after, 'case_first_response_seconds', { share: '0.5' }) > 0 &&
      ageOf(after, 'urgent') === 0 &&
      sumOf(after, 'incident_oldest_update_seconds') === 0
    );
  });
});

test('counts processor attempts by status, with the age of the oldest unknown outcome, and calls by answer', async () => {
  const { client } = service();
  const before = await readFreshPage();
  const at = { connector_id: 'simulator' };
  await client.cards.create({ card_id: 'card_half', processor_token: 'sim_partial', ...at });
  const { transfer_id } = await client.transfers.create({ amount: 1000, card_id: 'card_half' });
  const simulator = { connector: 'simulator' };
  await waitFor('the figures', async () => {
    const page = readPage(await readText());
    return (
      sumOf(page, 'processor_attempts_open', { ...simulator, status: 'unknown' }) === 1 &&
      sumOf(page, 'processor_oldest_unknown_seconds', simulator) > 0 &&
      sumOf(page, 'connector_calls_total', { ...simulator, outcome: 'unknown' }) > 0
    );
  });
  const page = await readFreshPage();
  expect(sumOf(page, 'connector_up', simulator)).toBe(1);
  expect(sumOf(page, 'connector_call_seconds_count', simulator)).toBe(sumOf(page, 'connector_calls_total', simulator));
  expect(sumOf(page, 'processor_breaks_open')).toBe(0);
  // The transfer waits for the processor, which is not a failure of the service.
  expect(sumOf(page, 'money_unknown_total')).toBe(sumOf(before, 'money_unknown_total'));
  const [attempt] = (await client.transfers.attempts(transfer_id)).data;
  await client.attempts.resolve(attempt?.attempt_id ?? '', { outcome: 'not_executed', note: 'A test.' });
  await waitFor('the figures', async () => {
    const after = readPage(await readText());
    return (
      sumOf(after, 'processor_attempts_open') === 0 && sumOf(after, 'processor_oldest_unknown_seconds', simulator) === 0
    );
  });
});

test('counts webhook deliveries by result', async () => {
  const { client } = service();
  // Nothing listens on this port.
  const { webhook_id } = await client.webhooks.create({ url: 'http://127.0.0.1:9/' });
  await client.transfers.create({ amount: 100, card_id: 'card_active' });
  const failed = async () => sumOf(readPage(await readText()), 'webhook_attempts_total', { outcome: 'failed' });
  await waitFor('a failed attempt', async () => (await failed()) > 0);
  await client.webhooks.delete(webhook_id);
});

/**
 * Metrics that appear only if the service may see standbys, if there is a backup copy, or if a case was resolved.
 * `npm run verify` checks them all.
 */
const ELSEWHERE =
  /^transfer_service_(?:case_first_response|case_resolution|standbys|replication_lag_bytes|last_backup_|backup_covered_|backup_copying|books_)/;

test('has all metrics and labels that the alerts and the dashboard use', async () => {
  const page = readPage(await readText());
  const expressions = [readProjectFile('ops/alerts.yml'), ...readDashboard().map(({ expression }) => expression)];
  const wanted = expressions.flatMap((text) =>
    selectorsIn(
      text
        .split('\n')
        .filter((line) => !/^\s*#|description:|- record:/.test(line))
        .join('\n'),
    ),
  );
  expect(wanted.length).toBeGreaterThan(80);
  // This metric exists only if another process has different settings. server/observe/metrics/processors.test.ts tests
  // it.
  const isOther = ({ name, matchers }: (typeof wanted)[number]) =>
    name === 'transfer_service_processor_attempts_open' && matchers.some(({ value }) => value === 'other');
  const missing = wanted.filter(
    (selector) => !isOnPage(selector, page) && !ELSEWHERE.test(selector.name) && !isOther(selector),
  );
  expect(missing).toEqual([]);
  const text = await readText();
  const defined = namesOn(text);
  const unknown = wanted.filter(({ name }) => !defined.includes(name.replace(/_(?:bucket|sum|count)$/, '')));
  expect(unknown.filter(({ name }) => !defined.includes(name))).toEqual([]);
});

test('the documentation lists every metric, and no others', async () => {
  const documented = [...readProjectFile('docs/monitoring.md').matchAll(/^\| `(transfer_service_\w+)/gm)];
  expect(documented.map(([, name]) => name).sort()).toEqual([...namesOn(await readText())].sort());
});

test('every alert is tested as firing and as silent, and has the URL of a page that the service serves', async () => {
  const rules = readProjectFile('ops/alerts.yml');
  const tests = readProjectFile('ops/alerts.test.yml');
  const alerts = [...rules.matchAll(/- alert: (\w+)[\s\S]*?runbook_url: '?([^'\n]+)/g)];
  expect(alerts.length).toBe([...rules.matchAll(/- alert:/g)].length);
  const urls = new Set<string>();
  for (const [, alert = '', url = ''] of alerts) {
    expect(tests, alert).toMatch(new RegExp(`name: '?${alert} fires`));
    expect(tests, alert).toMatch(new RegExp(`name: '?${alert} is silent`));
    // Prometheus replaces the label in the same way.
    urls.add(url.replace('{{ $externalLabels.service_url }}', service().url));
  }
  for (const url of urls) {
    const page = /\/([a-z-]+)\.md$/.exec(url)?.[1] ?? '';
    const response = await fetch(url);
    expect([url, response.status]).toEqual([url, 200]);
    expect(await response.text()).toContain(RUNBOOK[page as keyof typeof RUNBOOK]);
  }
});

test('without the database, the page is served just as quickly, and reports the failure', async () => {
  const { database } = service();
  const before = await readFreshPage();
  await database.stop();
  try {
    await waitFor('the state', async () => sumOf(readPage(await readText()), 'ready') === 0);
    const failures = (page: readonly Series[]) => sumOf(page, 'job_failures_total', { task: 'figures' });
    await waitFor('the failed figures', async () => failures(readPage(await readText())) > failures(before));
  } finally {
    await database.start();
  }
  await waitFor('the state', async () => sumOf(readPage(await readText()), 'ready') === 1);
});

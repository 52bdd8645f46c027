// Runs the tests of the alerts. Then sends every expression of the dashboard to a Prometheus that scrapes running services under
// light load. Every panel must have data. Part of `npm run verify`.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reportMissing, root } from '../command.ts';

// Invariant: Every alert and every panel queries existing metrics
// Kept by: `ops/`
// Tested by: `test/metrics/metrics.test.ts`, `tools/verify/monitoring.ts` in `npm run verify`

/** Long enough for the first verification of the books and the first backup, which begin after a minute. */
const MAX_MILLISECONDS = 300_000;

const LOOK_MILLISECONDS = 1_000;

/** Values for the dashboard's variables, which Grafana would fill in. */
const VARIABLES = { $__rate_interval: '30s', $job: 'transfer-service' } as const;

const ends: (() => Promise<unknown>)[] = [];

const missing = ['prometheus', 'promtool'].filter((program) => spawnSync(program, ['--version']).status !== 0);
if (missing.length > 0) {
  reportMissing(
    `${missing.join(' and ')} cannot be run, so the alerts and the dashboard were not checked. ` +
      'Install Prometheus 2.42 or later (on Debian 12: apt-get install prometheus).',
  );
} else {
  const areRight =
    promtool('check', 'config', 'ops/prometheus.yml') && promtool('test', 'rules', 'ops/alerts.test.yml');
  if (!areRight) process.exitCode = 1;
  try {
    await checkDashboard();
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

function promtool(...words: readonly string[]): boolean {
  return spawnSync('promtool', words, { cwd: root, stdio: 'inherit' }).status === 0;
}

async function checkDashboard(): Promise<void> {
  const { readDashboard } = await import('../../test/metrics/monitoring-files.ts');
  const targets = [await startEmbedded(), await startReplicated()];
  const url = await startPrometheus(targets);
  let open = readDashboard();
  const { length } = open;
  const until = performance.now() + MAX_MILLISECONDS;
  while (open.length > 0 && performance.now() < until) {
    await new Promise((wake) => setTimeout(wake, LOOK_MILLISECONDS));
    const found = await Promise.all(open.map(({ expression }) => hasData(url, expression)));
    open = open.filter((_, index) => found[index] !== true);
  }
  for (const { row, panel, expression } of open) console.error(`No data: ${row} / ${panel}: ${expression}`);
  console.log(`${length - open.length} of ${length} expressions of the dashboard find data.`);
  if (open.length > 0) process.exitCode = 1;
}

/** Whether Prometheus has a number for an expression. Throws if the expression is invalid. */
async function hasData(url: string, expression: string): Promise<boolean> {
  const query = Object.entries(VARIABLES).reduce((text, [name, value]) => text.replaceAll(name, value), expression);
  const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}`);
  const body = (await response.json()) as {
    readonly error?: string;
    readonly data?: { readonly result: readonly { readonly value: readonly [number, string] }[] };
  };
  if (body.data === undefined) throw new Error(`${expression}: ${body.error}`);
  return body.data.result.some(({ value }) => value[1] !== 'NaN');
}

/** Starts a service under load on the embedded server, with backups and a webhook. Returns the URL of its metrics. */
async function startEmbedded(): Promise<string> {
  const { startService, temporaryDirectory } = await import('../../test/harness/process.ts');
  const { patientClient } = await import('../../test/harness/client/patience.ts');
  const directory = await temporaryDirectory();
  ends.push(directory.remove);
  const backups = join(directory.path, 'backups');
  await mkdir(backups);
  const service = await startService({
    DATA_DIR: join(directory.path, 'data'),
    BACKUP_DIR: backups,
    METRICS_PORT: '0',
  });
  ends.push(service.stop);
  const receiver = createServer((request, response) => {
    request.resume();
    response.writeHead(204).end();
  });
  await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
  ends.push(async () => void receiver.close());
  const { port } = receiver.address() as AddressInfo;
  const client = patientClient(service.url);
  await client.webhooks.create({ url: `http://127.0.0.1:${port}/` });
  const { case_id } = await client.cases.create({ text: 'A case for the panels about support.' });
  await client.sandbox.answerCase(case_id, { text: 'Done.', outcome: 'nothing' });
  load(async () => {
    await service.client.transfers.create({ amount: 1, card_id: 'card_active' });
    await service.client.transfers.create({ amount: 1, card_id: 'card_closed' }).catch(() => undefined);
    await service.client.transfers.create({ amount: 1, card_id: 'card_processor' });
    await service.client.transfers.list();
  });
  return pageOf(service.output());
}

/** Starts a service on a database with a synchronous standby. The database user of the service may see standbys. */
async function startReplicated(): Promise<string> {
  const { startService, temporaryDirectory } = await import('../../test/harness/process.ts');
  const { startPair } = await import('../../test/harness/standby.ts');
  const pair = await startPair();
  ends.push(pair.stop);
  await pair.ask('grant pg_monitor to transfer_service', []);
  const directory = await temporaryDirectory();
  ends.push(directory.remove);
  const service = await startService({
    DATA_DIR: directory.path,
    DATABASE_URL: pair.primary.embedded.url,
    METRICS_PORT: '0',
  });
  ends.push(service.stop);
  return pageOf(service.output());
}

function pageOf(output: string): string {
  const found = /Metrics: http:\/\/(\S+)\/metrics/.exec(output)?.[1];
  if (found === undefined) throw new Error('the banner names no page of metrics');
  return found;
}

/** Repeats something ten times a second until the end of the run. */
function load(send: () => Promise<unknown>): void {
  let isOver = false;
  const run = async (): Promise<void> => {
    while (!isOver) {
      await send().catch(() => undefined);
      await new Promise((wake) => setTimeout(wake, 100));
    }
  };
  const running = run();
  ends.push(async () => {
    isOver = true;
    await running;
  });
}

async function startPrometheus(targets: readonly string[]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'transfer-service-prometheus-'));
  ends.push(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  const configuration = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [join(root, 'ops/alerts.yml')],
    scrape_configs: [{ job_name: VARIABLES.$job, static_configs: [{ targets }] }],
  };
  const file = join(directory, 'prometheus.yml');
  // JSON is also YAML.
  await writeFile(file, JSON.stringify(configuration));
  const address = `127.0.0.1:${await findFreePort()}`;
  const child = spawn(
    'prometheus',
    [`--config.file=${file}`, `--storage.tsdb.path=${join(directory, 'data')}`, `--web.listen-address=${address}`],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const ended = once(child, 'exit');
  ends.push(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  const url = `http://${address}`;
  const isReady = () =>
    fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`Prometheus does not start:\n${output}`);
    await new Promise((wake) => setTimeout(wake, LOOK_MILLISECONDS));
  }
  return url;
}

/** Prometheus does not report which port it got for port 0. */
async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

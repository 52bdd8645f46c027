import { setTimeout as sleep } from 'node:timers/promises';
import { DEMO_CARDS } from '../contract/sandbox/demo-cards.ts';
import { type Configuration, readConfiguration } from './foundation/configuration/configuration.ts';
import { withoutSecrets } from './foundation/redaction.ts';
import { runbookLine } from './foundation/runbook.ts';
import { StartupProblem } from './foundation/startup-problem.ts';
import { endOnCrash } from './host/crash.ts';
import { openDatabase } from './host/open-database.ts';
import { Lifecycle, stopOnSignal } from './host/start/lifecycle.ts';
import { requireFreePort } from './host/start/listen.ts';
import { chooseLogFormat, openLog, STANDARD_ERROR } from './observe/log/log.ts';
import type { RunningService } from './service.ts';
import { explainStartFailure } from './store/connection/start-failure.ts';

/**
 * How long a stop waits for an embedded PostgreSQL that is still starting. Its recovery can take minutes, so after this time,
 * PostgreSQL is stopped with this process. A stop does not wait for a connection to an external database.
 */
const OPENING_MILLISECONDS = 5_000;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

endOnCrash(() => STANDARD_ERROR.flush());
let stop = async (): Promise<void> => undefined;
const lifecycle = new Lifecycle(STANDARD_ERROR);
const signals = stopOnSignal((signal) => lifecycle.stop(signal, () => stop()));
try {
  await start(readConfiguration());
} catch (error) {
  // A signal to stop has caused this failure, and the stop will end the process.
  if (signals.isStopping) await new Promise(() => undefined);
  const problem = explainStartFailure(error);
  if (!(problem instanceof StartupProblem)) throw problem;
  STANDARD_ERROR.flush();
  process.stderr.write(
    `\nThe service cannot start: ${withoutSecrets(problem.message)}\n${runbookLine(problem.page)}\n`,
  );
  // Everything should be closed by now. If something is still open, it must not keep a useless process running.
  process.exit(1);
}

async function start(configuration: Configuration): Promise<void> {
  chooseLogFormat(configuration.logFormat);
  const log = openLog(configuration.logLevel);
  say(`Transfer Service, ${configuration.mode} mode, process ${process.pid}`);
  await requireFreePort(configuration);
  const opening = openDatabase(configuration, {
    onProgress: say,
    onServerExit: (description) => log.error({ event: 'database_server_exit' }, description),
    onWarning: (sentence) => log.warn({ event: 'few_connections' }, sentence),
  });
  const closing = async (): Promise<void> => (await opening).close();
  const maxWaitMilliseconds = configuration.databaseUrl === null ? OPENING_MILLISECONDS : 0;
  stop = () => Promise.race([closing(), sleep(maxWaitMilliseconds)]);
  const opened = await opening;
  // Loaded only now, because a service that refuses to start does not need this module. Loading it while the database is being
  // opened would block the event loop, and on a busy machine a connection would time out.
  const { runService } = await import('./service.ts');
  const service = await runService(configuration, opened, log, {
    onProgress: say,
    onListening: (about) => lifecycle.start(log, about),
  });
  stop = service.stop;
  lifecycle.ready(service.port);
  say(bannerOf(configuration, opened.embedded?.dataDirectory, service));
}

/** Returns the lines for the first start of a ledger: the addresses and a first request. Later starts print one line. */
function bannerOf(
  configuration: Configuration,
  ledgerDirectory: string | undefined,
  { port, metricsUrl, isFirstStart }: Pick<RunningService, 'port' | 'metricsUrl' | 'isFirstStart'>,
): string {
  const host = configuration.loopbackOnly ? 'localhost' : (configuration.hosts[0] ?? 'localhost');
  const base = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  if (!isFirstStart) return `  Ready at ${base}`;
  // Links use the public address, if there is one.
  const site = configuration.publicUrl ?? base;
  const key = configuration.loopbackOnly ? '' : '-H "Authorization: Bearer <key>" -H "Program-Id: <program_id>" ';
  const lines = ['', `  Ready at ${base}`];
  if (ledgerDirectory !== undefined) lines.push(`  Ledger: ${ledgerDirectory}`);
  if (metricsUrl !== undefined) lines.push(`  Metrics: ${metricsUrl}`);
  if (configuration.mode === 'sandbox') {
    lines.push(
      '',
      '  Cards of the demo program:',
      ...DEMO_CARDS.map(({ name, purpose }) => `    ${name.padEnd(16)} ${purpose}`),
      '',
      '  Load 10.00 USD onto a card:',
      `    curl ${base}/api/v0.1/core/transfer ${key}-d '{"amount": 1000, "card_id": "card_active"}'`,
    );
  }
  lines.push(
    '',
    `  Guides:        ${site}/guides`,
    `  API reference: ${site}/docs`,
    `  Error codes:   ${site}/errors`,
    `  Console:       ${site}/console`,
    '',
    '  Stop with Ctrl-C.',
    '',
  );
  return lines.join('\n');
}

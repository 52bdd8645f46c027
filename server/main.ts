import { join } from 'node:path';
import type pino from 'pino';
import { toWireId } from '../domain/identifier.ts';
import { openRefusedCredentials } from './audit/note-refused-credentials.ts';
import { type Configuration, readConfiguration, showConfiguration } from './config.ts';
import { endOnCrash } from './crash.ts';
import { announceService } from './embedded-postgres/running-services.ts';
import { type ErrorRecorder, recordErrors } from './error-log/record-errors.ts';
import { handlersOf } from './handlers.ts';
import { createHttpServer, type HttpServer } from './http/server.ts';
import { databaseTime } from './ids.ts';
import { followClock } from './jobs/follow-clock.ts';
import { keepForgetting } from './jobs/keep-forgetting.ts';
import { keepPartitions } from './jobs/keep-partitions.ts';
import { keepNotingCredentials } from './jobs/note-credentials.ts';
import { keepSettlingDue } from './jobs/settle-due.ts';
import { openAuthentication } from './keys/authenticate.ts';
import { openKeyUses } from './keys/note-key-uses.ts';
import { openLog } from './log.ts';
import { type OpenDatabase, openDatabase, prepareSchema } from './open-database.ts';
import type { Gateway } from './operations/call.ts';
import { openProgramSearch } from './programs/find-program.ts';
import { hasOperatorKey, openReadiness } from './readiness.ts';
import { withoutSecrets } from './redaction.ts';
import { DEMO_PROGRAM_ID, SEEDED_CARDS, seedSandbox } from './sandbox/seed-sandbox.ts';
import { StartupProblem } from './startup-problem.ts';
import type { Database } from './store/connection/database.ts';
import { explainStartFailure } from './store/connection/start-failure.ts';
import { openTransferLane } from './transfers/load.ts';

/** Time for seeding the sandbox, in milliseconds. */
const SEED_TIME = 10_000;

/** Bytes of errors that wait on this machine for the database, at most: some fifty thousand. */
const ERROR_SPOOL_MOST = 67_108_864;

const CLOCK_IS_OFF =
  "this machine's clock differs from the database's, which dates everything but the lines of this log: set it right";

const say = (line: string): void => void process.stdout.write(`${line}\n`);

endOnCrash();
/** What has to be ended when the process is told to stop; more and more of it as it starts. */
let stop = async (): Promise<void> => undefined;
const signals = stopOnSignal(() => stop());
try {
  await start(readConfiguration());
} catch (error) {
  // Told to stop in the middle of a start: what fails then fails for that.
  if (signals.isStopping) await new Promise(() => undefined);
  const problem = explainStartFailure(error);
  if (!(problem instanceof StartupProblem)) throw problem;
  process.stderr.write(`\nThe service does not start: ${withoutSecrets(problem.message)}\n`);
  process.exitCode = 1;
}

async function start(configuration: Configuration): Promise<void> {
  const log = openLog(configuration.logLevel);
  say(`Transfer Service, ${configuration.mode} mode, process ${process.pid}`);
  const opening = openDatabase(configuration, {
    onProgress: say,
    onServerExit: (description) => log.error({ event: 'database_server_exit' }, description),
    onWarning: (sentence) => log.warn({ event: 'few_connections' }, sentence),
  });
  stop = async () => (await opening).close();
  const opened = await opening;
  try {
    await run(configuration, opened, log);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function run(configuration: Configuration, opened: OpenDatabase, log: pino.Logger): Promise<void> {
  const { databases, embedded } = opened;
  await prepareSchema(databases, configuration.mode);
  const { background, authentication } = databases;
  const clock = await followClock(background, {
    onDifference: (ahead_ms) => log.warn({ event: 'clock', ahead_ms }, CLOCK_IS_OFF),
    onFailure: (error) => log.error({ cause: String(error) }, "the database's clock could not be read"),
  });
  const { supportContact } = configuration;
  const transfers = openTransferLane(databases.application);
  const sandbox = configuration.mode === 'sandbox';
  if (sandbox) await seedSandbox(background, performance.now() + SEED_TIME);
  else await insistOnOperatorKey(background);
  const uses = openKeyUses(background);
  const refusals = openRefusedCredentials(background, () => new Date(databaseTime()));
  const gateway: Gateway = {
    mode: configuration.mode,
    keyless: sandbox && configuration.loopbackOnly,
    supportContact,
    handlers: handlersOf({ databases, transfers, supportContact }, sandbox ? embedded : undefined),
    authenticate: openAuthentication(authentication, uses.note),
    onRefusedCredential: refusals.note,
    findProgram: openProgramSearch(authentication),
    demoProgramId: DEMO_PROGRAM_ID,
    ready: openReadiness(databases),
  };
  // Opens the connection that stays open for transfers, before others take its place.
  void gateway.ready();
  const errors = await openErrorLog(configuration, opened, log);
  const { addressRatePerSecond, keyRatePerSecond, trustedProxies } = configuration;
  const server = createHttpServer(gateway, {
    settings: { addressRatePerSecond, keyRatePerSecond, trustedProxies },
    onError: (report) => {
      // What is recorded is without card numbers and keys, and so is what is logged.
      const recorded = errors.record(report);
      if (recorded === undefined || report.status < 500) return;
      const { requestId, code, message, causes } = recorded;
      log.error({ requestId: toWireId('req', requestId), code, causes }, message);
    },
  });
  const port = await listen(server, configuration).catch(async (error: unknown) => {
    await errors.stop();
    throw error;
  });
  const withdraw = await announce(configuration, port, log);
  const partitions = keepPartitions(background, configuration.errorRetentionDays, (error) =>
    log.error({ cause: String(error) }, 'partitions could not be made or removed'),
  );
  const forgetting = keepForgetting(background, (error) =>
    log.error({ cause: String(error) }, 'old keys and counters stay for now'),
  );
  const credentials = keepNotingCredentials(uses, refusals, (error) =>
    log.error({ cause: String(error) }, 'uses and refusals of keys are written later'),
  );
  const due = keepSettlingDue({ database: background, transfers }, (error) =>
    log.error({ cause: String(error) }, 'what is due waits'),
  );
  stop = async () => {
    clock.stop();
    partitions.stop();
    await Promise.all([due.stop(), forgetting.stop(), server.close()]);
    await withdraw();
    await credentials.stop();
    await errors.stop();
    await opened.close();
  };
  warnOfClearText(configuration, log);
  showBanner(configuration, opened, port);
}

/** For the command `config`. A service that cannot write it down serves all the same. */
async function announce(configuration: Configuration, port: number, log: pino.Logger): Promise<() => Promise<void>> {
  const settings = showConfiguration(configuration).split('\n');
  const onTrouble = (error: unknown): void =>
    log.warn({ event: 'settings_not_shown', cause: String(error) }, 'the command config cannot show these settings');
  try {
    const withdraw = await announceService(configuration.dataDirectory, { port, settings });
    return () => withdraw().catch(onTrouble);
  } catch (error) {
    onTrouble(error);
    return async () => undefined;
  }
}

function warnOfClearText({ mode, loopbackOnly, hosts }: Configuration, log: pino.Logger): void {
  if (mode !== 'live' || loopbackOnly) return;
  const sentence =
    'the service speaks HTTP without TLS on an address that others can reach: let TLS end in front of it, ' +
    'or keys and transfers can be read on the way';
  log.warn({ event: 'clear_text', hosts }, sentence);
}

function openErrorLog(
  { dataDirectory }: Configuration,
  { databases }: OpenDatabase,
  log: pino.Logger,
): Promise<ErrorRecorder> {
  return recordErrors({
    database: databases.background,
    spoolDirectory: join(dataDirectory, 'error-spool'),
    spoolMost: ERROR_SPOOL_MOST,
    onTrouble: (sentence, cause) => log.warn({ event: 'error_log', cause: cause && String(cause) }, sentence),
  });
}

async function insistOnOperatorKey(database: Database): Promise<void> {
  if (await hasOperatorKey(database)) return;
  throw new StartupProblem(
    'Live mode needs an operator key and there is none. ' +
      'Create one with "npx transfer-service operator-key create --name <name>" and the same settings.',
  );
}

async function listen(server: HttpServer, configuration: Configuration): Promise<number> {
  const { hosts, port } = configuration;
  try {
    await server.listen({ hosts, port });
    return server.address?.port ?? port;
  } catch (error) {
    const code = error instanceof Error ? Reflect.get(error, 'code') : undefined;
    if (code === 'EADDRINUSE') {
      throw new StartupProblem(`Port ${port} is taken. Stop what listens there, or set PORT to another one.`);
    }
    if (code === 'EACCES') throw new StartupProblem(`Port ${port} may not be used by this user. Set PORT above 1023.`);
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
      throw new StartupProblem(`HOST is '${hosts.join(' ')}', which is not an address of this machine.`);
    }
    throw error;
  }
}

/** Stops once, whatever number of signals comes; a terminal's Ctrl-C and npm's own may both arrive. */
function stopOnSignal(end: () => Promise<void>): { readonly isStopping: boolean } {
  const state = { isStopping: false };
  const onSignal = (): void => {
    if (state.isStopping) return;
    state.isStopping = true;
    say('\nStopping: answering what is under way …');
    end().then(
      () => {
        say('Stopped.');
        process.exit(0);
      },
      (error: unknown) => {
        process.stderr.write(`Stopping failed: ${withoutSecrets(String(error))}\n`);
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  return state;
}

function showBanner(configuration: Configuration, opened: OpenDatabase, port: number): void {
  const host = configuration.loopbackOnly ? 'localhost' : (configuration.hosts[0] ?? 'localhost');
  const base = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const lines = ['', `  Ready at ${base}`];
  if (opened.embedded !== undefined) lines.push(`  Ledger in ${opened.embedded.dataDirectory}`);
  if (configuration.mode === 'sandbox') {
    lines.push(
      '',
      '  Cards of the demo program:',
      ...SEEDED_CARDS.map(({ name, purpose }) => `    ${name.padEnd(16)} ${purpose}`),
      '',
      '  Load 10.00 USD onto a card:',
      `    curl ${base}/api/v0.1/core/transfer -d '{"amount": 1000, "card_id": "card_active"}'`,
    );
  }
  lines.push('', `  Every error explained: ${base}/errors`, '  Stop with Ctrl-C.', '');
  say(lines.join('\n'));
}

import { join } from 'node:path';
import { toWireId } from '../domain/identifier.ts';
import { openRefusedCredentials } from './audit/note-refused-credentials.ts';
import type { Configuration } from './configuration/configuration.ts';
import { showConfiguration } from './configuration/show.ts';
import { type Delivery, prepareDelivery } from './delivery/start-delivery.ts';
import { announceService } from './embedded-postgres/running-services.ts';
import { type ErrorRecorder, MAX_ERROR_SPOOL_BYTES, startErrorRecorder } from './error-log/error-recorder.ts';
import { EventNews } from './events/event-news.ts';
import { handlersOf } from './handlers.ts';
import { createHttpServer, type HttpServer, type ResponseEntry } from './http/server.ts';
import { databaseTime } from './ids.ts';
import { followDatabaseClock } from './jobs/database-clock.ts';
import { startDeletingExpired } from './jobs/delete-expired.ts';
import { startErasingCardHolders } from './jobs/erase-card-holders.ts';
import { startPartitionMaintenance } from './jobs/maintain-partitions.ts';
import { startRelayingEvents } from './jobs/relay-events.ts';
import { startReportingErrors } from './jobs/report-errors.ts';
import { startSettlingDueTransfers } from './jobs/settle-due-transfers.ts';
import { startCounting } from './jobs/store-transfer-counts.ts';
import { startVerifyingBooks } from './jobs/verify-books.ts';
import { startWritingCredentialUses } from './jobs/write-credential-uses.ts';
import { openAuthentication } from './keys/authenticate.ts';
import { openKeyUses } from './keys/note-key-uses.ts';
import { type Log, STANDARD_ERROR } from './log/log.ts';
import type { LogEvent } from './log/log-events.ts';
import { onEachOf, openRequestLog, traceIdOf } from './log/request-log.ts';
import type { Job } from './metrics/jobs.ts';
import type { ServiceMetrics } from './metrics/open-metrics.ts';
import { type OpenDatabase, prepareSchema } from './open-database.ts';
import type { Gateway } from './operations/call.ts';
import { OverviewMaker } from './overview/overview.ts';
import { openProgramSearch } from './programs/read-programs.ts';
import { hasOperatorKey } from './readiness.ts';
import { runbookLine } from './runbook.ts';
import { DEMO_PROGRAM_ID, seedSandbox } from './sandbox/seed-sandbox.ts';
import { openSessionAuthentication } from './sessions/authenticate-session.ts';
import { openSessionUses } from './sessions/note-session-uses.ts';
import { openBackupJob } from './start/backups.ts';
import { listen } from './start/listen.ts';
import { openMetricsPage } from './start/metrics.ts';
import { statusOf, watchReadiness } from './start/status.ts';
import { openTraceExport } from './start/traces.ts';
import { StartupProblem } from './startup-problem.ts';
import type { Database } from './store/connection/database.ts';
import type { Databases } from './store/connection/databases.ts';
import { newestMigration } from './store/migrations/newest-migration.ts';
import type { Traces } from './traces/open-traces.ts';
import { openTransferLane, type TransferLane } from './transfers/load.ts';
import { VERSION } from './version.ts';
import { resealSecrets } from './webhooks/reseal-secrets.ts';
import { openWebhookTools } from './webhooks/tools.ts';
import { openWebhookKeys, type WebhookKeys } from './webhooks/webhook-keys.ts';

const SEED_TIMEOUT_MILLISECONDS = 10_000;

const CLOCK_IS_OFF =
  'the clock of this machine differs from the clock of the database, whose time is used everywhere except in this log: synchronize the clocks';

const UNWRITTEN_REPORTS = 'cannot write events about errors; retrying';
const UNSTORED_COUNTS = 'cannot store how many transfers there were; retrying';
const UNWRITTEN_USES = 'cannot write key uses and refused credentials; retrying';

const BOOKS_DIFFER =
  'the books do not balance: balances differ from their postings or holds, or a currency does not sum to zero; ' +
  runbookLine('books-not-balanced');

/** A service that takes requests. */
export type RunningService = {
  readonly port: number;
  /** The page of its metrics; undefined where it has none. */
  readonly metricsUrl: string | undefined;
  /** Ends it: requests in progress are answered, and what waits is written. Then the database is closed. */
  readonly stop: () => Promise<void>;
};

/**
 * Runs the service over an open database: brings the schema up to date, connects the parts with each other, and listens.
 * Rejects where the start must be refused; the caller closes the database then.
 *
 * @param onListening called when nothing prevents the start any more.
 */
export async function runService(
  configuration: Configuration,
  opened: OpenDatabase,
  log: Log,
  onListening: (about: {
    readonly mode: string;
    readonly port: number;
    readonly migration: string | undefined;
  }) => void,
): Promise<RunningService> {
  const { databases, embedded } = opened;
  await prepareSchema(databases, configuration.mode);
  const { background } = databases;
  const clock = await followClock(background, log);
  const { supportContact } = configuration;
  const metrics = await openMetricsPage(configuration);
  const news = new EventNews(background);
  const sandbox = configuration.mode === 'sandbox';
  if (sandbox) await seedSandbox(background, performance.now() + SEED_TIMEOUT_MILLISECONDS);
  else await requireOperatorKey(background);
  const webhookKeys = openWebhookKeys(configuration.webhookKeys, configuration.dataDirectory);
  await resealSecrets(background, webhookKeys);
  const addresses = { mode: configuration.mode, allowedNetworks: configuration.webhookAllowedNetworks };
  const webhooks = openWebhookTools(background, webhookKeys, addresses, () => delivery.changed());
  const delivery = openDelivery(configuration, databases, webhookKeys, { log, metrics });
  const credentials = openCredentials(databases);
  const readiness = watchReadiness(opened, log);
  const backups = openBackupJob(configuration, embedded, log);
  const status = statusOf(configuration, opened, { readiness, delivery, backups, errorLog: () => errors });
  const overview = new OverviewMaker(status, { waiting: () => transfers.waiting });
  const transfers = openTransferLane(databases.application, undefined, metrics?.commits, overview.counts.note);
  const shared = { databases, transfers, news, webhooks, supportContact };
  const gateway: Gateway = {
    mode: configuration.mode,
    keyless: sandbox && configuration.loopbackOnly,
    supportContact,
    handlers: handlersOf(shared, sandbox ? embedded : undefined, status, overview),
    ...credentials.gateway,
    findProgram: openProgramSearch(databases.authentication),
    demoProgramId: DEMO_PROGRAM_ID,
    ready: readiness.find,
  };
  // Opens the connection reserved for transfers before other connections take its place.
  void readiness.warmUp();
  const reports = startReportingErrors(background, failureOf(log, 'error_events_not_written', UNWRITTEN_REPORTS));
  const errors = await openErrorLog(configuration, opened, log, reports.wake);
  const traces = await openTraceExport(configuration, log);
  const server = openHttp(configuration, gateway, { log, errors, metrics, traces, overview });
  const observed = { databases, transfers, errors, maxSpoolBytes: MAX_ERROR_SPOOL_BYTES, readiness, backups };
  const report = reporterOf(log, metrics)('figures', 'cannot read the figures of the metrics; retrying');
  const listening = async (): Promise<readonly [port: number, metricsUrl: string | undefined]> => {
    const url = await metrics?.start({ ...observed, onFailure: report });
    return [await listen(server, configuration), url];
  };
  const [port, metricsUrl] = await listening().catch(async (error: unknown) => {
    await metrics?.stop();
    await errors.stop();
    await reports.stop();
    throw error;
  });
  onListening({ mode: configuration.mode, port, migration: await newestMigration(databases.settings) });
  const unpublish = await publishSettings(configuration, port, log);
  backups?.start();
  const jobs = startJobs(configuration, opened, { log, metrics, transfers, news, delivery });
  const credentialUses = credentials.startWriting(failureOf(log, 'credential_uses_not_written', UNWRITTEN_USES));
  const counting = startCounting(background, overview, reporterOf(log, metrics)('transfer_counts', UNSTORED_COUNTS));
  const stop = async (): Promise<void> => {
    readiness.stop();
    clock.stop();
    await Promise.all([jobs.stop(), server.close()]);
    await Promise.all([metrics?.stop(), traces?.stop()]);
    await unpublish();
    await Promise.all([credentialUses.stop(), counting.stop()]);
    await errors.stop();
    await reports.stop();
    await backups?.stop();
    await opened.close();
  };
  warnOfClearText(configuration, log);
  return { port, metricsUrl, stop };
}

/** What http asks about credentials, and what is written of their uses. */
function openCredentials({ authentication, background }: Databases) {
  const keys = openKeyUses(background);
  const sessions = openSessionUses(background);
  const refusals = openRefusedCredentials(background, () => new Date(databaseTime()));
  const onUse = { noteSession: sessions.note, noteKey: keys.note };
  return {
    gateway: {
      authenticate: openAuthentication(authentication, keys.note),
      authenticateSession: openSessionAuthentication(authentication, onUse),
      onRefusedCredential: refusals.note,
    },
    startWriting: (onFailure: (error: unknown) => void) =>
      startWritingCredentialUses({ keys, sessions, refusals }, onFailure),
  };
}

/** Who is told of requests and their errors. */
type Listeners = {
  readonly log: Log;
  readonly errors: ErrorRecorder;
  readonly metrics: ServiceMetrics | undefined;
  readonly traces: Traces | undefined;
  readonly overview: OverviewMaker;
};

function openHttp(
  configuration: Configuration,
  gateway: Gateway,
  { log, errors, metrics, traces, overview }: Listeners,
): HttpServer {
  const { addressRatePerSecond, keyRatePerSecond, trustedProxies, publicUrl, requestLog } = configuration;
  const maxLagMilliseconds = configuration.overloadDelayMilliseconds;
  return createHttpServer(gateway, {
    settings: { addressRatePerSecond, keyRatePerSecond, maxLagMilliseconds, trustedProxies, publicUrl },
    version: VERSION,
    beginTrace: traces?.begin,
    onResponse: onEachOf(
      overview.note,
      metrics?.onResponse,
      openRequestLog(requestLog, STANDARD_ERROR),
      traces && endTrace,
    ),
    onError: (report) => {
      // The recorded error has no card numbers or keys, so it is safe to log.
      const recorded = errors.record(report);
      if (recorded === undefined || report.status < 500) return;
      const { requestId, code, message, causes, traceparent } = recorded;
      const trace = traceparent === null ? {} : { traceId: traceIdOf(traceparent) };
      log.error({ event: 'server_error', requestId: toWireId('req', requestId), code, ...trace, causes }, message);
    },
  });
}

function endTrace(entry: ResponseEntry): void {
  entry.trace?.end(entry);
}

/** What logs a failure that is tried again. */
function failureOf(log: Log, event: LogEvent, sentence: string): (error: unknown) => void {
  return (error) => log.error({ event, cause: String(error) }, sentence);
}

function followClock(database: Database, log: Log): ReturnType<typeof followDatabaseClock> {
  return followDatabaseClock(database, {
    onDifference: (aheadMilliseconds) => log.warn({ event: 'clock', aheadMilliseconds }, CLOCK_IS_OFF),
    onFailure: failureOf(log, 'clock_not_read', "cannot read the database's clock"),
  });
}

/** What logs a failure of a job and counts it. */
function reporterOf(log: Log, metrics: ServiceMetrics | undefined) {
  return (job: Job, sentence: string) =>
    (error: unknown): void => {
      metrics?.onJobFailure(job);
      log.error({ event: 'job_failed', job, cause: String(error) }, sentence);
    };
}

function openDelivery(
  { mode, webhookAllowedNetworks: allowedNetworks, webhookCa }: Configuration,
  databases: Databases,
  { read: keys }: WebhookKeys,
  { log, metrics }: Pick<JobParts, 'log' | 'metrics'>,
): Delivery {
  return prepareDelivery({
    databases,
    addresses: { mode, allowedNetworks },
    ca: webhookCa?.certificates ?? null,
    keys,
    onFailure: reporterOf(log, metrics)('webhooks', 'cannot deliver events to webhooks; retrying'),
    onDeliveries: metrics?.onDeliveries,
    onNotice: (sentence, webhookId) => log.warn({ event: 'webhook', webhookId }, sentence),
  });
}

type JobParts = {
  readonly log: Log;
  readonly metrics: ServiceMetrics | undefined;
  readonly transfers: TransferLane;
  readonly news: EventNews;
  readonly delivery: Delivery;
};

/** What the service does by itself. */
function startJobs(
  configuration: Configuration,
  { databases }: OpenDatabase,
  { log, metrics, transfers, news, delivery }: JobParts,
): { readonly stop: () => Promise<unknown> } {
  const { background } = databases;
  const report = reporterOf(log, metrics);
  const jobs = [
    startPartitionMaintenance(background, configuration, report('partitions', 'cannot create or remove partitions')),
    startDeletingExpired(
      background,
      report('expired_rows', 'cannot delete expired rows; retrying in an hour'),
      configuration,
    ),
    startErasingCardHolders(background, report('card_erasures', 'cannot erase the holder of a card; retrying')),
    startSettlingDueTransfers(
      { database: background, transfers },
      report('due_transfers', 'cannot settle due transfers; retrying'),
    ),
    startVerifyingBooks(background, {
      onMismatch: (verification) => log.error({ event: 'books', ...verification }, BOOKS_DIFFER),
      onFailure: report('books', 'cannot verify the books; retrying'),
    }),
    startRelayingEvents(
      databases,
      (programIds) => {
        news.tell(programIds);
        delivery.tell(programIds);
      },
      report('relay', 'cannot give positions to events; retrying'),
    ),
    delivery,
  ];
  delivery.start();
  return { stop: () => Promise.all(jobs.map((job) => job.stop())) };
}

/** Publishes the settings for the command `config`. Failing to do so does not stop the service. */
async function publishSettings(configuration: Configuration, port: number, log: Log): Promise<() => Promise<void>> {
  const settings = showConfiguration(configuration).split('\n');
  const onFailure = (error: unknown): void =>
    log.warn(
      { event: 'settings_not_shown', cause: String(error) },
      'cannot publish the settings: the command config will not show them',
    );
  try {
    const unpublish = await announceService(configuration.dataDirectory, { port, settings });
    return () => unpublish().catch(onFailure);
  } catch (error) {
    onFailure(error);
    return async () => undefined;
  }
}

function warnOfClearText({ mode, loopbackOnly, hosts }: Configuration, log: Log): void {
  if (mode !== 'live' || loopbackOnly) return;
  const sentence =
    'the service accepts HTTP without TLS on a public address: terminate TLS in front of it, ' +
    'or API keys and transfers can be read on the network';
  log.warn({ event: 'clear_text', hosts }, sentence);
}

function openErrorLog(
  { dataDirectory }: Configuration,
  { databases }: OpenDatabase,
  log: Log,
  onReportable: () => void,
): Promise<ErrorRecorder> {
  return startErrorRecorder({
    database: databases.background,
    spoolDirectory: join(dataDirectory, 'error-spool'),
    maxSpoolBytes: MAX_ERROR_SPOOL_BYTES,
    onProblem: (sentence, cause) => log.warn({ event: 'error_log', cause: cause && String(cause) }, sentence),
    onReportable,
  });
}

async function requireOperatorKey(database: Database): Promise<void> {
  if (await hasOperatorKey(database)) return;
  throw new StartupProblem(
    'operator-key-missing',
    'Live mode requires an operator key, and none exists. ' +
      'Create one with "npx transfer-service operator-key create --name <name>" and the same settings.',
  );
}

import { join } from 'node:path';
import { toWireId } from '../domain/identifier.ts';
import type { OperatorLimits } from '../domain/people/operator-limits.ts';
import { DEMO_PROGRAM_ID } from '../domain/sandbox.ts';
import { VERSION } from '../installation.mjs';
import { type Delivery, prepareDelivery } from './background/delivery/start-delivery.ts';
import { followDatabaseClock } from './background/jobs/database-clock.ts';
import {
  startErasingCardHolders,
  startFollowingIncidents,
  startReportingErrors,
  startSettlingApprovals,
  startSettlingDueTransfers,
} from './background/jobs/frequent-jobs.ts';
import { startRelayingEvents } from './background/jobs/relay-events.ts';
import { startDeletingExpired, startPartitionMaintenance } from './background/jobs/retention.ts';
import type { OnFailure } from './background/jobs/rounds.ts';
import { startCounting, startWritingCredentialUses } from './background/jobs/store-collected.ts';
import { startCheckingDays, startVerifyingBooks } from './background/jobs/verify-books.ts';
import { type Gateway, OperationFailure } from './calls/call.ts';
import type { Processors } from './calls/processors.ts';
import { ResponseCounter } from './calls/responses/response-counter.ts';
import { type Configuration, showConfiguration } from './foundation/configuration/configuration.ts';
import { databaseTime } from './foundation/database-clock.ts';
import { runbookLine } from './foundation/runbook.ts';
import { handlersOf } from './handlers.ts';
import type { OpenDatabase } from './host/open-database.ts';
import { Ending } from './host/start/lifecycle.ts';
import { listen } from './host/start/listen.ts';
import {
  openBackupJob,
  openConnectors,
  openMetricsPage,
  openSignInPart,
  openTraceExport,
} from './host/start/optional-parts.ts';
import { prepareLedger } from './host/start/prepare-ledger.ts';
import { statusOf, watchReadiness } from './host/start/status.ts';
import { createHttpServer, type HttpServer, type ResponseEntry } from './http/server.ts';
import { type Log, openFaultLog, STANDARD_ERROR } from './observe/log/log.ts';
import type { LogEvent } from './observe/log/log-events.ts';
import { onEachOf, openRequestLog, traceIdOf } from './observe/log/request-log.ts';
import type { Job } from './observe/metrics/counts.ts';
import type { ServiceMetrics } from './observe/metrics/open-metrics.ts';
import type { Traces } from './observe/traces/open-traces.ts';
import { announceService } from './postgres/running-services.ts';
import type { Database } from './store/connection/database.ts';
import type { Databases } from './store/connection/databases.ts';
import { openRefusedCredentials } from './subjects/audit/audit.ts';
import { type ErrorRecorder, MAX_ERROR_SPOOL_BYTES, startErrorRecorder } from './subjects/errors/error-recorder.ts';
import { EventNews } from './subjects/events/event-news.ts';
import { openAuthentication, openKeyUses } from './subjects/keys/authenticate.ts';
import { OverviewMaker } from './subjects/overview/overview.ts';
import { openProgramSearch } from './subjects/programs/manage-programs.ts';
import { openSessionAuthentication, openSessionUses } from './subjects/sessions/authenticate-session.ts';
import { readStatus } from './subjects/status/get-status.ts';
import { OpenIncidents } from './subjects/support/follow-incidents.ts';
import { openTransferLane, type TransferLane } from './subjects/transfers/lane.ts';
import { openWebhookTools } from './subjects/webhooks/settings.ts';
import type { WebhookKeys } from './subjects/webhooks/vault.ts';

// Invariant: If a startup fails, it closes everything that it has opened, including its port, and ends the process
// Kept by: `runService`, `server/host/start/lifecycle.ts`
// Tested by: `test/start/failed-start.test.ts`

const CLOCK_IS_OFF =
  'the clock of this machine differs from the clock of the database, whose time is used everywhere except in this log: synchronize the clocks';

const UNWRITTEN_REPORTS = 'cannot write events about errors; retrying';
const UNSTORED_COUNTS = 'cannot store the counts of transfers; retrying';
const UNREAD_FIGURES = 'cannot read the figures for the metrics; retrying';
const UNASKED_PROCESSORS = 'cannot carry out transfers at processors; retrying';
const UNWRITTEN_USES = 'cannot write key uses and refused credentials; retrying';

const BOOKS_DIFFER =
  'the books do not balance: balances differ from their postings or holds, or a currency does not sum to zero; ' +
  runbookLine('books-not-balanced');

const UNCHECKED_DAY = 'cannot check whether the day of a card program adds up; retrying';

const DAY_DIFFERS = `the day of a card program does not add up; ${runbookLine('books-not-balanced')}`;

export type RunningService = {
  readonly port: number;
  readonly metricsUrl: string | undefined;
  /** Whether no service has been started on this ledger before. */
  readonly isFirstStart: boolean;
  /** Stops the service: completes the requests in progress, writes pending data and closes the database. */
  readonly stop: () => Promise<void>;
};

export type StartReports = {
  /** Called with a sentence for each step that delays the startup. */
  readonly onProgress: (line: string) => void;
  readonly onListening: (about: {
    readonly mode: string;
    readonly port: number;
    readonly migration: string | undefined;
  }) => void;
};

/**
 * Runs the service on an open database: migrates the schema, connects the parts and listens. If this fails, closes everything
 * that it has opened, including the port and the database, and then rejects.
 */
export async function runService(
  configuration: Configuration,
  opened: OpenDatabase,
  log: Log,
  reports: StartReports,
): Promise<RunningService> {
  const ending = new Ending();
  ending.add(() => opened.close());
  try {
    const started = await startParts(configuration, opened, log, reports, ending);
    return { ...started, stop: () => ending.run() };
  } catch (error) {
    // An error while closing must not hide the cause of the failure.
    await ending.run().catch(() => undefined);
    throw error;
  }
}

async function startParts(
  configuration: Configuration,
  opened: OpenDatabase,
  log: Log,
  { onProgress, onListening }: StartReports,
  ending: Ending,
): Promise<Omit<RunningService, 'stop'>> {
  const { databases, embedded } = opened;
  const { background } = databases;
  const { webhookKeys, aheadMilliseconds, isFirstStart, migration, compactsPayloads } = await prepareLedger(
    configuration,
    opened,
    onProgress,
  );
  ending.add(followClock(background, aheadMilliseconds, log).stop);
  const { supportContact, mode, operatorLimits } = configuration;
  const responses = new ResponseCounter();
  const metrics = await openMetricsPage(configuration, responses);
  const report = reporterOf(log, metrics);
  const news = new EventNews(background);
  const addresses = { mode, allowedNetworks: configuration.webhookAllowedNetworks };
  const webhooks = openWebhookTools(background, webhookKeys, addresses, () => delivery.changed());
  const delivery = openDelivery(configuration, databases, webhookKeys, { log, metrics });
  const credentials = await openCredentials(configuration, databases, log);
  const incidents = new OpenIncidents();
  const readiness = watchReadiness(opened, log);
  ending.add(readiness.stop);
  const backups = openBackupJob(configuration, embedded, log);
  ending.add(() => backups?.stop());
  const status = statusOf(configuration, opened, { readiness, delivery, backups, errorLog: () => errors });
  const overview = new OverviewMaker((service) => readStatus(status, service), responses, {
    lane: { waiting: () => transfers.waiting },
    version: status.version,
  });
  let port: number | undefined;
  const connectorParts = { log, metrics, onFailure: report('processors', UNASKED_PROCESSORS), servicePort: () => port };
  const processors = openConnectors(configuration, background, connectorParts);
  const transfers = openLane(databases, { compactsPayloads, metrics, overview, processors, operatorLimits });
  const shared = { databases, transfers, news, webhooks, supportContact, processors, operatorLimits };
  const { handlers, findUnsettled } = handlersOf(shared, mode === 'sandbox' ? embedded : undefined, status, overview);
  const gateway = gatewayOf(configuration, databases, {
    ...{ handlers, ...credentials.gateway },
    ...{ findSupport: incidents.find, verifyNotice: processors.verifyNotice, ready: readiness.find },
  });
  // Opens the connection that is reserved for transfers before other connections take its slot.
  void readiness.warmUp();
  const reports = startReportingErrors(background, failureOf(log, 'error_events_not_written', UNWRITTEN_REPORTS));
  ending.add(reports.stop);
  const errors = await openErrorLog(configuration, opened, log, reports.wake);
  ending.add(errors.stop);
  ending.add(startCounting(background, overview, report('transfer_counts', UNSTORED_COUNTS)).stop);
  ending.add(credentials.startWriting(failureOf(log, 'credential_uses_not_written', UNWRITTEN_USES)).stop);
  let unpublish: (() => Promise<void>) | undefined;
  ending.add(() => unpublish?.());
  const traces = await openTraceExport(configuration, log);
  ending.add(() => Promise.all([metrics?.stop(), traces?.stop()]));
  const server = openHttp(configuration, gateway, { log, errors, responses, traces });
  let jobs: ReturnType<typeof startJobs> | undefined;
  // Stopped in parallel, because requests in progress and jobs are independent.
  ending.add(() => Promise.all([jobs?.stop(), processors.stop(), server.close()]));
  const observed = { ...shared, errors, maxSpoolBytes: MAX_ERROR_SPOOL_BYTES, readiness, backups };
  const metricsUrl = await metrics?.start({ ...observed, onFailure: report('figures', UNREAD_FIGURES) });
  port = await listen(server, configuration);
  onListening({ mode, port, migration });
  unpublish = await publishSettings(configuration, port, log);
  backups?.start();
  const followed = { transfers, news, delivery, incidents, processors, findUnsettled };
  jobs = startJobs(configuration, opened, { log, metrics, ...followed });
  processors.start(transfers);
  warnOfClearText(configuration, log);
  return { port, metricsUrl, isFirstStart };
}

type OwnGateway = 'mode' | 'keyless' | 'supportContact' | 'findProgram' | 'demoProgramId';

/** Returns the part of the service that http needs. */
function gatewayOf(
  { mode, loopbackOnly, supportContact }: Configuration,
  { authentication }: Databases,
  parts: Omit<Gateway, OwnGateway>,
): Gateway {
  const keyless = mode === 'sandbox' && loopbackOnly;
  const findProgram = openProgramSearch(authentication);
  return { ...parts, mode, keyless, supportContact, findProgram, demoProgramId: DEMO_PROGRAM_ID };
}

/** Opens the transfer lane, and connects the parts that must be notified of its commits. */
function openLane(
  { application }: Databases,
  parts: Pick<JobParts, 'metrics'> & {
    readonly compactsPayloads: boolean;
    readonly overview: OverviewMaker;
    readonly processors: Processors;
    readonly operatorLimits: OperatorLimits;
  },
): TransferLane {
  const { compactsPayloads, metrics, overview, processors, operatorLimits } = parts;
  return openTransferLane(application, {
    compactsPayloads,
    observer: metrics?.commits,
    onCreated: overview.counts.note,
    connectorState: processors.stateOf,
    operatorLimits,
    onProcessor: processors.noteTransfer,
  });
}

async function openCredentials(configuration: Configuration, databases: Databases, log: Log) {
  const { authentication, background } = databases;
  const signIn = await openSignInPart(configuration, databases, log);
  const keys = openKeyUses(background);
  const sessions = openSessionUses(background);
  const refusals = openRefusedCredentials(background, () => new Date(databaseTime()));
  const onUse = { noteSession: sessions.note, noteKey: keys.note };
  return {
    gateway: {
      authenticate: openAuthentication(authentication, keys.note),
      authenticateSession: openSessionAuthentication(authentication, onUse),
      onRefusedCredential: refusals.note,
      signIn,
    },
    startWriting: (onFailure: OnFailure) => {
      const writing = startWritingCredentialUses({ keys, sessions, refusals }, onFailure);
      return { stop: () => Promise.all([signIn?.close(), writing.stop()]) };
    },
  };
}

type Listeners = {
  readonly log: Log;
  readonly errors: ErrorRecorder;
  readonly responses: ResponseCounter;
  readonly traces: Traces | undefined;
};

function openHttp(
  configuration: Configuration,
  gateway: Gateway,
  { log, errors, responses, traces }: Listeners,
): HttpServer {
  const noteFault = openFaultLog(log);
  return createHttpServer(gateway, {
    settings: configuration,
    version: VERSION,
    beginTrace: traces?.begin,
    onResponse: onEachOf(responses.note, openRequestLog(configuration.requestLog, STANDARD_ERROR), traces && endTrace),
    onError: (report) => {
      // The recorded error has no card numbers or keys, so it is safe to log.
      const recorded = errors.record(report);
      if (recorded === undefined || report.status < 500) return;
      const { requestId, code, message, causes, traceparent } = recorded;
      const trace = traceparent === null ? {} : { traceId: traceIdOf(traceparent) };
      const isOutage = report.cause instanceof OperationFailure && report.cause.endsIn !== undefined;
      noteFault({ requestId: toWireId('req', requestId), code, ...trace, causes }, message, isOutage);
    },
  });
}

function endTrace(entry: ResponseEntry): void {
  entry.trace?.end(entry);
}

/** Returns a function that logs only the first of several failures in a row. */
function failureOf(log: Log, event: LogEvent, sentence: string): OnFailure {
  return (error, isRepeated) => {
    if (isRepeated !== true) log.error({ event, cause: String(error) }, sentence);
  };
}

function followClock(database: Database, aheadMilliseconds: number, log: Log): ReturnType<typeof followDatabaseClock> {
  return followDatabaseClock(database, aheadMilliseconds, {
    onDifference: (aheadMilliseconds) => log.warn({ event: 'clock', aheadMilliseconds }, CLOCK_IS_OFF),
    onFailure: failureOf(log, 'clock_not_read', "cannot read the database's clock"),
  });
}

/**
 * Returns a function that creates a reporter for a job. The reporter counts each failure, but logs only the first of
 * several in a row.
 */
function reporterOf(log: Log, metrics: ServiceMetrics | undefined) {
  return (job: Job, sentence: string, facts: { readonly programId?: string; readonly day?: string } = {}): OnFailure =>
    (error, isRepeated) => {
      metrics?.onJobFailure(job);
      if (isRepeated !== true) log.error({ event: 'job_failed', job, ...facts, cause: String(error) }, sentence);
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
  readonly incidents: OpenIncidents;
  readonly processors: Pick<Processors, 'connectorIds'>;
  readonly findUnsettled: Parameters<typeof startSettlingApprovals>[0];
};

function startJobs(
  configuration: Configuration,
  { databases }: OpenDatabase,
  { log, metrics, transfers, news, delivery, incidents, processors, findUnsettled }: JobParts,
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
      { database: background, transfers, processors },
      report('due_transfers', 'cannot settle due transfers; retrying'),
    ),
    startSettlingApprovals(findUnsettled, report('approvals', 'cannot end approvals; retrying')),
    startFollowingIncidents(background, incidents, report('incidents', 'cannot follow the incidents; retrying')),
    startVerifyingBooks(background, {
      onMismatch: (verification) => log.error({ event: 'books', ...verification }, BOOKS_DIFFER),
      onFailure: report('books', 'cannot verify the books; retrying'),
    }),
    startCheckingDays(background, {
      onMismatch: (programId, day) =>
        log.error({ event: 'books', programId: toWireId('prog', programId), day }, DAY_DIFFERS),
      onUnchecked: (id, day, error, isRepeated) =>
        report('day_checks', UNCHECKED_DAY, { programId: toWireId('prog', id), day })(error, isRepeated),
      onFailure: report('day_checks', UNCHECKED_DAY),
    }),
    startRelayingEvents(
      databases,
      (programIds) => {
        news.announce(programIds);
        delivery.announce(programIds);
      },
      report('relay', 'cannot assign positions to events; retrying'),
    ),
    delivery,
  ];
  delivery.start();
  return { stop: () => Promise.all(jobs.map((job) => job.stop())) };
}

/** Publishes the settings for the `config` command. If that fails, the service continues. */
async function publishSettings(configuration: Configuration, port: number, log: Log): Promise<() => Promise<void>> {
  const settings = showConfiguration(configuration).split('\n');
  const onFailure = (error: unknown): void =>
    log.warn(
      { event: 'settings_not_shown', cause: String(error) },
      'cannot publish the settings: the config command will not show them',
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

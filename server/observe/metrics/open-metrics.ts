import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { VERSION } from '../../../installation.mjs';
import type { Deliveries } from '../../background/delivery/start-delivery.ts';
import { type FigureReports, startReadingFigures } from '../../background/jobs/read-figures.ts';
import type { Processors } from '../../calls/processors.ts';
import type { ResponseCounter } from '../../calls/responses/response-counter.ts';
import type { CommitObserver } from '../../commit/group-work.ts';
import type { Configuration } from '../../foundation/configuration/configuration.ts';
import { codeOf, StartupProblem } from '../../foundation/startup-problem.ts';
import type { Databases } from '../../store/connection/databases.ts';
import type { ErrorRecorder } from '../../subjects/errors/error-recorder.ts';
import type { TransferLane } from '../../subjects/transfers/lane.ts';
import type { ReadinessCheck } from '../readiness.ts';
import { countCommits, countDeliveries, countJobFailures, type Job, showRequests } from './counts.ts';
import { showFigures } from './figures.ts';
import {
  type BackupFigures,
  showBackups,
  showConnections,
  showErrorLog,
  showLane,
  showProcess,
  showReadiness,
} from './parts.ts';
import { countCalls, type EndedCall, showConnectors } from './processors.ts';
import { Metrics } from './registry.ts';

export type ObservedParts = {
  readonly databases: Pick<Databases, 'background' | 'pools' | 'health' | 'host'>;
  readonly transfers: TransferLane;
  readonly errors: Pick<ErrorRecorder, 'figures'>;
  readonly maxSpoolBytes: number;
  /** The job that makes backups. Undefined if BACKUP_DIR is not set. */
  readonly backups: { readonly status: BackupFigures } | undefined;
  readonly readiness: Pick<ReadinessCheck, 'latest'>;
  readonly processors: Pick<Processors, 'connectorIds' | 'statuses'>;
  readonly onFailure: FigureReports['onFailure'];
};

export type ServiceMetrics = {
  readonly commits: CommitObserver;
  readonly onDeliveries: (deliveries: Deliveries) => void;
  readonly onConnectorCall: (call: EndedCall) => void;
  readonly onJobFailure: (job: Job) => void;
  /**
   * Begins to read figures and to listen on METRICS_PORT. Resolves to the URL of the page. Throws a StartupProblem if that is
   * impossible.
   */
  readonly start: (parts: ObservedParts) => Promise<string>;
  readonly stop: () => Promise<void>;
};

export type MetricsSettings = Pick<Configuration, 'metricsHost' | 'mode' | 'dataDirectory'> & {
  readonly metricsPort: number;
};

export function openMetrics(
  { metricsPort, metricsHost, mode, dataDirectory }: MetricsSettings,
  responses: ResponseCounter,
): ServiceMetrics {
  const metrics = new Metrics();
  showRequests(metrics, responses);
  const calls = countCalls(metrics);
  let page: MetricsPage | undefined;
  let ends: readonly (() => Promise<void> | void)[] = [];
  return {
    commits: countCommits(metrics),
    onDeliveries: countDeliveries(metrics),
    onConnectorCall: calls.note,
    onJobFailure: countJobFailures(metrics),
    start: async ({ databases, transfers, errors, maxSpoolBytes, readiness, backups, processors, onFailure }) => {
      showLane(metrics, transfers);
      showReadiness(metrics, readiness);
      showConnections(metrics, databases);
      showErrorLog(metrics, errors, maxSpoolBytes);
      showBackups(metrics, backups && (() => backups.status));
      showConnectors(metrics, processors);
      for (const connectorId of processors.connectorIds) calls.begin(connectorId);
      const figures = showFigures(metrics, { data: dataDirectory }, processors.connectorIds);
      page = await serveMetrics(metrics, metricsHost, metricsPort);
      const ofProcess = showProcess(metrics, { version: VERSION, mode });
      const reading = startReadingFigures(databases.background, { ...figures, onFailure });
      ends = [reading.stop, ofProcess.stop];
      return page.url;
    },
    stop: async () => {
      await page?.close();
      for (const end of ends) await end();
    },
  };
}

/** How long a page is reused, so that several scrapers cost no more than one. */
const CACHE_MILLISECONDS = 1_000;

/** Time limit of a client. A scrape is one small request, so a slower client is disconnected. */
const TIMEOUT_MILLISECONDS = 10_000;
const MAX_HEAD_BYTES = 8_192;
const MAX_CONNECTIONS = 64;

type MetricsPage = { readonly url: string; readonly close: () => Promise<void> };

/** Listens for scrapes. Throws a {@link StartupProblem} if that is impossible. */
async function serveMetrics(metrics: Metrics, host: string, port: number): Promise<MetricsPage> {
  const page = new CachedPage(metrics);
  const server = createServer(
    {
      maxHeaderSize: MAX_HEAD_BYTES,
      headersTimeout: TIMEOUT_MILLISECONDS,
      requestTimeout: TIMEOUT_MILLISECONDS,
      keepAliveTimeout: 2 * TIMEOUT_MILLISECONDS,
    },
    (request, response) => void respond(page, request, response),
  );
  server.maxConnections = MAX_CONNECTIONS;
  // Disconnects the client, with no other effect.
  server.on('clientError', (_, socket) => socket.destroy());
  const address = await listen(server, host, port).catch((error: unknown) => {
    throw explain(error, host, port);
  });
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The page. It is rendered on request, but at most once a second. */
class CachedPage {
  readonly #metrics: Metrics;
  #text: Promise<string> | undefined;
  #until = Number.NEGATIVE_INFINITY;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  get contentType(): string {
    return this.#metrics.contentType;
  }

  read(): Promise<string> {
    const now = performance.now();
    if (this.#text === undefined || now > this.#until) {
      this.#text = this.#metrics.render();
      this.#until = now + CACHE_MILLISECONDS;
    }
    return this.#text;
  }
}

async function respond(page: CachedPage, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '').split('?')[0];
  if (path !== '/metrics') return end(response, 404, 'This port serves only /metrics.\n');
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    return end(response, 405, 'Only GET and HEAD are allowed.\n');
  }
  try {
    const text = await page.read();
    end(response, 200, text, page.contentType);
  } catch {
    end(response, 500, 'The metrics could not be rendered.\n');
  }
}

function end(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(response.req.method === 'HEAD' ? undefined : text);
}

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      const address = server.address();
      if (address !== null && typeof address === 'object') resolve(address);
      else reject(new Error('The server of the metrics has no address.'));
    });
  });
}

function explain(error: unknown, host: string, port: number): unknown {
  const code = codeOf(error);
  if (code === 'EADDRINUSE') {
    const advice = 'Stop the process that uses it, or set METRICS_PORT to another port.';
    return new StartupProblem('port-unavailable', `Port ${port} of the metrics is already in use. ${advice}`);
  }
  if (code === 'EACCES') {
    const advice = 'Set METRICS_PORT to a port above 1023.';
    return new StartupProblem('port-unavailable', `This user is not allowed to listen on port ${port}. ${advice}`);
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new StartupProblem('invalid-setting', `METRICS_HOST is '${host}', which is not an address of this machine.`);
  }
  return error;
}

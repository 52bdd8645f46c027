import { VERSION } from '../../../installation.mjs';
import type { Deliveries } from '../../background/delivery/worker-messages.ts';
import { type FigureReports, startReadingFigures } from '../../background/jobs/read-figures.ts';
import type { Processors } from '../../calls/processors.ts';
import type { ResponseCounter } from '../../calls/responses/response-counter.ts';
import type { CommitObserver } from '../../commit/group-work.ts';
import type { Configuration } from '../../foundation/configuration/configuration.ts';
import type { Databases } from '../../store/connection/databases.ts';
import type { ErrorRecorder } from '../../subjects/errors/error-recorder.ts';
import type { TransferLane } from '../../subjects/transfers/lane.ts';
import type { ReadinessCheck } from '../readiness.ts';
import { countCommits, countDeliveries, countJobFailures, type Job, showRequests } from './counts.ts';
import { showFigures } from './figures.ts';
import { type MetricsPage, serveMetrics } from './page.ts';
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

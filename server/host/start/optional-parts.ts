import type { ResponseCounter } from '../../calls/responses/response-counter.ts';
import { type Configuration, withoutVariables } from '../../foundation/configuration/configuration.ts';
import type { Log } from '../../observe/log/log.ts';
import type { ServiceMetrics } from '../../observe/metrics/open-metrics.ts';
import type { Traces } from '../../observe/traces/open-traces.ts';
import { BackupJob } from '../../postgres/backup/backup-job.ts';
import type { EmbeddedPostgres } from '../../postgres/embedded-postgres.ts';

/** The metrics of the process; undefined without METRICS_PORT, and then their code is not even loaded. */
export async function openMetricsPage(
  configuration: Configuration,
  responses: ResponseCounter,
): Promise<ServiceMetrics | undefined> {
  const { metricsPort, metricsHost, mode, dataDirectory } = configuration;
  if (metricsPort === null) return undefined;
  const { openMetrics } = await import('../../observe/metrics/open-metrics.ts');
  return openMetrics({ metricsPort, metricsHost, mode, dataDirectory }, responses);
}

/** The traces for a collector; undefined if there is none, and then their code is not even loaded. */
export async function openTraceExport(
  { tracesUrl: endpoint, tracesHeaders, tracesRatio: ratio, tracesServiceName: serviceName }: Configuration,
  log: Log,
): Promise<Traces | undefined> {
  if (endpoint === null) return undefined;
  const traces = { endpoint, headers: tracesHeaders ?? {}, ratio, serviceName };
  const { openTraces } = await import('../../observe/traces/open-traces.ts');
  const onFailure = (error: unknown, lost: number): void =>
    log.warn(
      { event: 'traces_not_sent', cause: String(error), lost },
      'the collector takes no traces; requests are served as ever, and later traces are tried again',
    );
  return withoutVariables('OTEL_', () => openTraces(traces, onFailure));
}

/** The job that makes backups, not started yet; undefined without BACKUP_DIR. */
export function openBackupJob(
  { dataDirectory, backupRetentionDays: retentionDays }: Configuration,
  embedded: EmbeddedPostgres | undefined,
  log: Log,
): BackupJob | undefined {
  if (embedded?.archive === undefined) return undefined;
  const socketDirectory = embedded.connection.host;
  return new BackupJob({
    ...embedded.archive,
    socketDirectory,
    dataDirectory,
    retentionDays,
    onCopy: (name) => log.info({ event: 'backup', copy: name }, 'a copy of the ledger is complete'),
    onFailure: (problem) => log.error({ event: 'backup_failed' }, problem),
  });
}

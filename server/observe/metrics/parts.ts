import { monitorEventLoopDelay } from 'node:perf_hooks';
import { READINESS, READINESS_REASONS } from '../../../domain/service-status.ts';
import type { BackupStatus } from '../../postgres/backup/backup-job.ts';
import type { Databases } from '../../store/connection/databases.ts';
import { DROP_REASONS } from '../../store/error.ts';
import type { ErrorRecorder } from '../../subjects/errors/error-recorder.ts';
import type { TransferLane } from '../../subjects/transfers/lane.ts';
import type { ReadinessCheck } from '../readiness.ts';
import type { BoundCounter, BoundGauge, Metrics } from './registry.ts';

/**
 * Returns a function that sets a counter to a total that this process already counts. Each time the page is rendered,
 * the difference is added to the counter.
 */
export function follow(count: BoundCounter): (total: number) => void {
  let known = 0;
  count.inc(0);
  return (total) => {
    if (total > known) count.inc(total - known);
    known = Math.max(known, total);
  };
}

/** After this time, four readings have failed, and the age of waiting work is unknown. */
const MAX_AGE_MILLISECONDS = 60_000;

/**
 * Omits gauges from the page until they are set, and again when they have not been set for a minute. Otherwise, the
 * page would show an age that no longer grows.
 */
export function leaveOutOld(metrics: Metrics, gauges: readonly BoundGauge[]): () => void {
  for (const gauge of gauges) gauge.remove();
  let renewedAt = 0;
  metrics.beforePage(() => {
    if (performance.now() - renewedAt > MAX_AGE_MILLISECONDS) for (const gauge of gauges) gauge.remove();
  });
  return () => {
    renewedAt = performance.now();
  };
}

export function showLane(metrics: Metrics, lane: TransferLane): void {
  const waiting = metrics.gauge({ name: 'lane_waiting', help: 'Transfers waiting to be committed.' })();
  metrics.beforePage(() => waiting.set(lane.waiting));
}

export function showReadiness(metrics: Metrics, readiness: Pick<ReadinessCheck, 'latest'>): void {
  const ready = metrics.gauge({
    name: 'ready',
    help: 'Whether the last check of /health/ready found the service ready, 1 or 0.',
  })();
  const states = metrics.gauge({
    name: 'readiness',
    help: 'The state of the service: 1 for the current reason, 0 for all others.',
    labels: ['reason'],
  });
  const byReason = READINESS_REASONS.map((reason) => [reason, states(reason)] as const);
  metrics.beforePage(() => {
    const { reason: latest } = readiness.latest();
    ready.set(READINESS[latest].isReady ? 1 : 0);
    for (const [reason, level] of byReason) level.set(reason === latest ? 1 : 0);
  });
}

export function showConnections(metrics: Metrics, databases: Pick<Databases, 'pools' | 'health' | 'host'>): void {
  const labels = ['role', 'kind'];
  const define = (name: string, help: string) => metrics.gauge({ name, help, labels });
  const waiting = define('pool_waiting', 'Requests waiting for a database connection.');
  const lent = define('pool_in_use', 'Database connections in use.');
  const open = define('pool_open', 'Database connections that are open.');
  const max = define('pool_max', 'Database connections that this process may open.');
  const losses = follow(
    metrics.counter({
      name: 'connection_losses_total',
      help: 'Idle database connections that broke or were closed by the server.',
    })(),
  );
  showHost(metrics, databases.host);
  const bound = databases.pools().map(({ role, kind }): readonly BoundGauge[] => {
    return [waiting, lent, open, max].map((gauge) => gauge(role, kind));
  });
  metrics.beforePage(() => {
    losses(databases.health().losses);
    for (const [index, pool] of databases.pools().entries()) {
      const values = [pool.waiting, pool.lent, pool.open, pool.max];
      for (const [place, level] of (bound[index] ?? []).entries()) level.set(values[place] ?? 0);
    }
  });
}

function showHost(metrics: Metrics, read: Databases['host']): void {
  const since = metrics.gauge({
    name: 'database_host_since_timestamp_seconds',
    help: 'When this process began to use this host of DATABASE_URL. Absent for other hosts and for the embedded server.',
    labels: ['host'],
  });
  let shown: { readonly name: string; readonly gauge: BoundGauge } | undefined;
  metrics.beforePage(() => {
    const used = read();
    if (used === undefined) return;
    if (shown?.name !== used.name) {
      shown?.gauge.remove();
      shown = { name: used.name, gauge: since(used.name) };
    }
    shown.gauge.set(used.since.getTime() / 1000);
  });
}

export function showErrorLog(metrics: Metrics, errors: Pick<ErrorRecorder, 'figures'>, maxSpoolBytes: number): void {
  const queued = metrics.gauge({ name: 'errors_queued', help: 'Errors in memory that are not stored yet.' })();
  const spool = metrics.gauge({
    name: 'spool_bytes',
    help: 'Size of the errors that are stored on the disk of this machine until the database is available.',
  })();
  const max = metrics.gauge({ name: 'spool_max_bytes', help: 'Maximum size of the errors that are stored on disk.' })();
  const dropped = metrics.counter({
    name: 'errors_dropped_total',
    help: 'Error responses that are not in the error log, by reason.',
    labels: ['reason'],
  });
  const byReason = DROP_REASONS.map((reason) => [reason, follow(dropped(reason))] as const);
  metrics.beforePage(() => {
    const figures = errors.figures();
    queued.set(figures.queued);
    spool.set(figures.spoolBytes);
    max.set(maxSpoolBytes);
    for (const [reason, take] of byReason) take(figures.dropped.get(reason) ?? 0);
  });
}

export type BackupFigures = Pick<BackupStatus, 'lastCopyAt' | 'failures' | 'coveredUntil' | 'isCopying'>;

/** Shows the backups of the embedded server. `read` is undefined if BACKUP_DIR is not set. */
export function showBackups(metrics: Metrics, read: (() => BackupFigures) | undefined): void {
  const gauge = (name: string, help: string) => metrics.gauge({ name, help })();
  const isOn = gauge('backup_enabled', 'Whether the service takes backups itself (BACKUP_DIR), 1 or 0.');
  const last = gauge('last_backup_timestamp_seconds', 'When the last full copy of the ledger was completed.');
  const covered = gauge('backup_covered_timestamp_seconds', 'Everything committed before this time can be restored.');
  const copying = gauge('backup_copying', 'Whether a copy is being taken, 1 or 0.');
  const failures = follow(
    metrics.counter({
      name: 'backup_failures_total',
      help: 'Failed copies, and failures to maintain the WAL archive.',
    })(),
  );
  isOn.set(read === undefined ? 0 : 1);
  if (read === undefined) return;
  metrics.beforePage(() => {
    const { lastCopyAt, failures: failed, coveredUntil, isCopying } = read();
    // Before the first copy, the time is 0, which counts as too old. But a service makes a copy as soon as it starts.
    last.set((lastCopyAt?.getTime() ?? 0) / 1000);
    covered.set((coveredUntil?.getTime() ?? 0) / 1000);
    copying.set(isCopying ? 1 : 0);
    failures(failed);
  });
}

/** The interval of the samples. Node's figures include it: they show this much for a loop without delay. */
const RESOLUTION_MILLISECONDS = 20;

/**
 * The period over which the delay is collected. It is longer than the time between two scrapes, so that at least one scrape sees
 * each period.
 */
const WINDOW_MILLISECONDS = 15_000;

const NANOSECONDS = 1e9;
const MICROSECONDS = 1e6;

/** Shows the start time of the process, its use of resources, and the delay of its event loop. `stop` ends the measurement. */
export function showProcess(
  metrics: Metrics,
  { version, mode }: { readonly version: string; readonly mode: string },
): { readonly stop: () => void } {
  metrics
    .gauge({
      name: 'info',
      help: 'Always 1. The labels are the versions of the service and of Node, and the mode.',
      labels: ['version', 'node', 'mode'],
    })(version, process.versions.node, mode)
    .set(1);
  metrics
    .gauge({ name: 'start_timestamp_seconds', help: 'When the process started.' })()
    .set(Math.round(performance.timeOrigin) / 1000);
  const processor = follow(
    metrics.counter({ name: 'cpu_seconds_total', help: 'CPU time of all threads of the process.' })(),
  );
  const memory = metrics.gauge({ name: 'memory_bytes', help: 'Resident memory of the process.' })();
  const heap = metrics.gauge({ name: 'heap_bytes', help: 'JavaScript heap in use by the main thread.' })();
  metrics.beforePage(() => {
    const { user, system } = process.cpuUsage();
    processor((user + system) / MICROSECONDS);
    memory.set(process.memoryUsage.rss());
    heap.set(process.memoryUsage().heapUsed);
  });
  return showEventLoop(metrics);
}

function showEventLoop(metrics: Metrics): { readonly stop: () => void } {
  const delay = metrics.gauge({
    name: 'event_loop_delay_seconds',
    help: 'Delay of the event loop in the last 15 seconds: median, 99th percentile (p99) and maximum.',
    labels: ['statistic'],
  });
  const levels = [
    [50, delay('median')],
    [99, delay('p99')],
    [100, delay('maximum')],
  ] as const;
  const monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MILLISECONDS });
  const show = (): void => {
    for (const [percentile, level] of levels) {
      const nanoseconds = monitor.count === 0 ? 0 : monitor.percentile(percentile);
      level.set(Math.max(0, nanoseconds - RESOLUTION_MILLISECONDS * 1e6) / NANOSECONDS);
    }
  };
  monitor.enable();
  show();
  const timer = setInterval(() => {
    show();
    monitor.reset();
  }, WINDOW_MILLISECONDS).unref();
  return {
    stop: () => {
      clearInterval(timer);
      monitor.disable();
    },
  };
}

import type { Deliveries } from '../../background/delivery/worker-messages.ts';
import type { CommitObserver, CommitPath } from '../../commit/group-work.ts';
import type { Settlement } from '../../store/connection/database.ts';
import type { BoundHistogram, Metrics } from './registry.ts';

/** A group has at most 256 transfers. */
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** In seconds. A request ends after 5. */
const SECONDS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export function countCommits(metrics: Metrics): CommitObserver {
  const size = metrics.histogram({ name: 'group_size', help: 'Transfers that were committed together.' }, SIZES)();
  const seconds = metrics.histogram(
    {
      name: 'commit_seconds',
      help: 'Time from the first statement of a group of transfers to its commit: chained, or with its accounts locked.',
      labels: ['path'],
    },
    SECONDS,
  );
  const byPath: Readonly<Record<CommitPath, BoundHistogram>> = {
    chained: seconds('chained'),
    locking: seconds('locking'),
  };
  const breaks = metrics.counter({
    name: 'chain_breaks_total',
    help: 'Broken chains of groups, whose groups were committed again with locks.',
  })();
  const settlements = metrics.counter({
    name: 'settlements_total',
    help: 'Commits without a certain response that were looked up, by the result.',
    labels: ['outcome'],
  });
  const byOutcome = {
    committed: settlements('committed'),
    abandoned: settlements('abandoned'),
    unknown: settlements('unknown'),
  } satisfies Record<Settlement, unknown>;
  const unknown = metrics.counter({
    name: 'transfers_unknown_total',
    help: 'Transfers whose outcome was still unknown when their request ended.',
  })();
  for (const count of [breaks, unknown, ...Object.values(byOutcome)]) count.inc(0);
  return {
    onGroup: (path, transfers, milliseconds) => {
      size.observe(transfers);
      byPath[path].observe(milliseconds / 1000);
    },
    onBreak: () => breaks.inc(),
    onSettled: (settlement) => byOutcome[settlement].inc(),
    onUnknown: (transfers) => unknown.inc(transfers),
  };
}

/**
 * After this time without a report, no request of the last report is in flight: each ends within its time limit of 15
 * seconds, and the thread reports that a second later. A crashed thread reports nothing.
 */
const MAX_REPORT_AGE_MILLISECONDS = 30_000;

export function countDeliveries(metrics: Metrics): (deliveries: Deliveries) => void {
  const attempts = metrics.counter({
    name: 'webhook_attempts_total',
    help: 'Deliveries to webhooks, by outcome.',
    labels: ['outcome'],
  });
  const succeeded = attempts('succeeded');
  const failed = attempts('failed');
  const timedOut = attempts('timed_out');
  for (const count of [succeeded, failed, timedOut]) count.inc(0);
  const inFlight = metrics.gauge({ name: 'webhook_requests_in_flight', help: 'Requests to webhooks in flight.' })();
  inFlight.set(0);
  let reportedAt = 0;
  metrics.beforePage(() => {
    if (performance.now() - reportedAt > MAX_REPORT_AGE_MILLISECONDS) inFlight.set(0);
  });
  return (deliveries) => {
    succeeded.inc(deliveries.succeeded);
    failed.inc(deliveries.failed);
    timedOut.inc(deliveries.timedOut);
    inFlight.set(deliveries.inFlight);
    reportedAt = performance.now();
  };
}

/** The jobs that report their failures. The label is `task`, because a job in Prometheus is a scrape target. */
export const JOBS = [
  'partitions',
  'expired_rows',
  'card_erasures',
  'due_transfers',
  'relay',
  'webhooks',
  'books',
  'figures',
  'transfer_counts',
  'incidents',
  'processors',
] as const;

export type Job = (typeof JOBS)[number];

/**
 * Counts every failed round of a job, so that a job that always fails keeps counting. For the delivery of webhooks, which
 * retries each second and has its own alerts, only the first of several failures in a row counts.
 */
export function countJobFailures(metrics: Metrics): (job: Job) => void {
  const failures = metrics.counter({
    name: 'job_failures_total',
    help: 'Failed runs of background jobs. The task webhooks counts only the first of several in a row.',
    labels: ['task'],
  });
  const byJob = Object.fromEntries(JOBS.map((job) => [job, failures(job)])) as Record<Job, ReturnType<typeof failures>>;
  for (const count of Object.values(byJob)) count.inc(0);
  return (job) => byJob[job].inc();
}

import type { Metrics } from './registry.ts';

/**
 * The jobs of the service, which report their failures. The label is `task`, because a job in Prometheus is something
 * it scrapes.
 */
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

/** One of {@link JOBS}. */
export type Job = (typeof JOBS)[number];

/**
 * Counts every failed round of a job, so that one that fails for ever keeps counting; of the delivery of webhooks, which
 * tries again each second and has alerts of its own, only the first of several failures in a row.
 */
export function countJobFailures(metrics: Metrics): (job: Job) => void {
  const failures = metrics.counter({
    name: 'job_failures_total',
    help: 'Failed rounds of background jobs; of several in a row of the task webhooks only the first.',
    labels: ['task'],
  });
  const byJob = Object.fromEntries(JOBS.map((job) => [job, failures(job)])) as Record<Job, ReturnType<typeof failures>>;
  for (const count of Object.values(byJob)) count.inc(0);
  return (job) => byJob[job].inc();
}

import type { Deliveries } from '../../background/delivery/worker-messages.ts';
import type { Metrics } from './registry.ts';

/**
 * After this time without a report no request of the last one is in flight any more: each ends within its time limit of 15
 * seconds, and the thread reports that a second later. A thread that has crashed reports nothing.
 */
const MAX_REPORT_AGE_MILLISECONDS = 30_000;

/** Counts what the thread of the webhooks reports. */
export function countDeliveries(metrics: Metrics): (deliveries: Deliveries) => void {
  const attempts = metrics.counter({
    name: 'webhook_attempts_total',
    help: 'Attempts to send an event to a webhook, by how they ended.',
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

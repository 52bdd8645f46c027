import {
  type ErrorCode,
  OPERATION_IDS,
  OPERATIONS,
  type OperationId,
  precedenceOf,
} from '../../../contract/operations.ts';
import { SHARED_CODES } from '../../../domain/error-codes.ts';
import type { Deliveries } from '../../background/delivery/start-delivery.ts';
import { type ResponseCounter, type Series, TIME_BOUNDS } from '../../calls/responses/response-counter.ts';
import type { CommitObserver, CommitPath } from '../../commit/group-work.ts';
import type { Settlement } from '../../store/connection/database.ts';
import { follow } from './parts.ts';
import type { BoundHistogram, Metrics } from './registry.ts';

/** A group has at most 256 transfers. */
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** Bounds in seconds. A request ends after at most 5 seconds. */
const SECONDS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export function countCommits(metrics: Metrics): CommitObserver {
  const size = metrics.histogram(
    { name: 'group_size', help: 'Transfers per group. A group is committed together.' },
    SIZES,
  )();
  const seconds = metrics.histogram(
    {
      name: 'commit_seconds',
      help: 'Time to commit a group of transfers, from its first statement, by path (chained, or locking its accounts).',
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
    help: 'Chains of groups that broke. Their groups were committed again with locks.',
  })();
  const settlements = metrics.counter({
    name: 'settlements_total',
    help: 'Commits whose response was lost or unclear and that were looked up, by result.',
    labels: ['outcome'],
  });
  const byOutcome = {
    committed: settlements('committed'),
    abandoned: settlements('abandoned'),
    unknown: settlements('unknown'),
  } satisfies Record<Settlement, unknown>;
  const unknown = metrics.counter({
    name: 'transfers_unknown_total',
    help: 'Transfers whose outcome was still unknown at the end of the request.',
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
 * After this time without a report, the requests in the last report have ended. Each has a time limit of 15 seconds, and the
 * thread reports within a second that it has ended. A crashed thread reports nothing.
 */
const MAX_REPORT_AGE_MILLISECONDS = 30_000;

export function countDeliveries(metrics: Metrics): (deliveries: Deliveries) => void {
  const attempts = metrics.counter({
    name: 'webhook_attempts_total',
    help: 'Webhook deliveries, by outcome.',
    labels: ['outcome'],
  });
  const succeeded = attempts('succeeded');
  const failed = attempts('failed');
  const timedOut = attempts('timed_out');
  for (const count of [succeeded, failed, timedOut]) count.inc(0);
  const inFlight = metrics.gauge({ name: 'webhook_requests_in_flight', help: 'Webhook requests in flight.' })();
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

/** The jobs that report their failures. The label is `task`, because in Prometheus a job is a scrape target. */
export const JOBS = [
  'partitions',
  'expired_rows',
  'approvals',
  'card_erasures',
  'due_transfers',
  'relay',
  'webhooks',
  'books',
  'day_checks',
  'figures',
  'transfer_counts',
  'incidents',
  'processors',
] as const;

export type Job = (typeof JOBS)[number];

/**
 * Counts every failed round of a job, so the count of a job that always fails keeps growing. Webhook delivery retries each second
 * and has its own alerts, so several of its failures in a row count as one.
 */
export function countJobFailures(metrics: Metrics): (job: Job) => void {
  const failures = metrics.counter({
    name: 'job_failures_total',
    help: 'Failed runs of background jobs. For the task webhooks, several failures in a row count as one.',
    labels: ['task'],
  });
  const byJob = Object.fromEntries(JOBS.map((job) => [job, failures(job)])) as Record<Job, ReturnType<typeof failures>>;
  for (const count of Object.values(byJob)) count.inc(0);
  return (job) => byJob[job].inc();
}

// Invariant: A metrics page has fewer than 3,600 series, and a scrape does not wait for the database
// Kept by: labels from closed sets; one job reads the figures (`server/background/jobs/read-figures.ts`)
// Tested by: `server/observe/metrics/series.test.ts`, `test/metrics/metrics.test.ts`

const NO_OPERATION = 'none';

/** The label of a success, which has no error code. */
const NO_CODE = 'ok';

const DISCONNECTED = 'disconnected';

/** The label of codes that the operation does not define, such as a code requested from a sandbox. */
const OTHER_CODE = 'other';

/** Shows the responses. The status is determined by the code, so it adds no series. */
export function showRequests(metrics: Metrics, responses: ResponseCounter): void {
  const requests = metrics.counter({
    name: 'requests_total',
    help: 'Responses by operation, kind of operation, error code (ok for a success) and HTTP status.',
    labels: ['operation', 'kind', 'code', 'status'],
  });
  metrics.shownHistogram(
    { name: 'request_seconds', help: 'Time from the head of a request to its response, by kind.', labels: ['kind'] },
    TIME_BOUNDS,
    () => [...responses.times].map(([kind, times]) => ({ labels: { kind }, ...times })),
  );
  const unknown = follow(
    metrics.counter({
      name: 'money_unknown_total',
      help: 'Failed requests with Money-Moved: unknown, because the service could not tell whether money moved.',
    })(),
  );
  const codes = new Map<OperationId | undefined, ReadonlySet<ErrorCode>>([
    [undefined, new Set(CODES_WITHOUT_OPERATION)],
    ...OPERATION_IDS.map((id) => [id, new Set(codesOf(id))] as const),
  ]);
  const codeOf = ({ operation, code, status }: Series): string => {
    if (code === undefined) return status === undefined ? DISCONNECTED : NO_CODE;
    return codes.get(operation)?.has(code) ? code : OTHER_CODE;
  };
  const shown: ((total: number) => void)[] = [];
  metrics.beforePage(() => {
    for (const [place, series] of responses.series.entries()) {
      const { operation = NO_OPERATION, kind, status, count } = series;
      shown[place] ??= follow(
        requests(operation, kind, codeOf(series), status === undefined ? 'none' : String(status)),
      );
      shown[place](count);
    }
    unknown(responses.moneyUnknown);
  });
}

/** Returns the error codes of an operation. For a batch, they include the codes of its rows. */
export function codesOf(id: OperationId): readonly ErrorCode[] {
  return id === 'create_transfer_batch' ? [...precedenceOf(id), ...precedenceOf('create_transfer')] : precedenceOf(id);
}

/** The codes of requests without an operation: HTTP faults. */
export const CODES_WITHOUT_OPERATION: readonly ErrorCode[] = SHARED_CODES.filter((code) =>
  OPERATION_IDS.every((id) => !OPERATIONS[id].errors.some((own) => own === code)),
);

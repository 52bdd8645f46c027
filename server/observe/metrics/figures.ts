import { statfs } from 'node:fs/promises';
import { isSynchronous, requiredStandbys, survivalOf } from '../../../domain/primary-loss.ts';
import { ERROR_URGENCIES, partsOf, SEVERITIES } from '../../../domain/support/case.ts';
import type { Figures } from '../../background/jobs/read-figures.ts';
import {
  type LedgerFigures,
  largestLag,
  type ServerFigures,
  type SupportFigures,
  type WebhookFigures,
} from '../../store/figures.ts';
import type { YesterdayFigures } from '../../store/ledger/day-check.ts';
import { leaveOutOld } from './parts.ts';
import { showProcessors } from './processors.ts';
import type { BoundGauge, Metrics } from './registry.ts';

/** Shows a missing value, such as the oldest age of an empty set, as 0, because a gap in a graph would look like a failure. */
const orZero = (value: number | null): number => value ?? 0;

export type ShownFigures = {
  readonly onFigures: <Part extends keyof Figures>(part: Part, figures: Figures[Part]) => void;
  readonly readOthers: () => Promise<void>;
};

/**
 * Shows the latest figures that the job has read. Before the first reading, shows nothing. `directories` names one directory for
 * each disk that must not fill up. The names are from a closed set. `connectorIds` are the connectors in the settings.
 */
export function showFigures(
  metrics: Metrics,
  directories: Readonly<Record<string, string>>,
  connectorIds: readonly string[],
): ShownFigures {
  const shown = {
    ledger: showLedger(metrics),
    webhooks: showWebhooks(metrics),
    support: showSupport(metrics),
    processors: showProcessors(metrics, connectorIds),
    server: showServer(metrics),
    days: showDays(metrics),
  };
  const readAt = metrics.gauge({
    name: 'figures_read_timestamp_seconds',
    help: 'When each part of the figures (ledger, webhooks, support, processors, server, days) was last read from the database.',
    labels: ['part'],
  });
  const levels = {
    ledger: readAt('ledger'),
    webhooks: readAt('webhooks'),
    support: readAt('support'),
    processors: readAt('processors'),
    server: readAt('server'),
    days: readAt('days'),
  };
  // Until a part is read, the start of the process counts as its last reading. So a part that is never read becomes
  // overdue.
  for (const level of Object.values(levels)) level.set(Math.round(performance.timeOrigin) / 1000);
  return {
    onFigures: (part, figures) => {
      shown[part](figures as never);
      levels[part].set(Date.now() / 1000);
    },
    readOthers: showDisks(metrics, directories),
  };
}

function showLedger(metrics: Metrics): (figures: LedgerFigures) => void {
  const gauge = (name: string, help: string) => metrics.gauge({ name, help })();
  const relayLag = gauge('relay_lag_seconds', 'Age of the oldest transaction whose events have no position yet.');
  const due = gauge('due_seconds', 'Time since the oldest overdue scheduled transfer or expired hold was due.');
  const disabled = metrics.gauge({
    name: 'switch_disabled',
    help: 'Disabled by the switch: 1 if the whole service is disabled, and the numbers of wholly or partly disabled programs and connectors.',
    labels: ['scope'],
  });
  const [service, programs, connectors] = [disabled('service'), disabled('program'), disabled('connector')];
  const watched = gauge('funding_watched', 'Card programs with a funding_low_threshold.');
  const low = gauge('funding_low', 'Card programs whose available funding is below their funding_low_threshold.');
  const hostKeys = gauge(
    'host_keys_recent',
    'Operator keys that the command operator-key on the host created in the last hour, according to the audit log.',
  );
  const approval = gauge(
    'approval_oldest_pending_seconds',
    'Age of the oldest request that is waiting for an approval.',
  );
  const verified = gauge('books_verified_timestamp_seconds', 'When the last verification of the books ended.');
  const duration = gauge('books_verification_seconds', 'How long the last verification of the books took.');
  const balanced = gauge('books_balanced', 'Whether the last verification found the books balanced, 1 or 0.');
  return (figures) => {
    relayLag.set(orZero(figures.relayLagSeconds));
    due.set(orZero(figures.dueLateSeconds));
    service.set(Math.min(1, figures.serviceDisabled));
    programs.set(figures.programsDisabled);
    connectors.set(figures.disabledAtConnectors.length);
    watched.set(figures.fundingWatched);
    low.set(figures.fundingLow);
    hostKeys.set(figures.hostKeys);
    approval.set(orZero(figures.approvalPendingSeconds));
    const { booksVerifiedAt, booksVerificationSeconds, booksBalanced } = figures;
    // Before the first verification, there is nothing to show.
    if (booksVerifiedAt === null) return;
    verified.set(booksVerifiedAt / 1000);
    duration.set(orZero(booksVerificationSeconds));
    balanced.set(booksBalanced === true ? 1 : 0);
  };
}

function showDays(metrics: Metrics): (figures: YesterdayFigures) => void {
  const gauge = (name: string, help: string) => metrics.gauge({ name, help })();
  const notAddingUp = gauge(
    'days_not_adding_up',
    'Days that do not add up: the last day of each card program, and earlier days that are not closed.',
  );
  const unchecked = gauge('days_unchecked', 'Card programs whose last day has not been checked yet.');
  return ({ programs, checked, differing, earlier }) => {
    notAddingUp.set(differing.count + earlier.count);
    unchecked.set(programs - checked);
  };
}

function showWebhooks(metrics: Metrics): (figures: WebhookFigures) => void {
  const webhooks = metrics.gauge({
    name: 'webhooks',
    help: 'Webhooks by status: enabled, paused after failures, disabled.',
    labels: ['status'],
  });
  const byStatus = [webhooks('enabled'), webhooks('paused'), webhooks('disabled')] as const;
  const failing = metrics.gauge({
    name: 'webhooks_failing',
    help: 'Webhooks, except disabled ones, whose latest deliveries all failed.',
  })();
  const lag = metrics.gauge({
    name: 'webhook_oldest_undelivered_seconds',
    help: 'Age of the oldest event that has not been sent to its webhook, by the status of the webhook.',
    labels: ['status'],
  });
  const [enabledLag, pausedLag] = [lag('enabled'), lag('paused')];
  const stored = metrics.gauge({
    name: 'webhook_failed_events',
    help: 'Failed events: waiting for a retry, or undelivered after the last one (dead). Each count stops at 10,000.',
    labels: ['state'],
  });
  const [waiting, dead] = [stored('waiting'), stored('dead')];
  return (figures) => {
    byStatus[0].set(figures.enabled);
    byStatus[1].set(figures.paused);
    byStatus[2].set(figures.disabled);
    failing.set(figures.failing);
    enabledLag.set(orZero(figures.enabledLagSeconds));
    pausedLag.set(orZero(figures.pausedLagSeconds));
    waiting.set(figures.retrying);
    dead.set(figures.dead);
  };
}

function showServer(metrics: Metrics): (figures: ServerFigures) => void {
  const gauge = (name: string, help: string) => metrics.gauge({ name, help })();
  const bytes = gauge('database_bytes', 'Size of the database.');
  const connections = gauge(
    'database_connections',
    'Connections to the database server, including connections from other programs.',
  );
  const maxConnections = gauge('database_max_connections', 'Maximum connections of the database server.');
  const waits = gauge('synchronous_replication', 'Whether commits wait for a standby, 1 or 0.');
  const standbys = metrics.gauge({
    name: 'standbys',
    help: 'Standbys that are connected, standbys that commits wait for (synchronous), and how many of those must confirm a commit (required). Absent without the privilege to see standbys (pg_monitor).',
    labels: ['kind'],
  });
  const survives = gauge(
    'primary_loss_survived',
    'Whether a commit made now would survive the loss of the primary, 1 or 0. Absent if PostgreSQL cannot know.',
  );
  const lag = gauge(
    'replication_lag_bytes',
    'WAL that the slowest standby has not replayed yet. Absent without the privilege to see standbys.',
  );
  const lateness = gauge(
    'replication_lag_seconds',
    'Time that the slowest standby took to replay the latest writes, 0 if all are up to date. Absent without the privilege to see standbys.',
  );
  const archives = gauge('archiving', 'Whether the database server archives its WAL, 1 or 0.');
  const failed = gauge(
    'archive_failures',
    'Failed attempts to archive a WAL file since the statistics of PostgreSQL were reset.',
  );
  const lastArchived = gauge('last_archived_timestamp_seconds', 'When a WAL file was last archived.');
  const lastFailed = gauge('last_archive_failure_timestamp_seconds', 'When archiving a WAL file last failed.');
  return (figures) => {
    bytes.set(figures.databaseBytes);
    connections.set(figures.connections);
    maxConnections.set(figures.maxConnections);
    const required = requiredStandbys(figures);
    waits.set(required > 0n ? 1 : 0);
    const { answer } = survivalOf(figures, false);
    if (answer === 'unknown') survives.remove();
    else survives.set(answer === 'yes' ? 1 : 0);
    // Without the privilege to see standbys, 0 would be wrong.
    if (figures.standbyList !== null) {
      standbys('connected').set(figures.standbyList.length);
      standbys('synchronous').set(figures.standbyList.filter(isSynchronous).length);
      standbys('required').set(Number(required));
      lag.set(largestLag(figures.standbyList));
      lateness.set(Math.max(0, ...figures.standbyList.map(({ lagSeconds }) => orZero(lagSeconds))));
    }
    archives.set(figures.archives ? 1 : 0);
    failed.set(figures.archiveFailedCount);
    lastArchived.set(orZero(figures.lastArchivedAt) / 1000);
    lastFailed.set(orZero(figures.lastArchiveFailedAt) / 1000);
  };
}

/** Shows the disks of some directories. A missing directory is omitted. */
function showDisks(metrics: Metrics, directories: Readonly<Record<string, string>>): () => Promise<void> {
  const labels = ['directory'];
  const free = metrics.gauge({ name: 'disk_free_bytes', help: 'Free space on the disk of a directory.', labels });
  const size = metrics.gauge({ name: 'disk_size_bytes', help: 'Size of the disk of a directory.', labels });
  const bound = Object.entries(directories).map(
    ([name, path]): readonly [string, BoundGauge, BoundGauge] => [path, free(name), size(name)] as const,
  );
  return async () => {
    for (const [path, freeBytes, sizeBytes] of bound) {
      const found = await statfs(path).catch(() => undefined);
      if (found === undefined) continue;
      freeBytes.set(found.bavail * found.bsize);
      sizeBytes.set(found.blocks * found.bsize);
    }
  };
}

/**
 * Shows the latest figures of cases and incidents. Old figures are not shown, because they would make it look as if cases did not
 * age.
 */
export function showSupport(metrics: Metrics): (figures: SupportFigures) => void {
  const open = metrics.gauge({
    name: 'cases_open',
    help: 'Cases that are waiting for support, by the urgency of the error and the severity set by the caller.',
    labels: ['urgency', 'severity'],
  });
  const unanswered = metrics.gauge({
    name: 'case_oldest_unanswered_seconds',
    help: 'Age of the oldest open case without a reply from support, by the urgency of the error.',
    labels: ['urgency'],
  });
  const incident = metrics.gauge({
    name: 'incident_oldest_update_seconds',
    help: 'Longest time that an open incident has gone without an update.',
  })();
  const ofLatest = (name: string, help: string) => {
    const gauge = metrics.gauge({ name, help: `${help} (latest 100 resolved cases).`, labels: ['share'] });
    return [gauge('0.5'), gauge('0.9')] as const;
  };
  const response = ofLatest(
    'case_first_response_seconds',
    'Time within which 50 % and 90 % of cases got a first response',
  );
  const resolution = ofLatest('case_resolution_seconds', 'Time within which 50 % and 90 % of cases were resolved');
  const byUrgency = ERROR_URGENCIES.map((byError) => ({
    byError,
    oldest: unanswered(byError),
    bySeverity: SEVERITIES.map((severity) => ({ severity, count: open(byError, severity) })),
  }));
  const counts = byUrgency.flatMap(({ bySeverity }) => bySeverity.map(({ count }) => count));
  const all = [...counts, ...byUrgency.map(({ oldest }) => oldest), incident, ...response, ...resolution];
  const renew = leaveOutOld(metrics, all);
  return (figures) => {
    renew();
    const cases = figures.openCases.map((found) => ({ ...found, ...partsOf(found.urgency) }));
    for (const { byError, oldest, bySeverity } of byUrgency) {
      const own = cases.filter((found) => found.byError === byError);
      // If no case waits, the age is 0, because a gap in a graph would look like a failure.
      oldest.set(Math.max(0, ...own.map(({ unansweredSeconds }) => unansweredSeconds ?? 0)));
      for (const { severity, count } of bySeverity)
        count.set(own.find((found) => found.severity === severity)?.count ?? 0);
    }
    incident.set(figures.incidentUpdateSeconds ?? 0);
    show(response, [figures.firstResponseSeconds, figures.slowFirstResponseSeconds]);
    show(resolution, [figures.resolutionSeconds, figures.slowResolutionSeconds]);
  };
}

/** Shows durations. If there is no case, a duration is absent, because 0 would look like a perfect result. */
function show(gauges: readonly BoundGauge[], values: readonly (number | null)[]): void {
  for (const [place, gauge] of gauges.entries()) {
    const value = values[place] ?? null;
    if (value === null) gauge.remove();
    else gauge.set(value);
  }
}

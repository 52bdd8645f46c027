import type { AttemptStatus } from '../../../domain/processors/attempt.ts';
import { BREAK_KINDS } from '../../../domain/processors/break.ts';
import type { Answer } from '../../../domain/processors/order.ts';
import type { Processors } from '../../calls/processors.ts';
import type { ProcessorFigures } from '../../store/figures.ts';
import { leaveOutOld } from './parts.ts';
import type { BoundCounter, BoundHistogram, Metrics } from './registry.ts';

/** The statuses of an attempt that has not ended. */
const OPEN_STATUSES = [
  'ready',
  'sent',
  'unknown',
  'pending',
  'reversing',
  'attention',
] as const satisfies readonly AttemptStatus[];

/** The label of attempts whose connector is not in the settings of this process. */
const OTHER_CONNECTOR = 'other';

/**
 * Shows the latest figures of attempts and breaks, unless they are old. The labels are the connectors in the settings, so their
 * number is limited.
 */
export function showProcessors(metrics: Metrics, connectorIds: readonly string[]): (figures: ProcessorFigures) => void {
  const open = metrics.gauge({
    name: 'processor_attempts_open',
    help: 'Attempts at processors that are still open, by connector and status.',
    labels: ['connector', 'status'],
  });
  const oldest = metrics.gauge({
    name: 'processor_oldest_unknown_seconds',
    help: 'Longest time that the outcome of an open attempt has been unknown, by connector.',
    labels: ['connector'],
  });
  const breaks = metrics.gauge({
    name: 'processor_breaks_open',
    help: 'Open differences between processors and the books, by kind.',
    labels: ['kind'],
  });
  const oldestBreak = metrics.gauge({
    name: 'processor_oldest_break_seconds',
    help: 'Age of the oldest open difference between processors and the books, by kind.',
    labels: ['kind'],
  });
  const byKind = BREAK_KINDS.map((kind) => ({ kind, count: breaks(kind), age: oldestBreak(kind) }));
  const byConnector = [...connectorIds, OTHER_CONNECTOR].map((connector) => ({
    connector,
    unknown: oldest(connector),
    byStatus: OPEN_STATUSES.map((status) => ({ status, count: open(connector, status) })),
  }));
  const all = [
    ...byKind.flatMap(({ count, age }) => [count, age]),
    ...byConnector.flatMap(({ unknown, byStatus }) => [unknown, ...byStatus.map(({ count }) => count)]),
  ];
  const renew = leaveOutOld(metrics, all);
  return ({ openAttempts, openBreaks }) => {
    renew();
    for (const { kind, count, age } of byKind) {
      const own = openBreaks.find((found) => found.kind === kind);
      count.set(own?.count ?? 0);
      age.set(own?.oldestSeconds ?? 0);
    }
    for (const { connector, unknown, byStatus } of byConnector) {
      const own = openAttempts.filter(({ connectorId: id }) =>
        connector === OTHER_CONNECTOR ? !connectorIds.includes(id) : id === connector,
      );
      // The service does not start while such attempts are open. So there are none, unless another process has different settings.
      if (connector === OTHER_CONNECTOR && own.length === 0) {
        for (const gauge of [unknown, ...byStatus.map(({ count }) => count)]) gauge.remove();
        continue;
      }
      unknown.set(Math.max(0, ...own.map(({ unknownSeconds }) => unknownSeconds ?? 0)));
      for (const { status, count } of byStatus) {
        count.set(own.reduce((sum, found) => sum + (found.status === status ? found.count : 0), 0));
      }
    }
  };
}

export function showConnectors(metrics: Metrics, { statuses }: Pick<Processors, 'statuses'>): void {
  const labels = ['connector'];
  const up = metrics.gauge({
    name: 'connector_up',
    help: 'Whether a connector accepts new transfers, 1 or 0.',
    labels,
  });
  const inFlight = metrics.gauge({
    name: 'connector_calls_in_flight',
    help: 'Calls to a connector that wait for an answer.',
    labels,
  });
  metrics.beforePage(() => {
    for (const { connectorId, state, inFlight: calls } of statuses()) {
      up(connectorId).set(state === 'up' ? 1 : 0);
      inFlight(connectorId).set(calls);
    }
  });
}

export type EndedCall = {
  readonly connectorId: string;
  readonly answer: Pick<Answer, 'outcome'>;
  readonly milliseconds: number;
};

const OUTCOMES = [
  'approved',
  'declined',
  'pending',
  'not_found',
  'reversed',
  'not_executed',
  'not_sent',
  'unknown',
] as const satisfies readonly Answer['outcome'][];

/** Bounds in seconds. A call ends after at most 12 seconds: 2 to connect, and 10 for the answer. */
const CALL_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export type CallCounts = {
  /** Begins the counts of a connector at 0, because a rate misses the first value of a series. */
  readonly begin: (connectorId: string) => void;
  readonly note: (call: EndedCall) => void;
};

export function countCalls(metrics: Metrics): CallCounts {
  const calls = metrics.counter({
    name: 'connector_calls_total',
    help: 'Calls to a connector (orders, inquiries, reversals), by answer.',
    labels: ['connector', 'outcome'],
  });
  const seconds = metrics.histogram(
    { name: 'connector_call_seconds', help: 'Duration of a call to a connector.', labels: ['connector'] },
    CALL_SECONDS,
  );
  type Counts = { readonly time: BoundHistogram; readonly byOutcome: ReadonlyMap<Answer['outcome'], BoundCounter> };
  const known = new Map<string, Counts>();
  const of = (connectorId: string): Counts => {
    const found = known.get(connectorId);
    if (found !== undefined) return found;
    const byOutcome = new Map(OUTCOMES.map((outcome) => [outcome, calls(connectorId, outcome)]));
    for (const count of byOutcome.values()) count.inc(0);
    const counts = { time: seconds(connectorId), byOutcome };
    known.set(connectorId, counts);
    return counts;
  };
  return {
    begin: of,
    note: ({ connectorId, answer, milliseconds }) => {
      const { time, byOutcome } = of(connectorId);
      byOutcome.get(answer.outcome)?.inc();
      time.observe(milliseconds / 1000);
    },
  };
}

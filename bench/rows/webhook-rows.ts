import { median, whole } from '../figures.ts';
import type { Outcome } from '../outcome.ts';
import { DEAD, DELIVERIES_PER_SECOND, type IsolationFigures } from '../webhooks/isolation.ts';
import type { Received } from '../webhooks/run-receiver.ts';

/** The maximum time from the commit of an event to the first byte of its delivery. */
const MAX_MEDIAN_MILLISECONDS = 100;
const MAX_P99_MILLISECONDS = 1000;

/** The maximum factor by which dead webhooks may slow the others down. */
const MAX_RATIO = 1.2;

/** Row 18, which has three targets: deliveries to healthy webhooks next to dead ones. */
export function isolationRows({ webhooks, rounds, ratio, ratios }: IsolationFigures): readonly Outcome[] {
  const row = { row: 18, unit: '', aim: null, notes: [] } as const;
  const figures = (name: keyof Received['lagMilliseconds'], of: readonly Received[]) =>
    of.map(({ lagMilliseconds }) => lagMilliseconds[name]);
  const withDead = rounds['with the dead'];
  const p50 = median(figures('p50', withDead));
  const p99 = median(figures('p99', withDead));
  const against = median(figures('p99', rounds.without));
  return [
    {
      ...row,
      title: `from an event to its webhook, ${DELIVERIES_PER_SECOND} a second to ${whole(webhooks)} webhooks of which ${DEAD} are dead, median`,
      measured: `${whole(p50)} ms`,
      against: `${MAX_MEDIAN_MILLISECONDS} ms`,
      value: p50 / MAX_MEDIAN_MILLISECONDS,
      target: { at: 'most', value: 1 },
      runs: { 'median, ms': figures('p50', withDead) },
    },
    {
      ...row,
      title: 'the same, 99th percentile',
      measured: `${whole(p99)} ms`,
      against: `${whole(MAX_P99_MILLISECONDS)} ms`,
      value: p99 / MAX_P99_MILLISECONDS,
      target: { at: 'most', value: 1 },
      runs: { '99th percentile, ms': figures('p99', withDead), 'at most, ms': figures('maximum', withDead) },
    },
    {
      ...row,
      title: 'the same, against the 99th percentile without the dead',
      measured: `${whole(p99)} ms`,
      against: `${whole(against)} ms`,
      value: ratio,
      target: { at: 'most', value: MAX_RATIO },
      runs: { ratio: ratios, 'without the dead, ms': figures('p99', rounds.without) },
    },
  ];
}

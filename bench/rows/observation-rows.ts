import { short, whole } from '../figures.ts';
import type { Run } from '../measure.ts';
import type { Observation, ObservationRuns } from '../observation.ts';
import type { Outcome } from '../outcome.ts';
import { compare, figures } from './compare.ts';

/** The maximum ratios of CPU time for a transfer, service and PostgreSQL together. */
const MAX_RATIOS = { metrics: 1.01, everything: 1.05 } as const;

const TITLES = {
  metrics: 'CPU time of a transfer, service and PostgreSQL, with metrics, against none',
  everything: 'the same with metrics, every request in the log, and traces',
} as const;

/** Row 21, which has two targets: the costs of observation. */
export function observationRows(runs: ObservationRuns): readonly Outcome[] {
  const costs = (name: Observation) => runs[name].map(costOf);
  return (['metrics', 'everything'] as const).map((name) => {
    const { ratio, ratios } = compare(costs(name), costs('off'));
    const rates = compare(figures(runs[name], 'rate'), figures(runs.off, 'rate'));
    const middle = (values: readonly number[]) =>
      whole(values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN);
    return {
      row: 21,
      title: TITLES[name],
      measured: `${middle(costs(name))} µs`,
      against: `${middle(costs('off'))} µs`,
      value: ratio,
      unit: '',
      target: { at: 'most', value: MAX_RATIOS[name] },
      aim: null,
      runs: { ratio: ratios, 'measured, µs': costs(name), 'against, µs': costs('off') },
      notes: [
        `${ratios.length} pairs: ${ratios.map((one) => one.toFixed(3)).join(', ')}; standard error of their mean ` +
          `${standardError(ratios).toFixed(3)}. Rate: ${short(rates.ratio)} of that without.`,
      ],
    };
  });
}

/** CPU time of a transfer in microseconds, service and PostgreSQL together. */
export function costOf({ serviceMicroseconds, postgresMicroseconds }: Run): number {
  return serviceMicroseconds + postgresMicroseconds;
}

export function standardError(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, values.length - 1);
  return Math.sqrt(variance / values.length);
}

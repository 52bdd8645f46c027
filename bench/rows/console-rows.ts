import type { ConsoleRuns } from '../consoles.ts';
import { median, short, whole } from '../figures.ts';
import type { Outcome } from '../outcome.ts';
import { compare, figures, medianOf } from './compare.ts';
import { costOf, standardError } from './observation-rows.ts';

const MIN_RATE = 0.98;
const MAX_COST = 1.02;

/** Row 22, which has two targets: what ten open consoles cost the transfers beside them. */
export function consoleRows({ ten, none }: ConsoleRuns): readonly Outcome[] {
  const rates = compare(figures(ten, 'rate'), figures(none, 'rate'));
  const costs = compare(ten.map(costOf), none.map(costOf));
  const pairs = ({ ratios }: typeof rates) =>
    `${ratios.length} pairs: ${ratios.map((one) => one.toFixed(3)).join(', ')}; standard error of their mean ` +
    `${standardError(ratios).toFixed(3)}.`;
  return [
    {
      row: 22,
      title: 'transfers beside ten open consoles, against none',
      measured: `${whole(medianOf(ten, 'rate'))}/s`,
      against: `${whole(medianOf(none, 'rate'))}/s`,
      value: rates.ratio,
      unit: '',
      target: { at: 'least', value: MIN_RATE },
      aim: null,
      runs: { ratio: rates.ratios, 'measured, per second': rates.own, 'against, per second': rates.other },
      notes: [pairs(rates)],
    },
    {
      row: 22,
      title: 'the same, processor time of a transfer, service and PostgreSQL',
      measured: `${short(median(costs.own))} µs`,
      against: `${short(median(costs.other))} µs`,
      value: costs.ratio,
      unit: '',
      target: { at: 'most', value: MAX_COST },
      aim: null,
      runs: { ratio: costs.ratios, 'measured, µs': costs.own, 'against, µs': costs.other },
      notes: [pairs(costs)],
    },
  ];
}

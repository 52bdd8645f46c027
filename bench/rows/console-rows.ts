import type { BrowserFigures, ConsoleRuns } from '../consoles.ts';
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

const MAX_PAINT_MILLISECONDS = 500;
const MAX_FIRST_PAGE_MILLISECONDS = 150;
const MAX_MEGABYTES = 50;
const MEGABYTE = 1_000_000;

/** Row 23, which has three targets: the console in a browser. */
export function browserRows(found: BrowserFigures): readonly Outcome[] {
  const row = { row: 23, against: '', aim: null, notes: [] } as const;
  const most = (value: number) => ({ at: 'most', value }) as const;
  const first = found.firstPageBytes / MEGABYTE;
  const last = found.lastPageBytes / MEGABYTE;
  const paint = median(found.largestPaintMilliseconds);
  const page = median(found.firstPageMilliseconds);
  return [
    {
      ...row,
      title: 'the overview of the console: largest contentful paint, nothing in the cache',
      measured: `${short(paint)} ms`,
      value: paint,
      unit: 'ms',
      target: most(MAX_PAINT_MILLISECONDS),
      runs: { 'largest paint, ms': found.largestPaintMilliseconds },
    },
    {
      ...row,
      title: 'from a click to the first page of 100,000 transfers',
      measured: `${short(page)} ms`,
      value: page,
      unit: 'ms',
      target: most(MAX_FIRST_PAGE_MILLISECONDS),
      runs: { 'first page, ms': found.firstPageMilliseconds },
    },
    {
      ...row,
      title: 'memory of the scripts after 200 pages of that list, against after one',
      measured: `${short(last)} MB`,
      against: `${short(first)} MB`,
      value: last,
      unit: 'MB',
      target: most(MAX_MEGABYTES),
      runs: {},
    },
  ];
}

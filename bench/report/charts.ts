import { inWords, short, whole } from '../figures.ts';
import { IDLE } from '../profile.ts';
import { drawBars } from './bar-chart.ts';
import { type Axis, drawLines } from './line-chart.ts';
import type { Results } from './results.ts';

/** A chart as a file. */
export type Chart = { readonly file: string; readonly title: string; readonly svg: string };

/** Draws what was measured. */
export function drawCharts(results: Results): readonly Chart[] {
  const charts = [
    { file: 'rate-by-connections.svg', title: 'Rate by connections', svg: drawConnections(results) },
    { file: 'rate-by-stored-transfers.svg', title: 'Rate by stored transfers', svg: drawGrowth(results) },
    { file: 'latency-percentiles.svg', title: 'Latency percentiles', svg: drawLatencies(results) },
    { file: 'time-of-a-transfer.svg', title: 'Where the time of a transfer goes', svg: drawProfile(results) },
  ];
  return charts.flatMap(({ svg, ...chart }) => (svg === undefined ? [] : [{ ...chart, svg }]));
}

const perSecond = (value: number): string => `${whole(value)}/s`;

function rateAxis(rates: readonly number[]): Axis {
  return { label: 'Transfers per second', ticks: roundTicks(Math.max(...rates)), isLogarithmic: false };
}

/** Zero and three to six round values, the last at or above the most. */
function roundTicks(most: number): Axis['ticks'] {
  const magnitude = 10 ** Math.floor(Math.log10(most));
  const step = [0.2, 0.5, 1, 2].map((factor) => factor * magnitude).find((size) => most / size <= 6) ?? magnitude;
  const count = Math.ceil(most / step);
  return Array.from({ length: count + 1 }, (_, index) => ({ at: index * step, text: whole(index * step) }));
}

function powersOfTwo(most: number): Axis['ticks'] {
  const ticks: { at: number; text: string }[] = [];
  for (let at = 1; at <= most; at *= 2) ticks.push({ at, text: `${at}` });
  return ticks;
}

function drawConnections({ connections, machine }: Results): string | undefined {
  if (connections === null) return undefined;
  return drawLines({
    title: 'Rate by connections',
    subtitle: `Single runs on ${machine.cores} cores, one hot funding account, everything on`,
    x: {
      label: 'Connections, each of which waits for its response',
      ticks: powersOfTwo(Math.max(...connections.map((point) => point.connections))),
      isLogarithmic: true,
    },
    y: rateAxis(connections.map(({ rate }) => rate)),
    series: [{ name: 'create_transfer', points: connections.map((point) => [point.connections, point.rate] as const) }],
    format: perSecond,
  });
}

function drawGrowth({ stored }: Results): string | undefined {
  if (stored === null) return undefined;
  const { growth } = stored;
  return drawLines({
    title: 'Rate by stored transfers',
    subtitle: 'One hot funding account, a thousand cards; the first and the last point are medians',
    x: {
      label: 'Transfers stored',
      ticks: growth.map(({ stored: at }) => ({ at, text: inWords(at) })),
      isLogarithmic: false,
    },
    y: rateAxis(growth.map(({ rate }) => rate)),
    series: [{ name: 'create_transfer', points: growth.map(({ stored: at, rate }) => [at, rate] as const) }],
    format: perSecond,
  });
}

/** Equal steps between 90, 99 and 99.9 %. */
const PERCENTILES = [
  { name: 'p50', at: 2, text: '50 %' },
  { name: 'p90', at: 10, text: '90 %' },
  { name: 'p99', at: 100, text: '99 %' },
  { name: 'p999', at: 1000, text: '99.9 %' },
] as const;

function drawLatencies({ latencies }: Results): string | undefined {
  if (latencies === null) return undefined;
  const named = { hot: 'maximum rate', half: 'half the rate', lone: 'lone caller' } as const;
  const series = (['hot', 'half', 'lone'] as const).map((which) => ({
    name: named[which],
    points: PERCENTILES.map(({ name, at }) => [at, latencies[which][name]] as const),
  }));
  const values = series.flatMap(({ points }) => points.map(([, value]) => value));
  const bounds = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
  const first = bounds.findLast((bound) => bound <= Math.min(...values)) ?? 0.1;
  const last = bounds.find((bound) => bound >= Math.max(...values)) ?? 5000;
  const ticks = bounds.filter((bound) => bound >= first && bound <= last).map((at) => ({ at, text: `${at}` }));
  return drawLines({
    title: 'Latency',
    subtitle: 'Percentiles of create_transfer; half the rate arrives at a constant rate (open loop)',
    x: {
      label: 'Share of requests with a response within this time',
      ticks: PERCENTILES.map(({ at, text }) => ({ at, text })),
      isLogarithmic: true,
    },
    y: { label: 'Milliseconds', ticks, isLogarithmic: true },
    series,
    format: (value) => `${short(value)} ms at 99.9 %`,
  });
}

function drawProfile({ profile }: Results): string | undefined {
  if (profile === null) return undefined;
  return drawBars({
    title: 'Where the time of a transfer goes',
    subtitle: `Main thread of the service at full load. PostgreSQL uses ${whole(profile.postgresMicroseconds)} µs of CPU beside it`,
    bars: profile.parts
      .filter(({ microseconds }) => microseconds >= 0.5)
      .map(({ part, microseconds }) => ({
        name: part,
        value: microseconds,
        text: `${microseconds.toFixed(1)} µs`,
        isMuted: part === IDLE,
      })),
  });
}

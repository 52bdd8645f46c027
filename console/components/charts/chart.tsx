import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { formatCount } from '../../format/amounts.ts';
import { formatMoment } from '../../format/times.ts';
import { axesOf, colorOf, type Series, usePlot } from './plot.ts';

type ChartParts = {
  readonly title: string;
  /** Seconds since 1970 in ascending order, one for each value of each series. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** Formats a value. The default formats a count. */
  readonly format?: (value: number) => string;
  readonly height?: number;
};

/** Draws points only for values without neighbors, because a line can't show them. */
const ALONE: uPlot.Series.Points = {
  show: true,
  size: 5,
  filter: ({ data }, at) => {
    const values = data[at] ?? [];
    const isKnown = (place: number): boolean => typeof values[place] === 'number';
    return [...values.keys()].filter((place) => isKnown(place) && !isKnown(place - 1) && !isKnown(place + 1));
  },
};

export function LineChart({ title, times, series, format = formatCount, height = 160 }: ChartParts) {
  const data = useMemo(
    () => [times, ...series.map(({ values }) => values)] as unknown as uPlot.AlignedData,
    [times, series],
  );
  const [cursor, setCursor] = useState<number | undefined>(undefined);
  const { element, hasFailed } = usePlot(
    (within) => ({
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { size: 6 } },
      hooks: { setCursor: [({ cursor: { idx } }) => setCursor(idx ?? undefined)] },
      scales: { y: { range: (_, __, max) => [0, topOf(max)] } },
      axes: axesOf(within, format),
      series: [{}, ...series.map(({ tone }) => ({ stroke: colorOf(within, tone), width: 1.5, points: ALONE }))],
    }),
    data,
    height,
    [series.map(({ label, tone }) => label + tone).join()],
  );
  return (
    <ChartFigure title={title} times={times} series={series} format={format} at={cursor} isOpen={hasFailed}>
      {!hasFailed && <div ref={element} class={height > 120 ? 'plot' : 'plot low'} aria-hidden="true" />}
    </ChartFigure>
  );
}

export function BarChart({ title, times, series, format = formatCount, height = 160 }: ChartParts) {
  const data = useMemo(() => stacked(times, series), [times, series]);
  const [cursor, setCursor] = useState<number | undefined>(undefined);
  const { element, hasFailed } = usePlot(
    (within, { paths }) => ({
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { show: false } },
      hooks: { setCursor: [({ cursor: { idx } }) => setCursor(idx ?? undefined)] },
      scales: { x: { range: withHalfABar }, y: { range: (_, __, max) => [0, Math.max(topOf(max), 1)] } },
      axes: axesOf(within, format),
      series: [
        {},
        // The highest sums are drawn first, and the lower ones cover their lower parts.
        ...series.toReversed().map(({ tone }) => ({
          stroke: colorOf(within, tone),
          fill: colorOf(within, tone),
          width: 0,
          points: { show: false },
          ...(paths.bars === undefined ? {} : { paths: paths.bars({ size: [0.8, 40] }) }),
        })),
      ],
    }),
    data,
    height,
    [series.map(({ label, tone }) => label + tone).join()],
  );
  return (
    <ChartFigure title={title} times={times} series={series} format={format} at={cursor} isOpen={hasFailed}>
      {!hasFailed && <div ref={element} class={height > 120 ? 'plot' : 'plot low'} aria-hidden="true" />}
    </ChartFigure>
  );
}

/** Returns the top of an axis with some room above the highest value, or 1 if all values are zero or missing. */
function topOf(max: number | null): number {
  return max === null || max <= 0 ? 1 : max * 1.1;
}

/** Returns the times from the start of the first bar to the end of the last. Otherwise uPlot would cut both in half. */
function withHalfABar({ data: [times] }: uPlot, first: number, last: number): [number, number] {
  const half = ((times[1] ?? 0) - (times[0] ?? 0)) / 2;
  return [first - half, last + half];
}

/** Returns the cumulative sums of the series, with the last series first. */
function stacked(times: readonly number[], series: readonly Series[]): uPlot.AlignedData {
  const sums: number[] = times.map(() => 0);
  const rows = series.map(({ values }) => {
    for (const at of sums.keys()) sums[at] = (sums[at] ?? 0) + (values[at] ?? 0);
    return [...sums];
  });
  return [times, ...rows.toReversed()] as unknown as uPlot.AlignedData;
}

const MAX_TABLE_ROWS = 60;

/** Makes a scrolling element focusable, because the keyboard can't scroll it otherwise. */
const scrolling = (label: string) => ({ role: 'region', 'aria-label': label, tabIndex: 0 }) as const;

/** The parts of every chart: the caption, the legend with the values under the pointer, and the numbers as a table. */
function ChartFigure({
  title,
  times,
  series,
  format = formatCount,
  at,
  isOpen,
  children,
}: ChartParts & {
  readonly at: number | undefined;
  readonly isOpen: boolean;
  readonly children: ComponentChildren;
}) {
  const shown = at !== undefined && at < times.length ? at : times.length - 1;
  // Empty if there was no measurement.
  const textOf = (value: number | null | undefined) => (value === null || value === undefined ? '' : format(value));
  const moment = (seconds: number | undefined) =>
    seconds === undefined ? '' : formatMoment(new Date(seconds * 1000).toISOString());
  const first = Math.max(times.length - MAX_TABLE_ROWS, 0);
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        <ul class="legend">
          {series.map(({ label, tone, values }) => (
            <li key={label}>
              <span class={`swatch tone-${tone}`} aria-hidden="true" />
              {label} <b>{textOf(values[shown])}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      {children}
      <details open={isOpen}>
        <summary>Show data</summary>
        <div class="numbers-scroll" {...scrolling(`Data for ${title}`)}>
          <table class="table numbers">
            <thead>
              <tr>
                <th scope="col">Time</th>
                {series.map(({ label }) => (
                  <th key={label} scope="col" class="end">
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.slice(first).map((time, row) => (
                <tr key={time}>
                  <td>{moment(time)}</td>
                  {series.map(({ label, values }) => (
                    <td key={label} class="end">
                      {textOf(values[first + row])}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}

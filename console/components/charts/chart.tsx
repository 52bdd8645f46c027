import { useState } from 'preact/hooks';
import { formatCount } from '../../format/amounts.ts';
import { type Gap, gapsOf, type Series, type Value } from '../../format/charts/paths.ts';
import { formatMoment } from '../../format/times.ts';
import { Plot, type PlotParts } from './plot.tsx';
import './charts.css';

type ChartParts = Pick<PlotParts, 'times' | 'series'> & {
  readonly title: string;
  /** Formats a value. The default formats a count. */
  readonly format?: (value: number) => string;
  /** Whether the values are counts, which is the default. */
  readonly isWhole?: boolean;
  /**
   * Values that are null if nothing was measured at that time. Without them, a time is part of a gap if no series has a value.
   * Latencies need them, because a quiet time has no latency either.
   */
  readonly measured?: readonly Value[];
};

export function LineChart(parts: ChartParts) {
  return <Chart kind="line" {...parts} />;
}

/** Stacks the series. */
export function BarChart(parts: ChartParts) {
  return <Chart kind="bars" {...parts} />;
}

/** The parts of every chart: the caption, the legend with the values under the pointer, the plot, and the numbers as a table. */
function Chart({
  kind,
  title,
  times,
  series,
  format = formatCount,
  isWhole = true,
  measured,
}: ChartParts & Pick<PlotParts, 'kind'>) {
  const [pointed, setPointed] = useState<number | undefined>(undefined);
  const shown = pointed ?? times.length - 1;
  const gaps: readonly Gap[] = gapsOf(times, measured ?? times.map((_, at) => anyOf(series, at)));
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        <ul class="legend">
          {pointed !== undefined && <li>{momentOf(times[pointed])}</li>}
          {series.map(({ label, tone, values }) => (
            <li key={label}>
              <span class={`swatch tone-${tone}`} aria-hidden="true" />
              {label} <b>{textOf(values[shown], format)}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <Plot {...{ kind, times, series, isWhole, format, gaps }} onPoint={setPointed} />
      <Numbers {...{ title, times, series, format }} />
    </figure>
  );
}

function anyOf(series: readonly Series[], at: number): Value {
  return series.map(({ values }) => values[at] ?? null).find((value) => value !== null) ?? null;
}

/** Empty if there was no measurement. */
function textOf(value: Value | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '' : format(value);
}

function momentOf(seconds: number | undefined): string {
  return seconds === undefined ? '' : formatMoment(new Date(seconds * 1000).toISOString());
}

const MAX_TABLE_ROWS = 60;

/** Makes a scrolling element focusable, because the keyboard can't scroll it otherwise. */
const scrolling = (label: string) => ({ role: 'region', 'aria-label': label, tabIndex: 0 }) as const;

function Numbers({
  title,
  times,
  series,
  format,
}: Pick<PlotParts, 'times' | 'series' | 'format'> & { readonly title: string }) {
  const first = Math.max(times.length - MAX_TABLE_ROWS, 0);
  return (
    <details>
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
                <td>{momentOf(time)}</td>
                {series.map(({ label, values }) => (
                  <td key={label} class="end">
                    {textOf(values[first + row], format)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

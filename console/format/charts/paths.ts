/** The color of a series in the theme. */
export type SeriesTone = 'ink' | 'good' | 'waiting' | 'bad' | 'process' | 'quiet' | 'fourth' | 'fifth';

/** A value at one time. Null if nothing was measured, which a chart shows as a gap. */
export type Value = number | null;

export type Series = {
  readonly label: string;
  readonly values: readonly Value[];
  readonly tone: SeriesTone;
};

/** The area that a chart draws in: its size in pixels, the times at its edges, and the value at its upper edge. */
export type Area = {
  readonly width: number;
  readonly height: number;
  readonly first: number;
  readonly last: number;
  readonly top: number;
};

export function xOf(time: number, { first, last, width }: Area): number {
  return last === first ? width / 2 : rounded(((time - first) / (last - first)) * width);
}

export function yOf(value: number, { top, height }: Area): number {
  return rounded(height - (value / top) * height);
}

function rounded(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

/**
 * Returns the path of a line, which is interrupted where there is no value. A value without neighbors is a line of length 0,
 * which a round line cap shows as a dot. `dot` draws it differently.
 */
export function linePath(times: readonly number[], values: readonly Value[], area: Area, dot = 'h0'): string {
  return times
    .flatMap((time, at) => {
      const value = values[at] ?? null;
      if (value === null) return [];
      const point = `${xOf(time, area)} ${yOf(value, area)}`;
      const isFirst = (values[at - 1] ?? null) === null;
      const isAlone = isFirst && (values[at + 1] ?? null) === null;
      return [`${isFirst ? 'M' : 'L'}${point}${isAlone ? dot : ''}`];
    })
    .join('');
}

/** The share of the space between two times that a bar fills. */
const BAR_SHARE = 0.8;
const MAX_BAR_PIXELS = 40;

/** Returns the path of each series of stacked bars. The first series is at the bottom. */
export function barPaths(times: readonly number[], series: readonly Series[], area: Area): string[] {
  const space = xOf(area.first + stepOf(times), area);
  const width = rounded(Math.min(space * BAR_SHARE, MAX_BAR_PIXELS));
  const sums = times.map(() => 0);
  return series.map(({ values }) =>
    times
      .map((time, at) => {
        const bottom = sums[at] ?? 0;
        const value = values[at] ?? 0;
        sums[at] = bottom + value;
        if (value === 0) return '';
        const [low, high] = [yOf(bottom, area), yOf(bottom + value, area)];
        return `M${rounded(xOf(time, area) - width / 2)} ${low}V${high}h${width}V${low}z`;
      })
      .join(''),
  );
}

/** Returns the time between two values, which is equal for all. */
export function stepOf(times: readonly number[]): number {
  return (times[1] ?? 0) - (times[0] ?? 0) || 1;
}

/** Returns the maximum of all values, or of the sums of each time if the series are stacked. */
export function maxOf(series: readonly Series[], areStacked: boolean): number {
  if (!areStacked) return Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const count = series[0]?.values.length ?? 0;
  const sums = Array.from({ length: count }, (_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0));
  return Math.max(0, ...sums);
}

export type Gap = { readonly from: number; readonly to: number };

/** Returns the periods without values, from half an interval after the last value to half an interval before the next one. */
export function gapsOf(times: readonly number[], values: readonly Value[]): Gap[] {
  const half = stepOf(times) / 2;
  const gaps: Gap[] = [];
  for (const [at, time] of times.entries()) {
    if ((values[at] ?? null) !== null) continue;
    const before = gaps.at(-1);
    const isSame = before !== undefined && at > 0 && (values[at - 1] ?? null) === null;
    if (isSame) gaps[gaps.length - 1] = { from: before.from, to: time + half };
    else gaps.push({ from: time - half, to: time + half });
  }
  return gaps;
}

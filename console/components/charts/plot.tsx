import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { timeLabel, timeTicks, valueTicks } from '../../format/charts/axis.ts';
import {
  type Area,
  barPaths,
  type Gap,
  linePath,
  maxOf,
  type Series,
  stepOf,
  xOf,
  yOf,
} from '../../format/charts/paths.ts';

export type PlotParts = {
  readonly kind: 'line' | 'bars';
  /** Seconds since 1970 in ascending order, with equal distances, one for each value of each series. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** Whether the values are counts, so that ticks are whole numbers. */
  readonly isWhole: boolean;
  readonly format: (value: number) => string;
  /** Periods without any measurement. */
  readonly gaps: readonly Gap[];
  /** Called with the index of the time under the pointer, or undefined when the pointer leaves. */
  readonly onPoint: (at: number | undefined) => void;
};

/** The space around the area, in pixels. The left one depends on the labels. */
const TOP = 6;
const RIGHT = 22;
const BOTTOM = 22;
const HEIGHT = 170;
const CHARACTER = 6.7;

/** The space that the label of a time needs. */
const TIME_LABEL = 72;

/** The minimum width of a gap that has a label. */
const LABELED_GAP = 60;

/** A circle. A value between two unknown ones has no line, and a point of its width would be too small to see. */
const DOT = 'm-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0';

/** Draws lines or stacked bars on a grid with labels. The numbers are also in a table, so screen readers skip the drawing. */
export function Plot({ kind, times, series, isWhole, format, gaps, onPoint }: PlotParts) {
  const element = useRef<HTMLDivElement>(null);
  const width = useWidth(element);
  const [pointed, setPointed] = useState<number | undefined>(undefined);
  const values = valueTicks(maxOf(series, kind === 'bars'), isWhole);
  const labels = values.map(format);
  const left = Math.ceil(Math.max(...labels.map(({ length }) => length)) * CHARACTER) + 10;
  const half = kind === 'bars' ? stepOf(times) / 2 : 0;
  const area: Area = {
    width: Math.max(width - left - RIGHT, 1),
    height: HEIGHT - TOP - BOTTOM,
    first: (times[0] ?? 0) - half,
    last: (times.at(-1) ?? 0) + half,
    top: values.at(-1) ?? 1,
  };
  const point = (at: number | undefined) => {
    setPointed(at);
    onPoint(at);
  };
  const follow = ({ clientX, currentTarget }: PointerEvent & { readonly currentTarget: SVGSVGElement }) => {
    const share = (clientX - currentTarget.getBoundingClientRect().left - left) / area.width;
    const at = Math.round((area.first + share * (area.last - area.first) - (times[0] ?? 0)) / stepOf(times));
    point(Math.min(Math.max(at, 0), times.length - 1));
  };
  const pointedTime = pointed === undefined ? undefined : times[pointed];
  return (
    <div ref={element} class="plot">
      {width > 0 && (
        <svg
          viewBox={`0 0 ${width} ${HEIGHT}`}
          aria-hidden="true"
          onPointerMove={follow}
          onPointerLeave={() => point(undefined)}
        >
          <g transform={`translate(${left} ${TOP})`}>
            <Gaps gaps={gaps} area={area} />
            <Grid area={area} values={values} labels={labels} />
            <Lines kind={kind} times={times} series={series} area={area} />
            {pointedTime !== undefined && (
              <path class="plot-pointer" d={`M${xOf(pointedTime, area)} 0V${area.height}`} />
            )}
          </g>
        </svg>
      )}
    </div>
  );
}

/** Shows that there is no data, which is different from 0. */
function Gaps({ gaps, area }: { readonly gaps: readonly Gap[]; readonly area: Area }) {
  return (
    <>
      {gaps.map(({ from, to }) => {
        const start = xOf(Math.max(from, area.first), area);
        const end = xOf(Math.min(to, area.last), area);
        return (
          <g key={from} class="plot-gap">
            <rect x={start} y={0} width={end - start} height={area.height} />
            {end - start >= LABELED_GAP && (
              <text x={(start + end) / 2} y={area.height / 2}>
                no data
              </text>
            )}
          </g>
        );
      })}
    </>
  );
}

function Grid({
  area,
  values,
  labels,
}: {
  readonly area: Area;
  readonly values: readonly number[];
  readonly labels: readonly string[];
}) {
  const { width, height, first, last } = area;
  const { times, stepSeconds } = timeTicks(first, last, Math.floor(width / TIME_LABEL));
  const across = values.map((value) => `M0 ${yOf(value, area)}h${width}`);
  const down = times.map((time) => `M${xOf(time, area)} 0v${height}`);
  return (
    <>
      <path class="plot-grid" d={[...across, ...down].join('')} />
      <path class="plot-axis" d={`M0 ${height}h${width}`} />
      {values.map((value, at) => (
        <text key={value} class="plot-value" x={-8} y={yOf(value, area)}>
          {labels[at]}
        </text>
      ))}
      {times.map((time) => (
        <text key={time} class="plot-time" x={xOf(time, area)} y={height + 15}>
          {timeLabel(time, stepSeconds)}
        </text>
      ))}
    </>
  );
}

function Lines({ kind, times, series, area }: Pick<PlotParts, 'kind' | 'times' | 'series'> & { readonly area: Area }) {
  const paths =
    kind === 'bars' ? barPaths(times, series, area) : series.map(({ values }) => linePath(times, values, area, DOT));
  return (
    <>
      {series.map(({ label, tone }, at) => (
        <path key={label} class={`plot-${kind} tone-${tone}`} d={paths[at] ?? ''} />
      ))}
    </>
  );
}

/** Returns the width of an element in pixels, and 0 before it is known. */
function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const within = element.current;
    if (within === null) return;
    const sizes = new ResizeObserver(() => setWidth(within.clientWidth));
    sizes.observe(within);
    setWidth(within.clientWidth);
    return () => sizes.disconnect();
  }, []);
  return width;
}

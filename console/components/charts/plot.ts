import { useEffect, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

/** The color of a series in the theme. */
export type SeriesTone = 'ink' | 'good' | 'waiting' | 'bad' | 'process' | 'quiet' | 'fourth' | 'fifth';

export type Series = {
  readonly label: string;
  readonly values: readonly (number | null)[];
  readonly tone: SeriesTone;
};

/** Returns the color of a CSS variable in the current theme, because a canvas can't use variables. */
export function colorOf(within: Element, tone: SeriesTone | 'line' | 'quiet'): string {
  const probe = document.createElement('span');
  probe.className = `tone-${tone}`;
  within.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

export type Plotter = typeof uPlot;

let plotter: Promise<Plotter> | undefined;

/** Loads the charting library once. Screens show their numbers before it arrives. */
function loadPlotter(): Promise<Plotter> {
  plotter ??= import('uplot').then((loaded) => loaded.default);
  return plotter;
}

/**
 * Draws a plot into an element, and redraws it when its options, the width of the element or the theme change. `hasFailed` is
 * true if the browser can't draw charts: uPlot throws in browsers with a language that it doesn't support.
 */
export function usePlot(
  make: (within: HTMLElement, plotter: Plotter) => Omit<uPlot.Options, 'width' | 'height'>,
  data: uPlot.AlignedData,
  height: number,
  deps: readonly unknown[],
) {
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(data);
  latest.current = data;
  const [loaded, setLoaded] = useState<{ readonly plotter: Plotter } | 'failed' | undefined>(undefined);
  useEffect(() => {
    loadPlotter().then(
      (found) => setLoaded({ plotter: found }),
      () => setLoaded('failed'),
    );
  }, []);
  useEffect(() => {
    const within = element.current;
    if (within === null || loaded === undefined || loaded === 'failed') return;
    const draw = () => {
      plot.current?.destroy();
      const options = { ...make(within, loaded.plotter), width: Math.max(within.clientWidth, 50), height };
      plot.current = new loaded.plotter(options, latest.current, within);
    };
    draw();
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(within.clientWidth, 50), height }));
    sizes.observe(within);
    const scheme = window.matchMedia('(prefers-color-scheme: dark)');
    const themes = new MutationObserver(draw);
    themes.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    scheme.addEventListener('change', draw);
    return () => {
      sizes.disconnect();
      themes.disconnect();
      scheme.removeEventListener('change', draw);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [height, loaded, ...deps]);
  useEffect(() => plot.current?.setData(data), [data]);
  return { element, hasFailed: loaded === 'failed' };
}

/** Returns the axes of every chart: quiet lines, times below, numbers on the left. */
export function axesOf(within: Element, format: (value: number) => string): uPlot.Axis[] {
  const [line, quiet] = [colorOf(within, 'line'), colorOf(within, 'quiet')];
  const font = '11px "Inter Variable", system-ui, sans-serif';
  const grid = { stroke: line, width: 1 };
  return [
    {
      stroke: quiet,
      font,
      grid: { show: false },
      ticks: { stroke: line, width: 1, size: 4 },
      size: 28,
      space: 64,
      values: (_, splits) => timesOf(splits),
    },
    {
      stroke: quiet,
      font,
      grid,
      ticks: { show: false },
      size: 52,
      values: (_, values) => withoutRepeats(values.map(format)),
    },
  ];
}

/** Removes repeated labels, which rounding causes for small numbers. */
function withoutRepeats(labels: readonly string[]): string[] {
  return labels.map((label, at) => (label === labels[at - 1] ? '' : label));
}

const DAY_SECONDS = 86_400;

/** Returns the labels of the time axis: times, or dates if each label is on a different day. */
function timesOf(splits: readonly number[]): string[] {
  const [first = 0, second = 0] = splits;
  const options: Intl.DateTimeFormatOptions =
    second - first >= DAY_SECONDS
      ? { day: 'numeric', month: 'short' }
      : { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', ...(second - first < 60 ? { second: '2-digit' } : {}) };
  return splits.map((seconds) => new Date(seconds * 1000).toLocaleString('en-GB', options));
}

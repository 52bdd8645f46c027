import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

/** What a series looks like: a colour of the theme. */
export type SeriesTone = 'ink' | 'good' | 'waiting' | 'bad' | 'process' | 'quiet' | 'fourth' | 'fifth';

/** One series of numbers over the times of its chart. */
export type Series = {
  readonly label: string;
  readonly values: readonly (number | null)[];
  readonly tone: SeriesTone;
};

/** The colour that CSS gives to a variable in the present theme: a canvas knows no variables. */
export function colorOf(within: Element, tone: SeriesTone | 'line' | 'quiet'): string {
  const probe = document.createElement('span');
  probe.className = `tone-${tone}`;
  within.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Draws a plot into an element, again when its options change, the element gets another width, or the theme changes. */
export function usePlot(
  make: (within: HTMLElement) => Omit<uPlot.Options, 'width' | 'height'>,
  data: uPlot.AlignedData,
  height: number,
  deps: readonly unknown[],
) {
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  useEffect(() => {
    const within = element.current;
    if (within === null) return;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot({ ...make(within), width: Math.max(within.clientWidth, 50), height }, data, within);
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
  }, [height, ...deps]);
  useEffect(() => plot.current?.setData(data), [data]);
  return element;
}

/** The axes of every chart: quiet lines, the clock below, numbers at the left. */
export function axesOf(within: Element, format: (value: number) => string): uPlot.Axis[] {
  const [line, quiet] = [colorOf(within, 'line'), colorOf(within, 'quiet')];
  const font = '11px system-ui, sans-serif';
  const grid = { stroke: line, width: 1 };
  return [
    { stroke: quiet, font, grid: { show: false }, ticks: { stroke: line, width: 1, size: 4 }, size: 28 },
    { stroke: quiet, font, grid, ticks: { show: false }, size: 52, values: (_, values) => values.map(format) },
  ];
}

import { colourOf, escapeText, frame } from './line-chart.ts';

/** Bars beside each other's beginnings, the longest first. */
export type BarChart = {
  readonly title: string;
  readonly subtitle: string;
  readonly bars: readonly {
    readonly name: string;
    readonly value: number;
    readonly text: string;
    /** Shown in grey: part of the whole, but not what the chart is about. */
    readonly isMuted: boolean;
  }[];
};

const TOP = 92;
const STEP = 32;
const LEFT = 250;
const LONGEST = 500;

/** Writes a chart of bars as an SVG file that stands by itself. */
export function drawBars({ title, subtitle, bars }: BarChart): string {
  const most = Math.max(...bars.map(({ value }) => value));
  return frame(
    title,
    subtitle,
    TOP + bars.length * STEP + 20,
    bars.map(({ name, value, text, isMuted }, index) => {
      const y = TOP + index * STEP;
      const width = Math.max(2, Math.round((value / most) * LONGEST));
      return (
        `<text x="${LEFT - 14}" y="${y + 15}" text-anchor="end">${escapeText(name)}</text>` +
        `<rect x="${LEFT}" y="${y}" width="${width}" height="21" rx="4" style="fill: ${isMuted ? 'var(--axis)' : colourOf(0)}"/>` +
        `<text class="number" x="${LEFT + width + 10}" y="${y + 15}">${escapeText(text)}</text>`
      );
    }),
  );
}

import { type Area, linePath, type SeriesTone, type Value } from '../../format/charts/paths.ts';
import './charts.css';

const WIDTH = 120;
const HEIGHT = 28;

/** Keeps the line off the edges. */
const MARGIN = 3;

/** Shows how a number has changed, without axes. It is interrupted where the number is unknown. The last value has a dot. */
export function Sparkline({
  values,
  floor,
  tone,
}: {
  readonly values: readonly Value[];
  /** The minimum value at the upper edge, so that a tiny change doesn't look large. */
  readonly floor: number;
  readonly tone: SeriesTone;
}) {
  const times = values.map((_, at) => at);
  const area: Area = {
    width: WIDTH - 2 * MARGIN,
    height: HEIGHT - 2 * MARGIN,
    first: 0,
    last: values.length - 1,
    top: Math.max(floor, ...values.map((value) => value ?? 0)),
  };
  const lastOnly = values.map((value, at) => (at === values.length - 1 ? value : null));
  return (
    <svg class={`sparkline tone-${tone}`} viewBox={`${-MARGIN} ${-MARGIN} ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <path class="sparkline-base" d={`M0 ${area.height}h${area.width}`} />
      <path d={linePath(times, values, area)} />
      <path class="sparkline-end" d={linePath(times, lastOnly, area)} />
    </svg>
  );
}

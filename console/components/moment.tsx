import { useAhead, useTicks } from '../data/clock.ts';
import { formatAgo, formatDistance, formatMoment, formatShort, formatUtc } from '../format/times.ts';

/**
 * Shows a time in the user's time zone, with UTC in the tooltip. Three options show less, and move the full time to the tooltip.
 * `distance` shows only how long ago the time was. `short` does the same for times of the last day. `clock` shortens the time, for
 * lists in order of time. `actual` is for times that don't follow the sandbox clock (audit log, errors, requests, sessions,
 * deliveries): they are labeled while that clock is moved.
 */
export function Moment({
  at,
  distance = false,
  short = false,
  clock = false,
  actual = false,
}: {
  readonly at: string | null | undefined;
  readonly distance?: boolean;
  readonly short?: boolean;
  readonly clock?: boolean;
  readonly actual?: boolean;
}) {
  const ahead = useAhead();
  useTicks(distance || short);
  if (at === null || at === undefined) return <span class="quiet none">–</span>;
  const now = Date.now() + (actual ? 0 : ahead);
  const whole = `${formatMoment(at)} here, ${formatUtc(at)}`;
  const text = distance ? formatDistance(at, now) : short ? formatAgo(at, now) : clock ? formatShort(at, now) : '';
  return (
    <time class="moment" dateTime={at} title={text === '' ? formatUtc(at) : whole}>
      {text === '' ? formatMoment(at) : text}
      {actual && ahead !== 0 && !distance && <small class="quiet"> actual time</small>}
    </time>
  );
}

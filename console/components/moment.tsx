import { useAhead, useTicks } from '../data/clock.ts';
import { formatAgo, formatDistance, formatMoment, formatShort, formatUtc } from '../format/times.ts';

/**
 * Shows a time in the user's time zone, with UTC in the tooltip. `distance` shows how long ago it was instead. `short` is for
 * lists: it shows how long ago a time of the last day was. `clock` is for lists of what happened after each other. All three have the full
 * time in the tooltip. `actual` is for times that don't follow the sandbox clock (audit log, errors,
 * requests, sessions, deliveries): they are labeled while that clock is moved.
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

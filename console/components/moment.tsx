import { useAhead } from '../data/clock.ts';
import { formatDistance, formatMoment, formatShort, formatUtc } from '../format/times.ts';

/**
 * A moment in the time zone of the reader, with UTC in its title. `distance` says how long ago it was, instead; `short` is for
 * lists, with all of it in the title. `actual` marks a time of the audit log, an error, a request, a session or a delivery:
 * it is not by the clock of the sandbox, and says so where that was moved.
 */
export function Moment({
  at,
  distance = false,
  short = false,
  actual = false,
}: {
  readonly at: string | null | undefined;
  readonly distance?: boolean;
  readonly short?: boolean;
  readonly actual?: boolean;
}) {
  const ahead = useAhead();
  if (at === null || at === undefined) return <span class="quiet">–</span>;
  const now = Date.now() + (actual ? 0 : ahead);
  const whole = `${formatMoment(at)} here, ${formatUtc(at)}`;
  const text = distance ? formatDistance(at, now) : short ? formatShort(at, now) : formatMoment(at);
  return (
    <time class="moment" dateTime={at} title={distance || short ? whole : formatUtc(at)}>
      {text}
      {actual && ahead !== 0 && !distance && <small class="quiet"> actual time</small>}
    </time>
  );
}

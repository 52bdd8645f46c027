import { formatDistance, formatMoment, formatUtc } from '../format/times.ts';

/** A moment in the time zone of the reader, with UTC in its title. `distance` says how long ago it was, instead. */
export function Moment({
  at,
  distance = false,
}: {
  readonly at: string | null | undefined;
  readonly distance?: boolean;
}) {
  if (at === null || at === undefined) return <span class="quiet">–</span>;
  return (
    <time class="moment" dateTime={at} title={distance ? `${formatMoment(at)} here, ${formatUtc(at)}` : formatUtc(at)}>
      {distance ? formatDistance(at, Date.now()) : formatMoment(at)}
    </time>
  );
}

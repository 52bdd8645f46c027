import { useAhead, useNow } from '../data/clock.ts';
import { hrefTo, useLocation } from '../data/location.ts';
import { useSession } from '../data/session.ts';
import { formatDuration, formatMoment } from '../format/times.ts';
import { findRoute } from './routes.ts';

/** Shown on every screen while the clock of the sandbox is moved; says which clock the times on the screen follow. */
export function ClockBanner() {
  const ahead = useAhead();
  const now = useNow();
  const { path } = useLocation();
  const { can } = useSession();
  if (ahead === 0) return null;
  const isActual = findRoute(path)?.route.hasActualTimes === true;
  return (
    <div class="banner clock">
      <p>
        <b>The clock of this sandbox is {formatDuration(ahead)} ahead</b>: it is{' '}
        {formatMoment(new Date(now).toISOString()).replace(/:\d\d$/, '')} there.{' '}
        {isActual && 'Times on this screen are actual times. '}
        {can('move_clock') && <a href={hrefTo('/console/sandbox')}>Move it back</a>}
      </p>
    </div>
  );
}

import { StoppedSetting } from '../components/name.tsx';
import { useAhead, useNow } from '../data/clock.ts';
import { hrefTo, useLocation, workedCase } from '../data/location.ts';
import { useSession } from '../data/session.ts';
import { useOperation } from '../data/use-operation.ts';
import { pathOf, shortId } from '../format/ids.ts';
import { settingKey } from '../format/operators/switch.ts';
import { formatDuration, formatMoment } from '../format/times.ts';
import { findRoute } from './routes.ts';

/** Appears on every screen while the sandbox clock is moved, and says which clock the times on the screen follow. */
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

const POLL_MILLISECONDS = 5_000;
const MAX_ENTRIES = 3;

/** Shows on every screen what the switch has stopped, and why. */
export function SwitchBanner() {
  const { can } = useSession();
  const { data } = useOperation(can('get_switch') ? (api, options) => api.switch.get(options) : undefined, {
    isOwn: true,
    pollMilliseconds: POLL_MILLISECONDS,
  });
  const disabled = (data?.data ?? []).filter((entry) => entry.disabled);
  if (disabled.length === 0) return null;
  return (
    <div class="banner" role="status">
      {disabled.slice(0, MAX_ENTRIES).map((setting) => (
        <p key={settingKey(setting)}>
          <StoppedSetting setting={setting} />. <a href={hrefTo('/console/switch')}>Open the switch</a>
        </p>
      ))}
      {disabled.length > MAX_ENTRIES && <p>And {disabled.length - MAX_ENTRIES} more.</p>}
    </div>
  );
}

/** Appears on screens that support opens from a case: the audit log names the case in each action there. */
export function CaseBanner() {
  const { path, query } = useLocation();
  const caseId = workedCase(query);
  if (caseId === undefined) return null;
  const caseHref = hrefTo(pathOf(caseId) ?? '');
  if (caseHref.startsWith(path)) return null;
  const without = new URLSearchParams(query);
  without.delete('case');
  return (
    <div class="banner case">
      <p>
        You are working on <a href={caseHref}>the case {shortId(caseId)}</a>. The audit log records it with each of your
        actions. <a href={without.size === 0 ? path : `${path}?${without}`}>Leave the case</a>
      </p>
    </div>
  );
}

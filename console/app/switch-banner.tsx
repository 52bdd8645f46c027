import { Moment } from '../components/moment.tsx';
import { KeyName, SwitchSetting } from '../components/name.tsx';
import { hrefTo } from '../data/location.ts';
import { useSession } from '../data/session.ts';
import { useOperation } from '../data/use-operation.ts';
import { settingKey } from '../format/operators/switch.ts';

const POLL_MILLISECONDS = 5_000;
const MAX_ENTRIES = 3;

/** Says on every screen what the switch has stopped, and why. */
export function SwitchBanner() {
  const { can } = useSession();
  const { data } = useOperation(can('get_switch') ? (api, options) => api.switch.get(options) : undefined, {
    pollMilliseconds: POLL_MILLISECONDS,
  });
  const disabled = (data?.data ?? []).filter((entry) => entry.disabled);
  if (disabled.length === 0) return null;
  return (
    <div class="banner" role="status">
      {disabled.slice(0, MAX_ENTRIES).map(({ reason, actor, since, until, ...setting }) => (
        <p key={settingKey(setting)}>
          <b>
            <SwitchSetting setting={setting} starts plain /> {setting.scope === 'service' ? 'is' : 'are'} stopped
          </b>
          {reason !== null && <>: {reason}</>}
          {' ('}
          <KeyName id={actor} plain />, <Moment at={since} short />
          {until !== null && (
            <>
              , until <Moment at={until} />
            </>
          )}
          ). <a href={hrefTo('/console/switch')}>Open the switch</a>
        </p>
      ))}
      {disabled.length > MAX_ENTRIES && <p>And {disabled.length - MAX_ENTRIES} more.</p>}
    </div>
  );
}

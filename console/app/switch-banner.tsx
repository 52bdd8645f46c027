import { StoppedSetting } from '../components/name.tsx';
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

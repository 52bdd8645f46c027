import { Moment } from '../components/moment.tsx';
import { hrefTo } from '../data/location.ts';
import { useSession } from '../data/session.ts';
import { useOperation } from '../data/use-operation.ts';

const POLL_MILLISECONDS = 5_000;
const MAX_ENTRIES = 3;

const NAMES = { load: 'Loads', unload: 'Unloads', card_to_card: 'Transfers from card to card' } as const;

/** Says on every screen what the switch has disabled, and why. */
export function SwitchBanner() {
  const { can } = useSession();
  const { data } = useOperation(can('get_switch') ? (api, options) => api.switch.get(options) : undefined, {
    pollMilliseconds: POLL_MILLISECONDS,
  });
  const disabled = (data?.data ?? []).filter((entry) => entry.disabled);
  if (disabled.length === 0) return null;
  return (
    <div class="banner" role="status">
      {disabled.slice(0, MAX_ENTRIES).map(({ scope, program_id: programId, type, reason, until }) => (
        <p key={`${programId} ${type}`}>
          <b>
            {scope === 'service' ? 'Everything is disabled' : type === null ? 'All transfers' : NAMES[type]}
            {programId !== null && (
              <>
                {' '}
                of <ProgramName programId={programId} /> are disabled
              </>
            )}
          </b>
          {reason !== null && <>: {reason}</>}
          {until !== null && (
            <>
              {' '}
              (until <Moment at={until} />)
            </>
          )}
          . <a href={hrefTo('/console/switch')}>Open the switch</a>
        </p>
      ))}
      {disabled.length > MAX_ENTRIES && <p>And {disabled.length - MAX_ENTRIES} more.</p>}
    </div>
  );
}

/** The name of a card program, with its id in the title; the id where the name is not known. */
function ProgramName({ programId }: { readonly programId: string }) {
  const { data } = useOperation((api, options) => api.programs.get(programId, options), { deps: [programId] });
  return <span title={programId}>{data?.name ?? programId}</span>;
}

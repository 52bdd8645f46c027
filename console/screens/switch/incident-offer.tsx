import { useState } from 'preact/hooks';
import type { IncidentRecord, SwitchRecord } from '../../../sdk/client.ts';
import { Button } from '../../components/button.tsx';
import { IncidentDialog } from '../../components/support/incident-dialog.tsx';
import { EndIncidentDialog } from '../../components/support/resolution.tsx';
import { hrefTo } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { pathOf } from '../../format/ids.ts';
import { draftOfStop, incidentsOfSwitch } from '../../format/support/incidents.ts';

/** A setting that was just stopped or restarted on this screen. */
export type Changed = { readonly setting: SwitchRecord; readonly programName: string };

type Parts = {
  readonly changed: Changed;
  /** Called when there is nothing more to offer. */
  readonly onDone: () => void;
};

/** After a stop, offers to open an incident for callers. After a restart, offers to end that incident. */
export function IncidentOffer(parts: Parts) {
  const { can } = useSession();
  const { changed } = parts;
  if (!changed.setting.disabled) return can('resolve_incident') ? <Ending {...parts} /> : null;
  return can('create_incident') ? <Opening {...parts} /> : null;
}

function Opening({ changed: { setting, programName }, onDone }: Parts) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <p class="notice" role="status">
        Stopped. Tell the affected callers? <Button onClick={() => setOpen(true)}>Open an incident…</Button>{' '}
        <Button kind="quiet" onClick={onDone}>
          No
        </Button>
      </p>
      {isOpen && (
        <IncidentDialog
          draft={draftOfStop(setting, programName, setting.reason ?? '')}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

function Ending({ changed: { setting }, onDone }: Parts) {
  const [ending, setEnding] = useState<IncidentRecord | undefined>(undefined);
  const { data } = useOperation((api, options) => api.incidents.list({ status: 'open', limit: 100 }, options), {
    deps: [setting],
    isOwn: true,
  });
  const caused = incidentsOfSwitch(data?.data ?? [], setting);
  if (caused.length === 0) return null;
  return (
    <>
      {caused.map((incident) => (
        <p key={incident.incident_id} class="notice" role="status">
          Restarted. The incident <a href={hrefTo(pathOf(incident.incident_id) ?? '')}>{incident.title}</a> is still
          open. <Button onClick={() => setEnding(incident)}>End the incident…</Button>{' '}
          <Button kind="quiet" onClick={onDone}>
            Not yet
          </Button>
        </p>
      ))}
      {ending !== undefined && (
        <EndIncidentDialog incident={ending} onDone={onDone} onClose={() => setEnding(undefined)} />
      )}
    </>
  );
}

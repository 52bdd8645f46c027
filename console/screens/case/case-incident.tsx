import { useState } from 'preact/hooks';
import type { CaseRecord, IncidentRecord } from '../../../sdk/client.ts';
import { Button } from '../../components/button.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { IncidentDialog } from '../../components/support/incident-dialog.tsx';
import { hrefTo } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';
import { pathOf } from '../../format/ids.ts';
import { draftOfCases, uncoveredText } from '../../format/support/incidents.ts';
import { findIncident } from '../incident/incident-screen.tsx';
import type { ShownCase } from './use-case.ts';

type Parts = {
  readonly record: ShownCase;
  readonly onDone: (text: string) => void;
};

/** Shows the incident of a case, or else open incidents that cover it, or else a button to open one. */
export function CaseIncident({ record, onDone }: Parts) {
  const { incident_id: id, inspected, status } = record;
  if (id !== null) return <Known incidentId={id} />;
  if (inspected === null || status === 'resolved' || status === 'closed') return null;
  const { incidents } = inspected;
  if (incidents.length > 0) return <Covering record={record} incidents={incidents} onDone={onDone} />;
  return inspected.similar.length > 0 && record.code !== null ? (
    <OpenIncident cases={[record, ...inspected.similar]} />
  ) : null;
}

/** Shows the incident of a case by its title. Every key that it affects can read it. */
function Known({ incidentId }: { readonly incidentId: string }) {
  const { can } = useSession();
  const { data } = useOperation((api, options) => findIncident(api, incidentId, can('inspect_incident'), options), {
    deps: [incidentId],
    isOwn: true,
  });
  const incident = data?.record;
  return (
    <p class="case-incident">
      Part of the incident <a href={hrefTo(pathOf(incidentId) ?? '')}>{incident?.title ?? 'that it was attached to'}</a>
      {incident?.status === 'open' && ', which continues'}.
    </p>
  );
}

function Covering({ record, incidents, onDone }: Parts & { readonly incidents: readonly IncidentRecord[] }) {
  const attach = useAction(({ id }: { readonly id: string }, api, options) =>
    api.incidents.attach(id, [record.case_id], options),
  );
  const run = async ({ incident_id: id, title }: IncidentRecord) => {
    const attached = await attach.run({ id });
    if (attached === undefined) return;
    onDone(`Attached to the incident “${title}”.${uncoveredText(1, attached.uncovered_case_ids.length)}`);
  };
  return (
    <ul class="concerns" aria-label="Incidents that cover it">
      {incidents.map((incident, at) => (
        <li key={incident.incident_id}>
          The incident <a href={hrefTo(pathOf(incident.incident_id) ?? '')}>{incident.title}</a> covers this error.{' '}
          <Button onClick={() => void run(incident)} pending={attach.pending} shortcut={at === 0 ? 'a' : undefined}>
            Attach
          </Button>
        </li>
      ))}
      {attach.error !== undefined && (
        <li>
          <ErrorRecord error={attach.error} />
        </li>
      )}
    </ul>
  );
}

function OpenIncident({ cases }: { readonly cases: readonly CaseRecord[] }) {
  const { can } = useSession();
  const [isOpen, setOpen] = useState(false);
  if (!can('create_incident')) return null;
  return (
    <>
      <p class="case-incident">
        Other cases have the same error. <Button onClick={() => setOpen(true)}>Open an incident…</Button>
      </p>
      {isOpen && <IncidentDialog draft={draftOfCases(cases)} onClose={() => setOpen(false)} />}
    </>
  );
}

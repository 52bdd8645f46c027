import type { IncidentRecord } from '../../../sdk/client.ts';
import { hrefTo } from '../../data/location.ts';
import { useProgramId } from '../../data/program.ts';
import { useOperation } from '../../data/use-operation.ts';
import { pathOf } from '../../format/ids.ts';
import { type CoveredError, covers } from '../../format/support/incidents.ts';
import { ProgramName } from '../name.tsx';

export function Coverage({
  incident: { scope, program_id: programId, operation, codes },
}: {
  readonly incident: Pick<IncidentRecord, 'scope' | 'program_id' | 'operation' | 'codes'>;
}) {
  return (
    <span>
      {scope === 'all' && 'Everything'}
      {scope === 'program' && <ProgramName id={programId} plain />}
      {scope === 'operation' && <code>{operation}</code>}
      {codes.length > 0 && ': '}
      {codes.map((code, at) => (
        <span key={code}>
          {at > 0 && ', '}
          <a href={`/errors/${encodeURIComponent(code)}`}>{code}</a>
        </span>
      ))}
    </span>
  );
}

/** The maximum number of open incidents to check. There are few. */
const MAX_INCIDENTS = 100;

/** Shows the open incidents that cover an error: the problem is known, and the callers are notified when it is over. */
export function KnownIncident({ error }: { readonly error: CoveredError }) {
  const chosen = useProgramId();
  const { data } = useOperation(
    (api, options) => api.incidents.list({ status: 'open', limit: MAX_INCIDENTS }, options),
    { isOwn: true },
  );
  const program_id = error.program_id ?? chosen ?? null;
  const known = (data?.data ?? []).filter((incident) => covers(incident, { ...error, program_id }));
  if (known.length === 0) return null;
  return (
    <ul class="concerns" aria-label="Known incidents">
      {known.map(({ incident_id: id, title, public_text: text }) => (
        <li key={id}>
          Known incident: <a href={hrefTo(pathOf(id) ?? '')}>{title}</a>. {text}
        </li>
      ))}
    </ul>
  );
}

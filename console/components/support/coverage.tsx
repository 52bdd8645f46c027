import type { IncidentRecord } from '../../../sdk/client.ts';
import { ProgramName } from '../name.tsx';

/** What an incident covers, each code with its page. */
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

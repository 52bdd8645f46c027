import type { InspectedErrorRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Details } from '../../components/details.tsx';
import { Id, LinkedText } from '../../components/id.tsx';
import { Moment } from '../../components/moment.tsx';
import { ProgramName } from '../../components/name.tsx';
import { useNow } from '../../data/clock.ts';
import { sentenceCase } from '../../format/names.ts';
import { responseText, subjectOf, urgencyOf } from '../../format/support/cases.ts';
import { ErrorCause, ErrorDetails } from '../request/error-details.tsx';
import { Around, Similar } from './around.tsx';
import { CaseIncident } from './case-incident.tsx';
import { CaseTransfer } from './case-transfer.tsx';
import type { ShownCase } from './use-case.ts';

/** What happened, one sentence first, and everything around it that support has to know. */
export function Story({ record, onDone }: { readonly record: ShownCase; readonly onDone: (text: string) => void }) {
  const { snapshot, transfer_id: transferId, inspected } = record;
  const error = errorOf(record);
  const summary = snapshot?.summary ?? subjectOf(record);
  return (
    <>
      <p class={`answer ${toneOf(record)}`}>
        <LinkedText text={summary} programId={record.program_id} />
      </p>
      <CaseIncident record={record} onDone={onDone} />
      {error !== null && <ErrorDetails error={error} />}
      <Facts record={record} />
      {error !== null && <ErrorCause code={error.code} />}
      {transferId !== null && <CaseTransfer transferId={transferId} onDone={onDone} />}
      {error !== null && <Around error={error} />}
      {inspected !== null && <Similar cases={inspected.similar} />}
    </>
  );
}

/** The error of the snapshot; card programs see it without checks and causes. */
function errorOf({ snapshot, inspected, program_id }: ShownCase): InspectedErrorRecord | null {
  if (inspected !== null) return inspected.snapshot?.error ?? null;
  const error = snapshot?.error ?? null;
  return error === null ? null : { ...error, program_id, caller: null, checks: null, causes: [] };
}

function toneOf({ money_moved: moved, type }: ShownCase): 'unknown' | 'fault' | 'declined' | '' {
  if (moved === 'unknown') return 'unknown';
  if (type === 'Server Error') return 'fault';
  return type === null ? '' : 'declined';
}

const MONEY = { yes: 'Moved', no: 'Not moved', unknown: 'Not known' } as const;

function Facts({ record }: { readonly record: ShownCase }) {
  const now = useNow();
  const { snapshot, code, request_id: requestId, transfer_id: transferId, program_id: programId } = record;
  const { word, tone } = urgencyOf(record);
  return (
    <Details
      facts={[
        record.money_moved !== null && ['Money', MONEY[record.money_moved]],
        record.inspected !== null && [
          'Urgency',
          <Badge key="urgency" tone={tone}>
            {word}
          </Badge>,
        ],
        ['Severity for the caller', sentenceCase(record.severity)],
        ['First response', responseText(record, now)],
        ['Card program', <ProgramName key="program" id={programId} />],
        record.operation !== null && ['Operation', record.operation],
        code !== null && [
          'Error',
          <a key="code" href={`/errors/${encodeURIComponent(code)}`}>
            {code}
          </a>,
        ],
        snapshot?.received_at != null && ['Received', <Moment key="received" at={snapshot.received_at} actual />],
        requestId !== null && ['Request', <Id key="request" id={requestId} kind="request" />],
        transferId !== null && ['Transfer', <Id key="transfer" id={transferId} programId={programId} />],
      ]}
    />
  );
}

import './case.css';
import { useState } from 'preact/hooks';
import type { CaseRecord, IncidentRecord, InspectedErrorRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Details } from '../../components/details.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { Id, LinkedText } from '../../components/id.tsx';
import { later } from '../../components/later.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { ProgramName } from '../../components/name.tsx';
import { Page } from '../../components/page.tsx';
import { useNow } from '../../data/clock.ts';
import { hrefTo, type Parameters } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';
import { pathOf } from '../../format/ids.ts';
import { sentenceCase } from '../../format/names.ts';
import { withoutAdvice } from '../../format/support/advice.ts';
import { responseText, subjectOf, URGENCY_TONES, urgencyReason } from '../../format/support/cases.ts';
import { draftOfCases, uncoveredText } from '../../format/support/incidents.ts';
import { findIncident } from '../incident/find-incident.ts';
import { ErrorDetails, WhatToDo } from '../request/error-details.tsx';
import { Around, Similar } from './around.tsx';
import { Conversation, type ShownCase, useCase } from './conversation.tsx';

const CaseTransfer = later(async () => (await import('./case-transfer.tsx')).CaseTransfer);
const IncidentDialog = later(async () => (await import('../../components/support/incident-dialog.tsx')).IncidentDialog);

/** Shows a case: the story on the left, which starts with a one-sentence summary, and the conversation on the right. */
export function CaseScreen({ parameters }: { readonly parameters: Parameters }) {
  const id = parameters.case_id ?? '';
  const state = useCase(id);
  const [done, setDone] = useState('');
  const onDone = (text: string) => {
    setDone(text);
    state.reload();
  };
  return (
    <Page title={state.data === undefined ? 'Case' : subjectOf(state.data)} lead={<Id id={id} kind="other" whole />}>
      <p class={done === '' ? 'hidden' : 'notice'} role="status">
        {done}
      </p>
      <Loaded state={state}>
        {(record) => (
          <div class="beside case">
            <div class="beside-part">
              <Story record={record} onDone={onDone} />
            </div>
            <div class="beside-part">
              <Conversation record={record} onDone={onDone} />
            </div>
          </div>
        )}
      </Loaded>
    </Page>
  );
}

/** Says what happened in one sentence, followed by everything else that support needs. */
function Story({ record, onDone }: { readonly record: ShownCase; readonly onDone: (text: string) => void }) {
  const { snapshot, transfer_id: transferId, inspected } = record;
  const error = errorOf(record);
  const side = inspected === null ? 'caller' : 'support';
  const fullSummary = snapshot?.summary ?? subjectOf(record);
  const summary = side === 'support' ? withoutAdvice(fullSummary) : fullSummary;
  return (
    <>
      <p class={`answer ${toneOf(record)}`}>
        <LinkedText text={summary} programId={record.program_id} />
      </p>
      <CaseIncident record={record} onDone={onDone} />
      {record.code !== null && <WhatToDo about={{ ...record, code: record.code }} side={side} />}
      <Facts record={record} />
      {error !== null && <ErrorDetails error={error} />}
      {transferId !== null && <CaseTransfer transferId={transferId} onDone={onDone} />}
      {error !== null && <Around error={error} />}
      {inspected !== null && <Similar cases={inspected.similar} />}
    </>
  );
}

/** Returns the error that was stored with the case. Card programs see it without checks and causes. */
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
  const { snapshot, inspected, code, request_id: requestId, transfer_id: transferId, program_id: programId } = record;
  return (
    <Details
      facts={[
        record.money_moved !== null && ['Money', MONEY[record.money_moved]],
        inspected === null
          ? ['Severity', sentenceCase(record.severity)]
          : [
              'Urgency',
              <span key="urgency">
                <Badge tone={URGENCY_TONES[inspected.urgency]}>{inspected.urgency}</Badge> {urgencyReason(record)}
              </span>,
            ],
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

type IncidentParts = {
  readonly record: ShownCase;
  readonly onDone: (text: string) => void;
};

/** Shows the incident of a case, or else open incidents that cover it, or else a button to open one. */
function CaseIncident({ record, onDone }: IncidentParts) {
  const { incident_id: id, inspected, status } = record;
  if (id !== null) return <Known incidentId={id} />;
  if (inspected === null || status === 'resolved' || status === 'closed') return null;
  const { incidents } = inspected;
  if (incidents.length > 0) return <Covering record={record} incidents={incidents} onDone={onDone} />;
  return inspected.similar.length > 0 && record.code !== null ? (
    <OpenIncident cases={[record, ...inspected.similar]} />
  ) : null;
}

/** Shows the incident of a case by its title. Every key that the incident affects can read the title. */
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

function Covering({ record, incidents, onDone }: IncidentParts & { readonly incidents: readonly IncidentRecord[] }) {
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

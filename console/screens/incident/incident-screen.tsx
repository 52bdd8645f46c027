import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Details } from '../../components/details.tsx';
import { Empty, Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Coverage } from '../../components/support/coverage.tsx';
import { EditIncidentDialog } from '../../components/support/incident-dialog.tsx';
import { EndIncidentDialog } from '../../components/support/resolution.tsx';
import type { Parameters } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { type OperationState, useOperation } from '../../data/use-operation.ts';
import { OUTCOMES } from '../../format/support/cases.ts';
import { findIncident, type ShownIncident } from './find-incident.ts';
import { IncidentCases } from './incident-cases.tsx';

/** Shows an incident: the messages for callers, the notes for operators, and its cases. */
export function IncidentScreen({ parameters }: { readonly parameters: Parameters }) {
  const state = useIncident(parameters.incident_id ?? '');
  const [done, setDone] = useState('');
  const [open, setOpen] = useState<'edit' | 'end' | undefined>(undefined);
  const { can } = useSession();
  const shown = state.data ?? undefined;
  const inspected = shown?.inspected ?? null;
  const close = () => setOpen(undefined);
  const onDone = (text: string) => {
    close();
    setDone(text);
    state.reload();
  };
  const isOpen = inspected?.status === 'open';
  return (
    <Page
      title={shown?.record.title ?? 'Incident'}
      actions={
        isOpen && (
          <>
            {can('update_incident') && <Button onClick={() => setOpen('edit')}>Edit</Button>}
            {can('resolve_incident') && <Button onClick={() => setOpen('end')}>End the incident…</Button>}
          </>
        )
      }
    >
      <p class={done === '' ? 'hidden' : 'notice'} role="status">
        {done}
      </p>
      <Loaded state={state}>
        {(found) =>
          found === null ? (
            <Empty title="Incident not found">It does not exist or does not affect your card program.</Empty>
          ) : (
            <IncidentContent shown={found} onDone={onDone} />
          )
        }
      </Loaded>
      {open === 'edit' && inspected !== null && (
        <EditIncidentDialog incident={inspected} onDone={onDone} onClose={close} />
      )}
      {open === 'end' && inspected !== null && (
        <EndIncidentDialog incident={inspected} onDone={onDone} onClose={close} />
      )}
    </Page>
  );
}

function IncidentContent({
  shown: { record, inspected },
  onDone,
}: {
  readonly shown: ShownIncident;
  readonly onDone: (text: string) => void;
}) {
  const { status, public_text: text, outcome, resolution, started_at: start, resolved_at: end } = record;
  return (
    <>
      <div class={status === 'open' ? 'answer unknown' : 'answer'}>
        <b>{status === 'open' ? 'This incident is ongoing.' : 'This incident is over.'}</b>
        <p class="message-text">{text}</p>
      </div>
      {outcome !== null && (
        <Section title="Outcome">
          <p class="message-text">
            <b>{OUTCOMES[outcome]}.</b> {resolution}
          </p>
        </Section>
      )}
      <Details
        facts={[
          ['Covers', <Coverage key="covers" incident={record} />],
          ['Began', <Moment key="began" at={start} />],
          ['Changed', <Moment key="changed" at={record.updated_at} distance />],
          end !== null && ['Ended', <Moment key="ended" at={end} />],
          inspected !== null && [
            'Opened by',
            inspected.created_by === 'sandbox' ? 'A local caller' : inspected.created_by,
          ],
        ]}
      />
      {inspected?.internal_text != null && (
        <Section title="Only for operators">
          <p class="message-text">{inspected.internal_text}</p>
        </Section>
      )}
      {inspected !== null && <IncidentCases incident={inspected} onDone={onDone} />}
    </>
  );
}

const POLL_MILLISECONDS = 5_000;

function useIncident(incidentId: string): OperationState<ShownIncident | null> {
  const { can } = useSession();
  const isSupport = can('inspect_incident');
  return useOperation((api, options) => findIncident(api, incidentId, isSupport, options), {
    deps: [incidentId, isSupport],
    pollMilliseconds: POLL_MILLISECONDS,
  });
}

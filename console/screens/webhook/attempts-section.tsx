import { useState } from 'preact/hooks';
import type { AttemptRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Empty } from '../../components/empty.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { Id } from '../../components/id.tsx';
import { Loading } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Section } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { usePages } from '../../data/use-pages.ts';
import { formatDuration } from '../../format/times.ts';

const POLL_MILLISECONDS = 5_000;

/** What was sent to a webhook and the responses, newest first; any event can be sent again. */
export function AttemptsSection({ webhookId }: { readonly webhookId: string }) {
  const { can } = useSession();
  const [resending, setResending] = useState<AttemptRecord | undefined>(undefined);
  const attempts = usePages(
    (api, options, cursor) => api.webhooks.attempts(webhookId, { limit: 50, cursor }, options),
    { deps: [webhookId], pollMilliseconds: POLL_MILLISECONDS },
  );
  const actions: readonly Column<AttemptRecord>[] = can('resend_event')
    ? [
        {
          title: 'Actions',
          cell: (attempt) =>
            // A test is not a stored event: there is nothing to send again.
            attempt.kind === 'test' ? null : (
              <span class="row-actions">
                <Button title={`Resend ${attempt.event_id}`} onClick={() => setResending(attempt)}>
                  Resend
                </Button>
              </span>
            ),
        },
      ]
    : [];
  return (
    <Section title="Attempts">
      {attempts.error !== undefined && <ErrorRecord error={attempts.error} stale={attempts.isLoaded} />}
      {!attempts.isLoaded && attempts.error === undefined && <Loading />}
      {attempts.isLoaded && (
        <DataTable
          label="Attempts"
          rows={attempts.rows}
          rowKey={(attempt) => attempt.attempt_id}
          stale={attempts.stale && attempts.error !== undefined}
          columns={[...COLUMNS, ...actions]}
          empty={<Empty title="Nothing was sent yet">Send a test event, or wait for the next event.</Empty>}
        />
      )}
      <Pager {...attempts.pager} />
      {resending !== undefined && (
        <ResendDialog webhookId={webhookId} attempt={resending} onClose={() => setResending(undefined)} />
      )}
    </Section>
  );
}

const COLUMNS: readonly Column<AttemptRecord>[] = [
  { title: 'When', cell: ({ started_at }) => <Moment at={started_at} /> },
  {
    title: 'Event',
    cell: ({ type, event_id }) => (
      <span>
        {type} <Id id={event_id} kind="event" />
      </span>
    ),
  },
  { title: 'Why', cell: (attempt) => (attempt.try > 1 ? `${attempt.kind}, try ${attempt.try}` : attempt.kind) },
  { title: 'Result', cell: (attempt) => <Result attempt={attempt} /> },
  {
    title: 'Took',
    cell: ({ milliseconds }) => <span class="duration">{formatDuration(milliseconds)}</span>,
    align: 'end',
    wideOnly: true,
  },
];

function Result({ attempt }: { readonly attempt: AttemptRecord }) {
  const { succeeded, status, error, message, response_start: start } = attempt;
  const word = status === null ? (error ?? 'no response') : String(status);
  return (
    <div>
      <Badge tone={succeeded ? 'good' : 'bad'}>{word}</Badge>
      {message !== null && <div class="quiet">{message}</div>}
      {start !== null && start !== '' && (
        <details>
          <summary>Response</summary>
          <pre class="answer">{start}</pre>
        </details>
      )}
    </div>
  );
}

function ResendDialog({
  webhookId,
  attempt,
  onClose,
}: {
  readonly webhookId: string;
  readonly attempt: AttemptRecord;
  readonly onClose: () => void;
}) {
  const resend = useAction((eventId: string, api, options) =>
    api.webhooks.resend(webhookId, { event_id: eventId }, options),
  );
  const submit = async () => {
    if ((await resend.run(attempt.event_id)) === undefined) return;
    onClose();
  };
  return (
    <ConfirmDialog
      title="Send an event again"
      confirm="Send it again"
      pending={resend.pending}
      error={resend.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <p>
        The event {attempt.type} <Id id={attempt.event_id} kind="event" /> is sent once more, whatever became of it. The
        receiver tells by its id that it is the same.
      </p>
    </ConfirmDialog>
  );
}

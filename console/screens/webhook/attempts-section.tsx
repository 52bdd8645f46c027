import { useState } from 'preact/hooks';
import type { AttemptQuery, AttemptRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { Filters, PeriodFilter } from '../../components/filters.tsx';
import { Id } from '../../components/id.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Section } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { given, usePages } from '../../data/use-pages.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { boundsOf, formatDuration } from '../../format/times.ts';
import { beginningOf, isStatusFilter, kindText, resultText } from '../../format/webhooks.ts';

const POLL_MILLISECONDS = 5_000;

const NO_FILTER = { result: '', status: '', period: '', from: '', to: '' };

/** Lists the requests to a webhook and their responses, newest first. Any event can be sent again. */
export function AttemptsSection({ webhookId }: { readonly webhookId: string }) {
  const { can } = useSession();
  const [resending, setResending] = useState<AttemptRecord | undefined>(undefined);
  const [filter, setFilter] = useUrlState(NO_FILTER);
  const { result, status } = filter;
  const isStatus = isStatusFilter(status);
  const isFiltered = Object.values(filter).some((value) => value !== '');
  const attempts = usePages(
    (api, options, cursor) => {
      const { from, to } = boundsOf(filter, Date.now());
      const query = given({
        succeeded: result === 'failed' ? 'false' : result === 'succeeded' ? 'true' : '',
        status: isStatus ? status : '',
        started_from: from,
        started_to: to,
      });
      return api.webhooks.attempts(webhookId, { limit: 50, cursor, ...(query as AttemptQuery) }, options);
    },
    {
      deps: [webhookId, result, isStatus && status, filter.period, filter.from, filter.to],
      pollMilliseconds: POLL_MILLISECONDS,
    },
  );
  const actions: readonly Column<AttemptRecord>[] = can('resend_event')
    ? [
        {
          title: 'Actions',
          onPhone: 'note',
          cell: (attempt) =>
            // A test is not a stored event, so it can't be sent again.
            attempt.kind === 'test' ? null : (
              <span class="row-actions">
                <Button title={`Resend ${attempt.type}`} onClick={() => setResending(attempt)}>
                  Resend
                </Button>
              </span>
            ),
        },
      ]
    : [];
  return (
    <Section title="Attempts">
      <Filters onClear={isFiltered ? () => setFilter(NO_FILTER) : undefined}>
        <SelectField
          label="Result"
          value={result}
          onChange={(chosen) => setFilter({ result: chosen })}
          options={[
            ['', 'Any'],
            ['failed', 'Failed'],
            ['succeeded', 'Delivered'],
          ]}
        />
        <StatusField value={status} onInput={(typed) => setFilter({ status: typed }, { replace: true })} />
        <PeriodFilter label="Sent" isActual value={filter} onChange={setFilter} />
      </Filters>
      <PagedTable
        pages={attempts}
        label="Attempts"
        rowKey={(attempt) => attempt.attempt_id}
        columns={[SENT, ...COLUMNS, ...actions]}
        empty={
          isFiltered ? (
            <Empty title="No such attempts">Remove a filter to see more.</Empty>
          ) : (
            <Empty title="Nothing sent yet">Send a test event, or wait for the next event.</Empty>
          )
        }
      />
      {resending !== undefined && <ResendDialog attempt={resending} onClose={() => setResending(undefined)} />}
    </Section>
  );
}

export function StatusField({ value, onInput }: { readonly value: string; readonly onInput: (typed: string) => void }) {
  const isValid = value === '' || isStatusFilter(value);
  return (
    <TextField
      label="Status"
      value={value}
      placeholder="404, 5xx or none"
      problem={isValid ? undefined : 'Enter a status such as 404 or 5xx, or none for no response.'}
      onInput={(typed) => onInput(typed.trim().toLowerCase())}
    />
  );
}

export const SENT: Column<AttemptRecord> = {
  title: 'Sent',
  onPhone: 'note',
  cell: ({ started_at }) => <Moment at={started_at} short actual />,
};

/** The columns for the event, why it was sent, and the result. */
export const COLUMNS: readonly Column<AttemptRecord>[] = [
  {
    title: 'Event',
    onPhone: 'title',
    cell: ({ type, event_id }) => (
      <span>
        {type} <Id id={event_id} kind="event" />
      </span>
    ),
  },
  { title: 'Attempt', onPhone: 'note', cell: kindText },
  { title: 'Result', onPhone: 'value', cell: (attempt) => <Result attempt={attempt} /> },
  {
    title: 'Took',
    cell: ({ milliseconds }) => <span class="duration">{formatDuration(milliseconds)}</span>,
    align: 'end',
  },
];

function Result({ attempt }: { readonly attempt: AttemptRecord }) {
  const { succeeded, message, response_start: start } = attempt;
  return (
    <div>
      <Badge tone={succeeded ? 'good' : 'bad'}>{resultText(attempt)}</Badge>
      <div class="attempt-more">
        {message !== null && <div class="quiet">{message}</div>}
        {start !== null && start !== '' && (
          <details>
            <summary>Response: {beginningOf(start)}</summary>
            <pre class="answer">{start}</pre>
          </details>
        )}
      </div>
    </div>
  );
}

/** Sends the event of an attempt again. Set `ofAll` to resend as an operator, for any card program. */
export function ResendDialog({
  attempt,
  ofAll = false,
  onClose,
}: {
  readonly attempt: AttemptRecord;
  readonly ofAll?: boolean;
  readonly onClose: () => void;
}) {
  const { webhook_id: webhookId } = attempt;
  const resend = useAction((eventId: string, api, options) =>
    ofAll
      ? api.operatorWebhooks.resend(webhookId, { event_id: eventId }, options)
      : api.webhooks.resend(webhookId, { event_id: eventId }, options),
  );
  const submit = async () => {
    if ((await resend.run(attempt.event_id)) === undefined) return;
    onClose();
  };
  return (
    <ConfirmDialog
      title={`Resend ${attempt.type}`}
      confirm="Resend event"
      pending={resend.pending}
      error={resend.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <p>
        The event <Id id={attempt.event_id} kind="event" /> is sent again, even if it was already delivered. The
        receiver recognizes it by its id.
      </p>
    </ConfirmDialog>
  );
}

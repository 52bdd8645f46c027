import { useState } from 'preact/hooks';
import type { AttemptRecord, FailedAttemptQuery } from '../../../sdk/client.ts';
import { Button } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { SelectField } from '../../components/field.tsx';
import { Filters, PeriodFilter } from '../../components/filters.tsx';
import { Empty } from '../../components/loaded.tsx';
import { ProgramName, WebhookName } from '../../components/name.tsx';
import { Page } from '../../components/page.tsx';
import { PagedList } from '../../components/paged-list.tsx';
import { useProgramId } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { given, usePages } from '../../data/use-pages.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { boundsOf } from '../../format/times.ts';
import { failuresText, isStatusFilter } from '../../format/webhooks.ts';
import { COLUMNS, ResendDialog, SENT, StatusField } from '../webhook/attempts-section.tsx';

const POLL_MILLISECONDS = 5_000;

const NO_FILTER = { status: '', period: 'day', from: '', to: '', programs: '' };

/** Lists failed deliveries of all webhooks: of every card program for operators, of their card program for other callers. */
export function FailedWebhooksScreen() {
  const { can } = useSession();
  const chosen = useProgramId();
  const [filter, setFilter] = useUrlState(NO_FILTER);
  const [resending, setResending] = useState<AttemptRecord | undefined>(undefined);
  const { period, from, to, programs } = filter;
  const status = isStatusFilter(filter.status) ? filter.status : '';
  const ofAll = can('list_operator_failed_attempts');
  const programId = !ofAll || programs === 'chosen' ? chosen : undefined;
  const attempts = usePages<AttemptRecord>(
    (api, options, cursor) => {
      const bounds = boundsOf(filter, Date.now());
      const query: FailedAttemptQuery = {
        limit: 50,
        ...given({ cursor, status, started_from: bounds.from, started_to: bounds.to }),
      };
      if (!ofAll) return api.webhooks.failedAttempts(query, options);
      return api.operatorWebhooks.failedAttempts({ ...query, ...given({ program_id: programId }) }, options);
    },
    { deps: [ofAll, programId, status, period, from, to], pollMilliseconds: POLL_MILLISECONDS },
  );
  const isFiltered = Object.entries(NO_FILTER).some(([name, value]) => filter[name as keyof typeof filter] !== value);
  const actions: readonly Column<AttemptRecord>[] = can(ofAll ? 'resend_operator_event' : 'resend_event')
    ? [
        {
          title: 'Actions',
          onPhone: 'note',
          cell: (attempt) =>
            // A test is not a stored event, so it can't be sent again.
            attempt.kind !== 'test' && (
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
    <Page title="Failed webhooks" lead="Failed attempts of all webhooks.">
      <Filters onClear={isFiltered ? () => setFilter(NO_FILTER) : undefined}>
        <PeriodFilter label="Sent" isActual value={filter} onChange={setFilter} />
        <StatusField value={filter.status} onInput={(typed) => setFilter({ status: typed }, { replace: true })} />
        {ofAll && (
          <SelectField
            label="Card program"
            value={programs}
            onChange={(value) => setFilter({ programs: value })}
            options={[
              ['', 'All'],
              ['chosen', 'The chosen program'],
            ]}
          />
        )}
      </Filters>
      <PagedList pages={attempts}>
        {(rows, stale) => (
          <>
            {rows.length > 0 && (
              <p class="answer">{failuresText(rows, attempts.pager.page === 1 && !attempts.pager.hasNext)}</p>
            )}
            <div class="brief">
              <DataTable
                label="Failed attempts, newest first"
                rows={rows}
                rowKey={({ attempt_id: id }) => id}
                stale={stale}
                columns={[SENT, WEBHOOK, ...WITHOUT_DURATION, ...(ofAll ? [PROGRAM] : []), ...actions]}
                empty={<Empty title="Nothing failed">Choose a longer period, or remove a filter, to see more.</Empty>}
              />
            </div>
          </>
        )}
      </PagedList>
      {resending !== undefined && (
        <ResendDialog attempt={resending} ofAll={ofAll} onClose={() => setResending(undefined)} />
      )}
    </Page>
  );
}

/** The columns without the duration, to leave room for the names. */
const WITHOUT_DURATION = COLUMNS.filter(({ title }) => title !== 'Took');

const WEBHOOK: Column<AttemptRecord> = {
  title: 'Webhook',
  onPhone: 'note',
  // A webhook of all card programs has no screen, so it is not a link.
  cell: ({ webhook_id: id, program_id: programId }) => (
    <WebhookName id={id} programId={programId} linked={programId !== null} plain />
  ),
};

const PROGRAM: Column<AttemptRecord> = {
  title: 'Program',
  cell: ({ program_id: id }) => (id === null ? <span class="quiet">all</span> : <ProgramName id={id} plain />),
};

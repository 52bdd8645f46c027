import { useState } from 'preact/hooks';
import type { OperatorAttemptRecord, SearchAttemptsQuery } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { SelectField } from '../../components/field.tsx';
import { Filters } from '../../components/filters.tsx';
import { LinkedText } from '../../components/id.tsx';
import { later } from '../../components/later.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { KeyName, ProgramName } from '../../components/name.tsx';
import { Section } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { hrefTo } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { given, usePages } from '../../data/use-pages.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { pathOf } from '../../format/ids.ts';
import { sentenceCase } from '../../format/names.ts';
import { ATTEMPT_WORDS, attemptWord, canBeResolved, orderOf } from '../../format/operators/processors.ts';

const ResolveDialog = later(async () => (await import('../../components/dialogs/resolve-dialog.tsx')).ResolveDialog);

const PAGE_ROWS = 20;
const POLL_MILLISECONDS = 5_000;

const NO_FILTER = { status: '', connector_id: '', unsettled_at: '', of_program: '' };

type Status = NonNullable<SearchAttemptsQuery['status']>;

const STATUS_OPTIONS: readonly (readonly [value: string, text: string])[] = [
  ['', 'Needs attention'],
  ['open', 'All open'],
  ...Object.entries(ATTEMPT_WORDS)
    .filter(([status]) => status !== 'attention')
    .map(([status, { word }]) => [status, sentenceCase(word)] as const),
];

/** Lists the attempts of all card programs, oldest first. It starts with the attempts that need attention. */
export function AttemptQueue({
  connectorIds,
  onDone,
}: {
  readonly connectorIds: readonly string[];
  readonly onDone: (text: string) => void;
}) {
  const { can } = useSession();
  const [filter, setFilter] = useUrlState(NO_FILTER);
  const [resolving, setResolving] = useState<OperatorAttemptRecord | undefined>(undefined);
  const isKnown = STATUS_OPTIONS.some(([value]) => value !== '' && value === filter.status);
  const status = isKnown ? (filter.status as Status) : 'attention';
  const { unsettled_at: unsettledAt, of_program: programId } = filter;
  const isUnsettled = unsettledAt !== '';
  const attempts = usePages<OperatorAttemptRecord>(
    (api, options, cursor) => {
      const query = given({ cursor, connector_id: filter.connector_id });
      const chosen = isUnsettled ? { unsettled_at: unsettledAt, program_id: programId } : { status };
      return api.attempts.search({ limit: PAGE_ROWS, ...chosen, ...query }, options);
    },
    { deps: [filter], pollMilliseconds: POLL_MILLISECONDS },
  );
  const close = () => setResolving(undefined);
  return (
    <Section title="Transfers at processors">
      {isUnsettled && (
        <p>
          Transfers of <ProgramName id={programId} /> that were approved and in no settlement file and no break at{' '}
          <Moment at={unsettledAt} />.
        </p>
      )}
      <Filters onClear={isUnsettled ? () => setFilter(NO_FILTER) : undefined}>
        {!isUnsettled && (
          <SelectField
            label="Status"
            value={isKnown ? filter.status : ''}
            onChange={(chosen) => setFilter({ status: chosen })}
            options={STATUS_OPTIONS}
          />
        )}
        <SelectField
          label="Connector"
          value={filter.connector_id}
          onChange={(chosen) => setFilter({ connector_id: chosen })}
          options={[['', 'Any'], ...connectorIds.map((id) => [id, id] as const)]}
        />
      </Filters>
      <PagedTable
        pages={attempts}
        canRetry
        label="Transfers at processors"
        columns={can('resolve_attempt') ? [...COLUMNS, actionOf(setResolving)] : COLUMNS}
        rowKey={({ attempt_id: id }) => id}
        href={hrefOf}
        empty={
          status === 'attention' && !isUnsettled ? (
            <Empty title="Nothing needs attention">The service resolves all other transfers itself.</Empty>
          ) : (
            <Empty title="None">Choose another status or connector.</Empty>
          )
        }
      />
      {resolving !== undefined && (
        <ResolveDialog
          attempt={resolving}
          onDone={(text) => {
            close();
            onDone(text);
            attempts.reload();
          }}
          onClose={close}
        />
      )}
    </Section>
  );
}

function hrefOf({ transfer_id: id, program_id: program }: OperatorAttemptRecord): string {
  return hrefTo(pathOf(id) ?? '', { program });
}

const COLUMNS: readonly Column<OperatorAttemptRecord>[] = [
  {
    title: 'Transfer',
    onPhone: 'title',
    cell: (row) => <a href={hrefOf(row)}>{sentenceCase(orderOf(row))}</a>,
  },
  {
    title: 'Status',
    onPhone: 'value',
    cell: ({ status }) => <Badge tone={attemptWord(status).tone}>{attemptWord(status).word}</Badge>,
  },
  {
    title: 'Unknown since',
    onPhone: 'note',
    cell: ({ unknown_since: since, created_at: at }) =>
      since === null ? (
        <span class="quiet">
          made <Moment at={at} distance />
        </span>
      ) : (
        <Moment at={since} distance />
      ),
  },
  { title: 'Next', onPhone: 'note', cell: ({ next_at: at }) => <Moment at={at} distance /> },
  {
    title: 'What is known',
    onPhone: 'note',
    cell: ({ detail, code, processor_reference: reference, resolved_by: by, program_id: programId }) => (
      <>
        {detail !== null && <LinkedText text={detail} programId={programId} />}
        {code !== null && <div class="quiet">Code {code}</div>}
        {reference !== null && <div class="quiet">Their reference {reference}</div>}
        {by !== null && (
          <div class="quiet">
            Resolved by <KeyName id={by} plain />
          </div>
        )}
      </>
    ),
  },
  { title: 'Connector', onPhone: 'note', cell: ({ connector_id: id }) => id },
  { title: 'Program', cell: ({ program_id: id }) => <ProgramName id={id} plain /> },
];

function actionOf(onResolve: (attempt: OperatorAttemptRecord) => void): Column<OperatorAttemptRecord> {
  return {
    title: 'Actions',
    onPhone: 'note',
    cell: (attempt) =>
      canBeResolved(attempt.status) && (
        <span class="row-actions">
          <Button title={`Resolve the ${orderOf(attempt)}`} onClick={() => onResolve(attempt)}>
            Resolve…
          </Button>
        </span>
      ),
  };
}

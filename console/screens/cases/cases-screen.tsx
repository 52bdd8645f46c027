import type { ComponentChildren } from 'preact';
import { type CaseRecord, type IncidentRecord, isErrorCode, type QueuedCase } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import type { Column } from '../../components/data-table.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { Filters } from '../../components/filters.tsx';
import { LinkedText } from '../../components/id.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { ProgramName } from '../../components/name.tsx';
import { Page } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { ContactSupport, hrefOfCase } from '../../components/support/contact-support.tsx';
import { useNow } from '../../data/clock.ts';
import { useProgram } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { given, usePages } from '../../data/use-pages.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { withoutAdvice } from '../../format/support/advice.ts';
import {
  responseText,
  STATUS_TONES,
  statusOf,
  subjectOf,
  URGENCY_TONES,
  urgencyReason,
} from '../../format/support/cases.ts';

const PAGE_ROWS = 50;
const POLL_MILLISECONDS = 5_000;
const MAX_INCIDENTS = 100;

const NO_FILTER = { status: '', code: '', incident: '', programs: '' };

type Filter = typeof NO_FILTER;

const STATUSES = ['open', 'waiting', 'resolved', 'closed'] as const;

/** For support, the queue with the most urgent case first. For card programs, their cases with the newest first. */
export function CasesScreen() {
  const { can } = useSession();
  const [filter, setFilter] = useUrlState(NO_FILTER);
  const isSupport = can('search_cases');
  const isFiltered = Object.values(filter).some((value) => value !== '');
  return (
    <Page title="Cases" actions={<ContactSupport />}>
      <Filters onClear={isFiltered ? () => setFilter(NO_FILTER) : undefined}>
        <SelectField
          label="Status"
          value={filter.status}
          onChange={(status) => setFilter({ status })}
          options={
            isSupport
              ? [['', 'Open'], ...STATUSES.slice(1).map((status) => [status, statusOf(status, 'support')] as const)]
              : [['', 'Any'], ...STATUSES.map((status) => [status, statusOf(status, 'caller')] as const)]
          }
        />
        {isSupport && <QueueFilters filter={filter} onChange={setFilter} />}
      </Filters>
      {isSupport ? <Queue filter={filter} /> : <OwnCases status={filter.status} />}
    </Page>
  );
}

function QueueFilters({
  filter,
  onChange,
}: {
  readonly filter: Filter;
  readonly onChange: (changes: Partial<Filter>, options?: { readonly replace?: boolean }) => void;
}) {
  const incidents = useIncidents();
  const isListed = incidents.some(({ incident_id: id }) => id === filter.incident);
  return (
    <>
      <TextField
        label="Code"
        value={filter.code}
        problem={codeIn(filter.code) === filter.code ? undefined : 'Not an error code.'}
        onInput={(code) => onChange({ code: code.trim() }, { replace: true })}
      />
      <SelectField
        label="Card program"
        value={filter.programs}
        onChange={(programs) => onChange({ programs })}
        options={[
          ['', 'All'],
          ['chosen', 'The chosen program'],
        ]}
      />
      <SelectField
        label="Incident"
        value={filter.incident}
        onChange={(incident) => onChange({ incident })}
        options={[
          ['', 'Any'],
          ...incidents.map(({ incident_id: id, title }) => [id, title] as const),
          ...(filter.incident === '' || isListed ? [] : [[filter.incident, filter.incident] as const]),
        ]}
      />
    </>
  );
}

/** Reads the newest incidents. Users filter cases by their titles. */
function useIncidents(): readonly IncidentRecord[] {
  const { data } = useOperation((api, options) => api.incidents.list({ limit: MAX_INCIDENTS }, options));
  return data?.data ?? [];
}

/** Returns the status of the filter, if the service knows it. */
function statusIn(sent: string): { readonly status?: CaseRecord['status'] } {
  const status = STATUSES.find((known) => known === sent);
  return status === undefined ? {} : { status };
}

/** Returns the filter's error code if such a code exists. Returns an empty string otherwise, such as for a half-typed code. */
function codeIn(sent: string): string {
  return isErrorCode(sent) ? sent : '';
}

function Queue({ filter }: { readonly filter: Filter }) {
  const { programId } = useProgram();
  const now = useNow();
  const incidents = useIncidents();
  const onlyProgram = filter.programs === 'chosen' ? programId : undefined;
  const pages = usePages<QueuedCase>(
    (api, options, cursor) =>
      api.cases.search(
        {
          limit: PAGE_ROWS,
          ...statusIn(filter.status),
          ...given({ cursor, code: codeIn(filter.code), incident_id: filter.incident, program_id: onlyProgram }),
        },
        options,
      ),
    { deps: [filter, onlyProgram], pollMilliseconds: POLL_MILLISECONDS },
  );
  const hasFilter = filter.code + filter.incident + filter.programs !== '';
  return (
    <CaseTable
      pages={pages}
      columns={queueColumns(now, incidents)}
      empty={
        <Empty title={hasFilter ? 'No case matches' : 'No open cases'}>
          {hasFilter ? 'Remove a filter to see more.' : 'Callers open them from any error, with its request id.'}
        </Empty>
      }
    />
  );
}

function OwnCases({ status }: { readonly status: string }) {
  const { isKnown } = useProgram();
  const pages = usePages<CaseRecord>(
    isKnown
      ? (api, options, cursor) =>
          api.cases.list({ limit: PAGE_ROWS, ...statusIn(status), ...given({ cursor }) }, options)
      : undefined,
    { deps: [status], pollMilliseconds: POLL_MILLISECONDS },
  );
  if (!isKnown) return <Empty title="Choose a card program">Its cases are listed here.</Empty>;
  return (
    <CaseTable
      pages={pages}
      columns={OWN_COLUMNS}
      empty={
        <Empty title={status === '' ? 'No cases yet' : 'No such cases'}>
          Every error has a button that opens a case, so that support sees what happened.
        </Empty>
      }
    />
  );
}

function CaseTable<Row extends CaseRecord>({
  pages,
  columns,
  empty,
}: {
  readonly pages: ReturnType<typeof usePages<Row>>;
  readonly columns: readonly Column<Row>[];
  readonly empty: ComponentChildren;
}) {
  return (
    <PagedTable
      pages={pages}
      canRetry
      label="Cases"
      columns={columns}
      rowKey={({ case_id }) => case_id}
      href={hrefOfCase}
      empty={empty}
    />
  );
}

const AGE = {
  title: 'Opened',
  onPhone: 'note',
  cell: (row: CaseRecord) => (
    <a href={hrefOfCase(row)}>
      <Moment at={row.created_at} short />
    </a>
  ),
} as const;

function queueColumns(now: number, incidents: readonly IncidentRecord[]): readonly Column<QueuedCase>[] {
  return [
    AGE,
    {
      title: 'What happened',
      onPhone: 'title',
      cell: (row) => (
        <div class="error-what">
          <span class="error-text">
            {row.summary === null ? (
              <span class="quiet">Erased</span>
            ) : (
              <LinkedText text={withoutAdvice(row.summary)} programId={row.program_id} />
            )}
          </span>
          {row.code !== null && (
            <small class="quiet">
              <code>{row.code}</code> {row.operation}
            </small>
          )}
        </div>
      ),
    },
    {
      title: 'Urgency',
      onPhone: 'value',
      cell: (row) => (
        <>
          <Badge tone={URGENCY_TONES[row.urgency]}>{row.urgency}</Badge>{' '}
          <small class="quiet">{urgencyReason(row)}</small>
        </>
      ),
    },
    { title: 'First response', onPhone: 'note', cell: (row) => responseText(row, now) },
    { title: 'Program', onPhone: 'note', cell: ({ program_id }) => <ProgramName id={program_id} plain /> },
    {
      title: 'Incident',
      cell: ({ incident_id: id }) =>
        id === null ? (
          <span class="quiet none">–</span>
        ) : (
          (incidents.find(({ incident_id }) => incident_id === id)?.title ??
          (incidents.length === 0 ? '' : 'An older one'))
        ),
    },
  ];
}

const OWN_COLUMNS: readonly Column<CaseRecord>[] = [
  AGE,
  { title: 'About', onPhone: 'title', cell: (row) => subjectOf(row) },
  {
    title: 'Status',
    onPhone: 'value',
    cell: ({ status }) => <Badge tone={STATUS_TONES[status]}>{statusOf(status, 'caller')}</Badge>,
  },
  { title: 'Messages', align: 'end', cell: ({ message_count: count }) => count },
  { title: 'Changed', onPhone: 'note', cell: ({ updated_at: at }) => <Moment at={at} short /> },
];

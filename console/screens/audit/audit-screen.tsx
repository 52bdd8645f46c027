import type { AuditEntryRecord } from '../../../sdk/client.ts';
import { DataTable } from '../../components/data-table.tsx';
import { Empty } from '../../components/empty.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { TextField } from '../../components/field.tsx';
import { Filters } from '../../components/filters.tsx';
import { Id } from '../../components/id.tsx';
import { Loading } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { usePages } from '../../data/use-pages.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { toFieldValue, toIso } from '../../format/times.ts';
import { VerifyChain } from './verify-chain.tsx';

const PAGE_ROWS = 50;

const FILTERS = { action: '', from: '', to: '' };

/** What operators did, and which credentials were refused. */
export function AuditScreen() {
  return (
    <Page
      title="Audit log"
      lead="Every change by an operator, and every refused credential. Each entry has the hash of the one before it."
    >
      <Section title="Is it intact?">
        <VerifyChain />
      </Section>
      <Section title="Entries">
        <Entries />
      </Section>
    </Page>
  );
}

function Entries() {
  const [filters, setFilters] = useUrlState(FILTERS);
  const { action, from, to } = filters;
  const query = {
    ...(action !== '' && { action }),
    ...(from !== '' && { created_from: from }),
    ...(to !== '' && { created_to: to }),
  };
  const { rows, isLoaded, error, stale, pager } = usePages(
    (api, options, cursor) =>
      api.audit.list({ ...query, limit: PAGE_ROWS, ...(cursor !== undefined && { cursor }) }, options),
    { deps: [filters] },
  );
  const isFiltered = action !== '' || from !== '' || to !== '';
  const moment = (name: 'from' | 'to', label: string) => (
    <TextField
      label={label}
      type="datetime-local"
      value={toFieldValue(filters[name])}
      onInput={(value) => setFilters({ [name]: toIso(value) ?? '' }, { replace: true })}
    />
  );
  return (
    <>
      <Filters onClear={isFiltered ? () => setFilters(FILTERS) : undefined}>
        <TextField
          label="Action"
          value={action}
          placeholder="change_switch"
          onInput={(value) => setFilters({ action: value.trim() }, { replace: true })}
        />
        {moment('from', 'At or after')}
        {moment('to', 'Before')}
      </Filters>
      {error !== undefined && <ErrorRecord error={error} stale={isLoaded} />}
      {!isLoaded && error === undefined && <Loading />}
      {isLoaded && (
        <DataTable
          label="Entries of the audit log"
          columns={COLUMNS}
          rows={rows}
          rowKey={({ entry_id: id }) => id}
          stale={stale}
          empty={
            <Empty title="No entry">
              {isFiltered ? 'Change the filters, or clear them.' : 'Nothing was done by an operator yet.'}
            </Empty>
          }
        />
      )}
      <Pager {...pager} />
    </>
  );
}

const COLUMNS = [
  { title: 'No.', align: 'end' as const, cell: ({ position }: AuditEntryRecord) => position },
  { title: 'Time', cell: ({ created_at: at }: AuditEntryRecord) => <Moment at={at} /> },
  { title: 'Action', cell: ({ action }: AuditEntryRecord) => <code>{action}</code> },
  { title: 'By', cell: ({ actor }: AuditEntryRecord) => <Id id={actor} /> },
  {
    title: 'Subject',
    cell: ({ subject_id: id, program_id: programId }: AuditEntryRecord) => <Id id={id} programId={programId} />,
  },
  { title: 'Program', wideOnly: true, cell: ({ program_id: id }: AuditEntryRecord) => <Id id={id} /> },
  { title: 'Request', wideOnly: true, cell: ({ request_id: id }: AuditEntryRecord) => <Id id={id} /> },
  { title: 'Details', cell: (entry: AuditEntryRecord) => <Details entry={entry} /> },
];

function Details({ entry: { details, hash, previous_hash: previous } }: { readonly entry: AuditEntryRecord }) {
  return (
    <details>
      <summary>Show</summary>
      <pre class="json">{JSON.stringify(details, null, 2)}</pre>
      <p class="quiet">
        Hash <code>{hash}</code>, of the entry before <code>{previous}</code>
      </p>
    </details>
  );
}

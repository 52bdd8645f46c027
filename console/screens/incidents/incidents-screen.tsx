import { useState } from 'preact/hooks';
import type { IncidentRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { SelectField } from '../../components/field.tsx';
import { Filters } from '../../components/filters.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Page } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { Coverage } from '../../components/support/coverage.tsx';
import { IncidentDialog } from '../../components/support/incident-dialog.tsx';
import { hrefTo } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { usePages } from '../../data/use-pages.ts';
import { useAskedDialog, useUrlState } from '../../data/use-url-state.ts';
import { pathOf } from '../../format/ids.ts';
import { EMPTY_DRAFT } from '../../format/support/incidents.ts';

const PAGE_ROWS = 50;
const POLL_MILLISECONDS = 5_000;
const NO_FILTER = { status: '' };

/** Lists the incidents that affect the caller, newest first. */
export function IncidentsScreen() {
  const { can } = useSession();
  const [filter, setFilter] = useUrlState(NO_FILTER);
  const [isOpening, setOpening] = useState(false);
  useAskedDialog((asked) => setOpening(asked === 'create' && can('create_incident')));
  const status = (['open', 'resolved'] as const).find((known) => known === filter.status);
  const incidents = usePages<IncidentRecord>(
    (api, options, cursor) =>
      api.incidents.list(
        { limit: PAGE_ROWS, ...(status !== undefined && { status }), ...(cursor !== undefined && { cursor }) },
        options,
      ),
    { deps: [status], pollMilliseconds: POLL_MILLISECONDS },
  );
  return (
    <Page
      title="Incidents"
      lead="An incident is one cause of many errors. Affected callers are notified. When it ends, its cases are resolved."
      actions={can('create_incident') && <Button onClick={() => setOpening(true)}>Open an incident</Button>}
    >
      <Filters>
        <SelectField
          label="Status"
          value={filter.status}
          onChange={(chosen) => setFilter({ status: chosen })}
          options={[
            ['', 'Any'],
            ['open', 'Ongoing'],
            ['resolved', 'Ended'],
          ]}
        />
      </Filters>
      <PagedTable
        pages={incidents}
        canRetry
        label="Incidents"
        columns={COLUMNS}
        rowKey={({ incident_id }) => incident_id}
        href={hrefOf}
        empty={
          <Empty title="No incidents">
            {status === undefined ? 'Support opens one when many errors have one cause.' : 'Choose another status.'}
          </Empty>
        }
      />
      {isOpening && <IncidentDialog draft={EMPTY_DRAFT} onClose={() => setOpening(false)} />}
    </Page>
  );
}

function hrefOf({ incident_id: id }: IncidentRecord): string {
  return hrefTo(pathOf(id) ?? '');
}

const COLUMNS: readonly Column<IncidentRecord>[] = [
  { title: 'Incident', onPhone: 'title', cell: (row) => <a href={hrefOf(row)}>{row.title}</a> },
  {
    title: 'Status',
    onPhone: 'value',
    cell: ({ status }) => (
      <Badge tone={status === 'open' ? 'waiting' : 'good'}>{status === 'open' ? 'ongoing' : 'ended'}</Badge>
    ),
  },
  { title: 'Covers', onPhone: 'note', cell: (row) => <Coverage incident={row} /> },
  { title: 'Began', onPhone: 'note', cell: ({ started_at: at }) => <Moment at={at} short /> },
  { title: 'Ended', cell: ({ resolved_at: at }) => at !== null && <Moment at={at} short /> },
];

import type { ApprovalRecord } from '../../../sdk/client.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import type { Column } from '../../components/data-table.tsx';
import { SelectField } from '../../components/field.tsx';
import { Filters } from '../../components/filters.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Page } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { hrefTo } from '../../data/location.ts';
import { usePages } from '../../data/use-pages.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { pathOf } from '../../format/ids.ts';
import { APPROVAL_STATUSES, sentenceOf } from '../../format/operators/approvals.ts';

const PAGE_ROWS = 50;
const POLL_MILLISECONDS = 5_000;

/** Lists operators' requests that are waiting, or have waited, for a second person. */
export function ApprovalsScreen() {
  const [filter, setFilter] = useUrlState({ status: 'pending' });
  const status = STATUSES.find((known) => known === filter.status);
  const approvals = usePages<ApprovalRecord>(
    (api, options, cursor) =>
      api.approvals.list(
        { limit: PAGE_ROWS, ...(status !== undefined && { status }), ...(cursor !== undefined && { cursor }) },
        options,
      ),
    { deps: [status], pollMilliseconds: POLL_MILLISECONDS },
  );
  return (
    <Page title="Approvals" lead="Operators' requests that a second person must approve before they are carried out.">
      <Filters>
        <SelectField
          label="Status"
          value={filter.status}
          onChange={(chosen) => setFilter({ status: chosen })}
          options={[['all', 'Any'], ...STATUSES.map((one) => [one, APPROVAL_STATUSES[one]] as const)]}
        />
      </Filters>
      <PagedTable
        pages={approvals}
        canRetry
        label="Approvals"
        columns={COLUMNS}
        rowKey={({ approval_id }) => approval_id}
        href={hrefOf}
        empty={
          <Empty title={status === 'pending' ? 'Nothing is waiting for approval' : 'No approvals'}>
            The approval policy says which requests need one. <a href="/guides/approvals">Approvals</a> explains it.
          </Empty>
        }
      />
    </Page>
  );
}

const STATUSES = Object.keys(APPROVAL_STATUSES) as readonly ApprovalRecord['status'][];

const TONES: Readonly<Record<ApprovalRecord['status'], Tone>> = {
  pending: 'waiting',
  approved: 'waiting',
  carried_out: 'good',
  failed: 'bad',
  rejected: 'bad',
  withdrawn: 'quiet',
  expired: 'quiet',
};

/** Shows the status of an approval. */
export function ApprovalState({ status }: { readonly status: ApprovalRecord['status'] }) {
  return <Badge tone={TONES[status]}>{APPROVAL_STATUSES[status]}</Badge>;
}

function hrefOf({ approval_id: id }: ApprovalRecord): string {
  return hrefTo(pathOf(id) ?? '');
}

const COLUMNS: readonly Column<ApprovalRecord>[] = [
  { title: 'Request', onPhone: 'title', cell: (row) => <a href={hrefOf(row)}>{sentenceOf(row)}</a> },
  { title: 'Status', onPhone: 'value', cell: ({ status }) => <ApprovalState status={status} /> },
  { title: 'Asked', onPhone: 'note', cell: ({ requested_at: at }) => <Moment at={at} short /> },
  { title: 'Decided by', onPhone: 'note', cell: ({ decided_by_name: name, decided_by: id }) => name ?? id },
  {
    title: 'Expires',
    cell: ({ status, expires_at: at }) => status === 'pending' && <Moment at={at} short />,
  },
];

import type { SettlementFileRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import type { Column } from '../../components/data-table.tsx';
import { SelectField } from '../../components/field.tsx';
import { Filters } from '../../components/filters.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { Page } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { hrefTo } from '../../data/location.ts';
import { useOperation } from '../../data/use-operation.ts';
import { given, usePages } from '../../data/use-pages.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { differing, FILE_STATUSES, linesText, progressOf, progressText } from '../../format/operators/processors.ts';

const PAGE_ROWS = 20;
const POLL_MILLISECONDS = 5_000;

const NO_FILTER = { connector_id: '' };

/** Lists the settlement files of processors, newest first, with the progress and the result of their comparison. */
export function SettlementScreen() {
  const [{ connector_id: connectorId }, setFilter] = useUrlState(NO_FILTER);
  const connectors = useOperation((api, options) => api.connectors.list(options), { ofAnyProgram: true });
  const files = usePages<SettlementFileRecord>(
    (api, options, cursor) =>
      api.settlementFiles.list({ limit: PAGE_ROWS, ...given({ cursor, connector_id: connectorId }) }, options),
    { deps: [connectorId], pollMilliseconds: POLL_MILLISECONDS },
  );
  const ids = connectors.data?.data.map(({ connector_id: id }) => id) ?? [];
  return (
    <Page
      title="Settlement"
      lead={
        <>
          A settlement file lists the orders that a processor has settled. The service compares each line with the
          books. <a href={hrefTo('/console/processors')}>All open breaks</a>
        </>
      }
    >
      <Filters>
        <SelectField
          label="Connector"
          value={connectorId}
          onChange={(chosen) => setFilter({ connector_id: chosen })}
          options={[['', 'Any'], ...ids.map((id) => [id, id] as const)]}
        />
      </Filters>
      <PagedTable
        pages={files}
        canRetry
        label="Settlement files"
        columns={COLUMNS}
        rowKey={({ file_id: id }) => id}
        href={hrefOf}
        empty={
          <Empty title={connectorId === '' ? 'No settlement files' : 'No settlement files of this connector'}>
            Import a file of your processor on the command line:{' '}
            <code>transfer-service settlement import FILE --connector {connectorId || 'CONNECTOR'}</code>.{' '}
            <a href="/guides/settlement">Formats and columns</a>
          </Empty>
        }
      />
    </Page>
  );
}

const hrefOf = ({ file_id: id }: SettlementFileRecord): string => hrefTo(`/console/settlement/${id}`);

const COLUMNS: readonly Column<SettlementFileRecord>[] = [
  {
    title: 'File',
    onPhone: 'title',
    cell: (file) => (
      <>
        <a href={hrefOf(file)}>{file.name}</a>
        {file.sequence_number !== null && <span class="quiet"> No. {file.sequence_number}</span>}
      </>
    ),
  },
  {
    title: 'Status',
    onPhone: 'value',
    cell: (file) => <Badge tone={FILE_STATUSES[file.status].tone}>{FILE_STATUSES[file.status].word}</Badge>,
  },
  {
    title: 'Lines',
    onPhone: 'note',
    cell: (file) => (
      <span class="unbroken">{progressOf(file) === undefined ? linesText(file) : progressText(file)}</span>
    ),
  },
  {
    title: 'Different',
    onPhone: 'note',
    cell: (file) =>
      differing(file) === 0 ? (
        <span class="quiet none">none</span>
      ) : (
        <b class="unbroken">{differing(file)} different</b>
      ),
  },
  { title: 'Sums', onPhone: 'note', cell: ({ totals }) => <Sums totals={totals} /> },
  { title: 'Imported', onPhone: 'note', cell: ({ created_at: at }) => <Moment at={at} short /> },
  { title: 'Connector', onPhone: 'note', cell: ({ connector_id: id }) => id },
];

function Sums({ totals }: Pick<SettlementFileRecord, 'totals'>) {
  return (
    <>
      {totals.map(({ currency, pushed, pulled }) => (
        <div key={currency} class="unbroken">
          {pushed !== 0 && (
            <>
              <Money amount={pushed} currency={currency} /> to cards
            </>
          )}
          {pushed !== 0 && pulled !== 0 && ', '}
          {pulled !== 0 && (
            <>
              <Money amount={pulled} currency={currency} /> from cards
            </>
          )}
        </div>
      ))}
    </>
  );
}

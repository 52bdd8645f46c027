import { useEffect, useState } from 'preact/hooks';
import type { TransferRecord } from '../../../sdk/client.ts';
import { TransferStatus } from '../../components/badge.tsx';
import { useCsvExport } from '../../components/csv-export.tsx';
import type { Column } from '../../components/data-table.tsx';
import { Id } from '../../components/id.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { CardName, KeyName } from '../../components/name.tsx';
import { Page } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { useNow } from '../../data/clock.ts';
import { hrefTo } from '../../data/location.ts';
import { usePages } from '../../data/use-pages.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { pathOf } from '../../format/ids.ts';
import { TransferFilterForm } from './transfer-filter-form.tsx';
import { filtersSet, NO_FILTERS, queryOf, type TransferFilters } from './transfer-filters.ts';
import './transfers.css';

const ROWS = 50;
const POLL_MILLISECONDS = 5_000;

const COLUMNS: readonly Column<TransferRecord>[] = [
  {
    title: 'Created',
    onPhone: 'note',
    cell: ({ transfer_id: id, created_at: at }) => (
      <a href={hrefTo(pathOf(id) ?? '')}>
        <Moment at={at} short />
      </a>
    ),
  },
  { title: 'Type', onPhone: 'note', optional: 'shown', cell: ({ type }) => type.replaceAll('_', ' ') },
  { title: 'Card', onPhone: 'title', cell: (transfer) => <Cards transfer={transfer} /> },
  {
    title: 'Amount',
    align: 'end',
    onPhone: 'value',
    cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
  },
  { title: 'Status', onPhone: 'note', cell: (transfer) => <TransferStatus transfer={transfer} /> },
  {
    title: 'Reference',
    optional: 'shown',
    cell: ({ reference }) => reference !== null && <span class="reference">{reference}</span>,
  },
  { title: 'Description', optional: 'hidden', oneLine: true, cell: ({ description }) => description },
  { title: 'Idempotency key', optional: 'hidden', cell: ({ idempotency_key: key }) => key },
  { title: 'Requested by', optional: 'hidden', cell: ({ created_by: id }) => id !== null && <KeyName id={id} plain /> },
  { title: 'Id', optional: 'shown', cell: ({ transfer_id }) => <Id id={transfer_id} /> },
];

/** Lists the transfers of a card program page by page, with filters in the URL, and saves them as a file. */
export function TransfersScreen() {
  const [filters, setFilters] = useUrlState(NO_FILTERS);
  // The times of transfers follow the sandbox's clock, even if it was moved.
  const now = useNow();
  const transfers = usePages(
    (api, options, cursor) => api.transfers.list({ ...queryOf(filters, now), limit: ROWS, cursor }, options),
    { deps: [filters], pollMilliseconds: POLL_MILLISECONDS },
  );
  const currency = useLastCurrency(transfers.rows);
  const csv = useCsvExport('transfers.csv', 'transfers', (api, options) =>
    api.transfers.export(queryOf(filters, now), options),
  );
  return (
    <Page title="Transfers" actions={csv.button}>
      {csv.note}
      <TransferFilterForm
        filters={filters}
        onChange={setFilters}
        onClear={() => setFilters(NO_FILTERS)}
        currency={currency}
      />
      <PagedTable
        pages={transfers}
        label="Transfers, newest first"
        columns={COLUMNS}
        rowKey={({ transfer_id }) => transfer_id}
        href={({ transfer_id }) => hrefTo(pathOf(transfer_id) ?? '')}
        empty={<NoTransfers filters={filters} hasMore={transfers.pager.hasNext} />}
      />
    </Page>
  );
}

/** Returns the currency for typed amounts: the currency of the last transfers on the screen. */
function useLastCurrency(rows: readonly TransferRecord[]): string {
  const [currency, setCurrency] = useState('USD');
  const found = rows[0]?.currency;
  useEffect(() => {
    if (found !== undefined) setCurrency(found);
  }, [found]);
  return found ?? currency;
}

function Cards({ transfer: { card_id, destination_card_id } }: { readonly transfer: TransferRecord }) {
  return (
    <span class="cards">
      <CardName id={card_id} plain />
      {destination_card_id !== null && (
        <>
          <span class="quiet">to</span> <CardName id={destination_card_id} plain />
        </>
      )}
    </span>
  );
}

function NoTransfers({ filters, hasMore }: { readonly filters: TransferFilters; readonly hasMore: boolean }) {
  if (hasMore) return <Empty title="Nothing on this page">Older transfers may match: see “Older”.</Empty>;
  if (filtersSet(filters).length > 0) {
    return <Empty title="No transfer matches">Remove a filter, or press / to search for an id.</Empty>;
  }
  return <Empty title="No transfers yet">They appear here once the card program creates one.</Empty>;
}

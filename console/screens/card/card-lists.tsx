import type { HoldRecord, PostingRecord } from '../../../sdk/client.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Empty } from '../../components/empty.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { Id } from '../../components/id.tsx';
import { Loading } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { Section } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { hrefTo } from '../../data/location.ts';
import { usePages } from '../../data/use-pages.ts';
import { sentenceCase } from '../../format/names.ts';

const ROWS = 20;

const hrefOfTransfer = (transferId: string | null): string | undefined =>
  transferId === null ? undefined : hrefTo(`/console/transfer/${transferId}`);

const HOLD_COLUMNS: readonly Column<HoldRecord>[] = [
  { title: 'Since', onPhone: 'note', cell: ({ created_at }) => <Moment at={created_at} short /> },
  {
    title: 'Direction',
    onPhone: 'title',
    cell: ({ direction }) => (direction === 'in' ? 'To the card' : 'From the card'),
  },
  {
    title: 'Amount',
    align: 'end',
    onPhone: 'value',
    cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
  },
  { title: 'Expires', cell: ({ expires_at }) => <Moment at={expires_at} short /> },
  { title: 'Description', onPhone: 'note', cell: ({ description }) => description },
  { title: 'Transfer', cell: ({ transfer_id }) => <Id id={transfer_id} /> },
];

/** What the lists of a card depend on: `changes` counts what was done on this screen, so that they are loaded again. */
type ListParts = { readonly cardId: string; readonly changes: number };

/** The open holds of a card. */
export function CardHolds({ cardId, changes }: ListParts) {
  const { rows, isLoaded, error, stale, pager } = usePages(
    (api, options, cursor) => api.cards.holds(cardId, { limit: ROWS, cursor }, options),
    { deps: [cardId, changes] },
  );
  return (
    <Section title="Open holds">
      {error !== undefined && <ErrorRecord error={error} stale={isLoaded} />}
      {isLoaded ? (
        <DataTable
          label="Open holds, newest first"
          columns={HOLD_COLUMNS}
          rows={rows}
          rowKey={({ transfer_id }) => transfer_id}
          href={({ transfer_id }) => hrefOfTransfer(transfer_id)}
          stale={stale}
          empty={<Empty title={pager.hasNext ? 'None on this page: see “Older”' : 'Nothing is on hold'} />}
        />
      ) : (
        error === undefined && <Loading />
      )}
      <Pager {...pager} />
    </Section>
  );
}

const LINE_COLUMNS: readonly Column<PostingRecord>[] = [
  { title: 'Line', align: 'end', cell: ({ sequence }) => sequence },
  { title: 'Time', onPhone: 'note', cell: ({ created_at }) => <Moment at={created_at} short /> },
  { title: 'Purpose', onPhone: 'title', cell: ({ purpose }) => sentenceCase(purpose.replaceAll('_', ' ')) },
  {
    title: 'Amount',
    align: 'end',
    onPhone: 'value',
    cell: ({ amount, currency, direction }) => (
      <Money amount={direction === 'in' ? amount : -amount} currency={currency} signed />
    ),
  },
  {
    title: 'Balance after',
    align: 'end',
    cell: ({ balance, currency }) => <Money amount={balance} currency={currency} />,
  },
  {
    title: 'Description and reference',
    onPhone: 'note',
    cell: ({ description, reference }) => (
      <>
        {description}
        {reference !== null && <div class="quiet">{reference}</div>}
      </>
    ),
  },
  { title: 'Transfer', cell: ({ transfer_id }) => <Id id={transfer_id} /> },
];

/** The statement of a card, page by page. */
export function CardStatement({ cardId, changes }: ListParts) {
  const { rows, isLoaded, error, stale, pager } = usePages(
    (api, options, cursor) => api.cards.postings(cardId, { limit: ROWS, cursor }, options),
    { deps: [cardId, changes] },
  );
  return (
    <Section title="Statement">
      {error !== undefined && <ErrorRecord error={error} stale={isLoaded} />}
      {isLoaded ? (
        <DataTable
          label="Lines of the statement, newest first"
          columns={LINE_COLUMNS}
          rows={rows}
          rowKey={({ sequence }) => String(sequence)}
          href={({ transfer_id }) => hrefOfTransfer(transfer_id)}
          stale={stale}
          empty={<Empty title="No money has moved yet" />}
        />
      ) : (
        error === undefined && <Loading />
      )}
      <Pager {...pager} />
    </Section>
  );
}

import type { HoldRecord, LikelyDuplicate, PostingRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
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
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { usePages } from '../../data/use-pages.ts';
import { formatDuration } from '../../format/times.ts';

const ROWS = 20;
const NONE = <span class="quiet">–</span>;

const hrefOfTransfer = (transferId: string | null): string | undefined =>
  transferId === null ? undefined : hrefTo(`/console/transfer/${transferId}`);

const DUPLICATE_COLUMNS: readonly Column<LikelyDuplicate>[] = [
  { title: 'Created', cell: ({ transfer }) => <Moment at={transfer.created_at} /> },
  { title: 'Transfer', cell: ({ transfer }) => <Id id={transfer.transfer_id} /> },
  { title: 'Type', cell: ({ transfer }) => transfer.type.replaceAll('_', ' ') },
  {
    title: 'Amount',
    align: 'end',
    cell: ({ transfer }) => <Money amount={transfer.amount} currency={transfer.currency} />,
  },
  { title: 'Status', cell: ({ transfer }) => <Badge>{transfer.status}</Badge> },
  {
    title: 'Follows',
    cell: ({ earlier, seconds_apart }) => (
      <>
        <Id id={earlier.transfer_id} />{' '}
        <span class="quiet">
          after {seconds_apart === 0 ? 'less than a second' : formatDuration(seconds_apart * 1000)}
        </span>
      </>
    ),
  },
];

/** Transfers that were probably made twice: the first thing to look at when somebody was charged twice. */
export function CardDuplicates({ cardId }: { readonly cardId: string; readonly currency: string }) {
  const { can } = useSession();
  const { data, error } = useOperation(
    can('list_likely_duplicates')
      ? (api, options) => api.cards.likelyDuplicates(cardId, { limit: 10 }, options)
      : undefined,
    { deps: [cardId] },
  );
  if (error !== undefined) return <ErrorRecord error={error} stale={data !== undefined} />;
  if (data === undefined || data.data.length === 0) return null;
  return (
    <Section title="Likely duplicates">
      <p class="quiet">Each follows another transfer of the card with the same type and amount within ten minutes.</p>
      <DataTable
        label="Likely duplicates, newest first"
        columns={DUPLICATE_COLUMNS}
        rows={data.data}
        rowKey={({ transfer }) => transfer.transfer_id}
        href={({ transfer }) => hrefOfTransfer(transfer.transfer_id)}
      />
      {data.next_cursor !== null && <p class="hint">There may be older ones: see all transfers of the card.</p>}
    </Section>
  );
}

const HOLD_COLUMNS: readonly Column<HoldRecord>[] = [
  { title: 'Since', cell: ({ created_at }) => <Moment at={created_at} /> },
  { title: 'Transfer', cell: ({ transfer_id }) => <Id id={transfer_id} /> },
  { title: 'Direction', cell: ({ direction }) => (direction === 'in' ? 'to the card' : 'from the card') },
  { title: 'Amount', align: 'end', cell: ({ amount, currency }) => <Money amount={amount} currency={currency} /> },
  { title: 'Expires', cell: ({ expires_at }) => <Moment at={expires_at} /> },
  { title: 'Description', wideOnly: true, cell: ({ description }) => description ?? NONE },
];

/** The open holds of a card. */
export function CardHolds({ cardId }: { readonly cardId: string }) {
  const { rows, isLoaded, error, stale, pager } = usePages(
    (api, options, cursor) => api.cards.holds(cardId, { limit: ROWS, cursor }, options),
    { deps: [cardId] },
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
          empty={<Empty title={pager.hasNext ? 'None on this page: go on with “Older”' : 'Nothing is on hold'} />}
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
  { title: 'Time', cell: ({ created_at }) => <Moment at={created_at} /> },
  { title: 'Purpose', cell: ({ purpose }) => purpose.replaceAll('_', ' ') },
  {
    title: 'Amount',
    align: 'end',
    cell: ({ amount, currency, direction }) => (
      <Money amount={direction === 'in' ? amount : -amount} currency={currency} signed />
    ),
  },
  {
    title: 'Balance after',
    align: 'end',
    cell: ({ balance, currency }) => <Money amount={balance} currency={currency} />,
  },
  { title: 'Transfer', cell: ({ transfer_id }) => <Id id={transfer_id} /> },
  {
    title: 'Description and reference',
    wideOnly: true,
    cell: ({ description, reference }) => (
      <>
        {description ?? (reference === null ? NONE : null)}
        {reference !== null && <div class="quiet">{reference}</div>}
      </>
    ),
  },
];

/** The statement of a card, page by page. */
export function CardStatement({ cardId }: { readonly cardId: string }) {
  const { rows, isLoaded, error, stale, pager } = usePages(
    (api, options, cursor) => api.cards.postings(cardId, { limit: ROWS, cursor }, options),
    { deps: [cardId] },
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

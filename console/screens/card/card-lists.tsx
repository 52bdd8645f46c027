import type { HoldRecord, PostingRecord } from '../../../sdk/client.ts';
import type { Column } from '../../components/data-table.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { Id } from '../../components/id.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { Section } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { hrefTo } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { usePages } from '../../data/use-pages.ts';
import { sentenceCase } from '../../format/names.ts';
import { chainsOf } from '../transfer/duplicate-words.ts';
import { Duplicates } from '../transfer/duplicates.tsx';

/** Shows transfers that were probably created twice. Support looks here first when a customer was charged twice. */
export function CardDuplicates({
  cardId,
  isAtProcessor,
  onDone,
}: {
  readonly cardId: string;
  readonly isAtProcessor: boolean;
  readonly onDone: (text: string) => void;
}) {
  const { can } = useSession();
  const { data, error, reload } = useOperation(
    can('list_likely_duplicates')
      ? (api, options) => api.cards.likelyDuplicates(cardId, { limit: 10 }, options)
      : undefined,
    { deps: [cardId], isOwn: true },
  );
  if (error !== undefined) return <ErrorRecord error={error} stale={data !== undefined} />;
  if (data === undefined || data.data.length === 0) return null;
  return (
    <Section title="Likely duplicates">
      <Duplicates
        chains={chainsOf(data.data)}
        isAtProcessor={isAtProcessor}
        onDone={(text) => {
          onDone(text);
          reload();
        }}
      />
      {data.next_cursor !== null && <p class="hint">There may be older ones: see all transfers of the card.</p>}
    </Section>
  );
}

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
  { title: 'Expires', cell: ({ expires_at: at }) => at !== null && <Moment at={at} short /> },
  { title: 'Description', onPhone: 'note', oneLine: true, cell: ({ description }) => description },
  { title: 'Transfer', cell: ({ transfer_id }) => <Id id={transfer_id} /> },
];

/** The lists of a card are loaded again when `changes`, the number of actions on this screen, grows. */
type ListParts = { readonly cardId: string; readonly changes: number };

export function CardHolds({ cardId, changes }: ListParts) {
  const pages = usePages((api, options, cursor) => api.cards.holds(cardId, { limit: ROWS, cursor }, options), {
    deps: [cardId, changes],
  });
  return (
    <Section title="Open holds">
      <PagedTable
        pages={pages}
        label="Open holds, newest first"
        columns={HOLD_COLUMNS}
        rowKey={({ transfer_id }) => transfer_id}
        href={({ transfer_id }) => hrefOfTransfer(transfer_id)}
        empty={<Empty title={pages.pager.hasNext ? 'None on this page: see “Older”' : 'Nothing is on hold'} />}
      />
    </Section>
  );
}

const LINE_COLUMNS: readonly Column<PostingRecord>[] = [
  { title: 'Line', align: 'end', optional: 'shown', cell: ({ sequence }) => sequence },
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
    optional: 'shown',
    cell: ({ balance, currency }) => <Money amount={balance} currency={currency} />,
  },
  {
    title: 'Description and reference',
    onPhone: 'note',
    optional: 'shown',
    cell: ({ description, reference }) =>
      (description ?? reference) !== null && (
        <>
          {description}
          {reference !== null && <div class="quiet">{reference}</div>}
        </>
      ),
  },
  { title: 'Transfer', optional: 'shown', cell: ({ transfer_id }) => <Id id={transfer_id} /> },
];

export function CardStatement({ cardId, changes }: ListParts) {
  const pages = usePages((api, options, cursor) => api.cards.postings(cardId, { limit: ROWS, cursor }, options), {
    deps: [cardId, changes],
  });
  return (
    <Section title="Statement">
      <PagedTable
        pages={pages}
        label="Lines of the statement, newest first"
        columns={LINE_COLUMNS}
        rowKey={({ sequence }) => String(sequence)}
        href={({ transfer_id }) => hrefOfTransfer(transfer_id)}
        empty={<Empty title="No money has moved yet" />}
      />
    </Section>
  );
}

import { useEffect, useState } from 'preact/hooks';
import { CARD_STATUSES, type CardRecord, type ListCardsQuery } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, WhoMay } from '../../components/button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { Filters } from '../../components/filters.tsx';
import { later } from '../../components/later.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { NameLink } from '../../components/name.tsx';
import { Page } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { hrefTo } from '../../data/location.ts';
import { useProgramId } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { usePages } from '../../data/use-pages.ts';
import { useAskedDialog, useUrlState } from '../../data/use-url-state.ts';
import { hasCardNumber } from '../../format/card-numbers.ts';
import { pathOf, shortId } from '../../format/ids.ts';
import { nameOfCard } from '../../format/names.ts';

const ROWS = 50;

const CreateCardDialog = later(async () => (await import('./create-card-dialog.tsx')).CreateCardDialog);

const NO_FILTERS = { status: '', last_four: '', holder_reference: '', card_id_prefix: '' };
type CardFilters = typeof NO_FILTERS;

const COLUMNS: readonly Column<CardRecord>[] = [
  {
    title: 'Card',
    onPhone: 'title',
    cell: (card) => <NameLink kind="card" id={card.card_id} name={nameOfCard(card)} />,
  },
  { title: 'Status', onPhone: 'note', cell: ({ status }) => <Badge>{status}</Badge> },
  {
    title: 'Balance',
    align: 'end',
    optional: 'shown',
    cell: (card) => <CardMoney card={card} amount={card.balance} />,
  },
  {
    title: 'Available',
    align: 'end',
    onPhone: 'value',
    cell: (card) => <CardMoney card={card} amount={card.available} />,
  },
  {
    title: 'Created',
    onPhone: 'note',
    optional: 'shown',
    cell: ({ created_at }) => <Moment at={created_at} short />,
  },
  // Cards without a name already show their ids in the first column.
  {
    title: 'Id',
    optional: 'shown',
    cell: (card) => nameOfCard(card) !== undefined && <code class="quiet">{shortId(card.card_id)}</code>,
  },
];

/** Shows an amount on a card, unless its money is at a processor. */
function CardMoney({
  card: { connector_id, currency },
  amount,
}: {
  readonly card: CardRecord;
  readonly amount: number;
}) {
  if (connector_id !== null) return <span class="quiet unbroken">at {connector_id}</span>;
  return <Money amount={amount} currency={currency} />;
}

/** Users see the status `inactive` as "suspended". */
const STATUS_OPTIONS = CARD_STATUSES.map((status) => [status, status === 'inactive' ? 'suspended' : status] as const);

/** Lists the cards of a program, with filters for status, digits, holder and id. Users create cards here. */
export function CardsScreen() {
  const { can } = useSession();
  const programId = useProgramId();
  const [isCreating, setCreating] = useState(false);
  useAskedDialog((asked) => setCreating(asked === 'create' && can('create_card')));
  const [filters, setFilters] = useUrlState(NO_FILTERS);
  const query = queryOf(filters);
  const isSendable = !Object.values(filters).some(hasCardNumber);
  const cards = usePages(
    isSendable ? (api, options, cursor) => api.cards.list({ ...query, limit: ROWS, cursor }, options) : undefined,
    { deps: [JSON.stringify(query)] },
  );
  const isFiltered = Object.values(filters).some((value) => value !== '');
  return (
    <Page
      title="Cards"
      actions={
        can('create_card') && (
          <Button kind="main" onClick={() => setCreating(true)}>
            New card
          </Button>
        )
      }
    >
      <CardFilterForm key={JSON.stringify(filters)} filters={filters} onChange={setFilters} isFiltered={isFiltered} />
      <PagedTable
        pages={cards}
        label="Cards"
        columns={COLUMNS}
        rowKey={({ card_id }) => card_id}
        href={({ card_id }) => hrefTo(pathOf(card_id, 'card') ?? '')}
        empty={<NoCards isFiltered={isFiltered} hasMore={cards.pager.hasNext} />}
      />
      <WhoMay operation="create_card" to="create a card" />
      {isCreating && programId !== undefined && (
        <CreateCardDialog programId={programId} onClose={() => setCreating(false)} />
      )}
    </Page>
  );
}

/** Values that were edited in the URL are sent unchanged, so that the service reports what is wrong with them. */
function queryOf({ status, last_four, holder_reference, card_id_prefix }: CardFilters): ListCardsQuery {
  return {
    status: (status || undefined) as ListCardsQuery['status'],
    last_four: last_four || undefined,
    holder_reference: holder_reference || undefined,
    card_id_prefix: card_id_prefix || undefined,
  };
}

/** The filters apply when the form is submitted, so the screen never searches for half a word. */
function CardFilterForm({
  filters,
  onChange,
  isFiltered,
}: {
  readonly filters: CardFilters;
  readonly onChange: (changes: Partial<CardFilters>) => void;
  readonly isFiltered: boolean;
}) {
  const [typed, setTyped] = useState(filters);
  useEffect(() => setTyped(filters), [JSON.stringify(filters)]);
  const problems = problemsOf(typed);
  const submit = (event: Event) => {
    event.preventDefault();
    if (Object.keys(problems).length === 0) onChange(trimmed(typed));
  };
  const text = (name: keyof CardFilters, label: string) => (
    <TextField
      label={label}
      value={typed[name]}
      problem={problems[name]}
      onInput={(value) => setTyped({ ...typed, [name]: value })}
    />
  );
  return (
    <form onSubmit={submit}>
      <Filters onClear={isFiltered ? () => onChange(NO_FILTERS) : undefined}>
        {text('last_four', 'Last four digits')}
        {text('holder_reference', 'Holder reference')}
        {text('card_id_prefix', 'Card id begins with')}
        <SelectField
          label="Status"
          value={filters.status}
          options={[['', 'Any'], ...STATUS_OPTIONS]}
          onChange={(status) => onChange({ status })}
        />
        <Button type="submit">Find</Button>
      </Filters>
    </form>
  );
}

function trimmed(filters: CardFilters): CardFilters {
  return Object.fromEntries(Object.entries(filters).map(([name, value]) => [name, value.trim()])) as CardFilters;
}

function problemsOf(filters: CardFilters): Partial<Record<keyof CardFilters, string>> {
  const problems: Partial<Record<keyof CardFilters, string>> = {};
  for (const [name, value] of Object.entries(filters) as [keyof CardFilters, string][]) {
    if (hasCardNumber(value)) problems[name] = 'This looks like a card number. It was not sent.';
  }
  if (filters.last_four.trim() !== '' && !/^[0-9]{4}$/.test(filters.last_four.trim())) {
    problems.last_four ??= 'Enter four digits.';
  }
  return problems;
}

function NoCards({ isFiltered, hasMore }: { readonly isFiltered: boolean; readonly hasMore: boolean }) {
  if (hasMore) return <Empty title="Nothing on this page">Older cards may match: see “Older”.</Empty>;
  if (isFiltered) return <Empty title="No card matches">Remove a filter, or press / to search all cards.</Empty>;
  return <Empty title="No cards yet">They appear here once the card program creates one.</Empty>;
}

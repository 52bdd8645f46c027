import type { ComparisonRecord, MoveInRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import type { Column } from '../../components/data-table.tsx';
import { Filters, ProgramFilter } from '../../components/filters.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { ProgramName } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { hrefTo } from '../../data/location.ts';
import { given, usePages } from '../../data/use-pages.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { formatCount } from '../../format/amounts.ts';
import { pathOf } from '../../format/ids.ts';
import {
  COMPARISON_STATUSES,
  linesOfMoveIn,
  MOVE_IN_STATUSES,
  workOfComparison,
} from '../../format/operators/move-ins.ts';
import { formatNumber } from '../../format/operators/switch.ts';

const PAGE_ROWS = 20;
const POLL_MILLISECONDS = 5_000;

const NO_FILTER = { of: '' };

/** Lists the move-ins of card programs, and the comparisons with the ledgers that their cards move in from, newest first. */
export function MoveInsScreen() {
  const [{ of }, setFilter] = useUrlState(NO_FILTER);
  const settings = { deps: [of], pollMilliseconds: POLL_MILLISECONDS };
  const moveIns = usePages<MoveInRecord>(
    (api, options, cursor) => api.moveIns.list({ limit: PAGE_ROWS, ...given({ cursor, program_id: of }) }, options),
    settings,
  );
  const comparisons = usePages<ComparisonRecord>(
    (api, options, cursor) => api.comparisons.list({ limit: PAGE_ROWS, ...given({ cursor, program_id: of }) }, options),
    settings,
  );
  return (
    <Page
      title="Move-ins"
      lead={
        <>
          Cards that move in from another ledger, with their balances and open holds.{' '}
          <a href="/guides/move-in">How to move a program</a>
        </>
      }
    >
      <Filters>
        <ProgramFilter value={of} onChange={(chosen) => setFilter({ of: chosen })} />
      </Filters>
      <PagedTable
        pages={moveIns}
        canRetry
        label="Move-ins"
        columns={MOVE_IN_COLUMNS}
        rowKey={({ move_in_id: id }) => id}
        href={hrefOfMoveIn}
        empty={
          <Empty title={of === '' ? 'No move-ins' : 'No move-ins of this card program'}>
            Check a file on the command line first:{' '}
            <code>transfer-service move-in check FILE --program {of || 'PROGRAM'}</code>
          </Empty>
        }
      />
      <Section title="Comparisons">
        <PagedTable
          pages={comparisons}
          canRetry
          label="Comparisons"
          columns={COMPARISON_COLUMNS}
          rowKey={({ comparison_id: id }) => id}
          href={hrefOfComparison}
          empty={
            <Empty title={of === '' ? 'No comparisons' : 'No comparisons of this card program'}>
              Compare every card here with a balance file of the old ledger:{' '}
              <code>transfer-service move-in compare FILE --program {of || 'PROGRAM'}</code>
            </Empty>
          }
        />
      </Section>
    </Page>
  );
}

const hrefOfMoveIn = ({ move_in_id: id }: MoveInRecord): string => hrefTo(pathOf(id) ?? '');

const hrefOfComparison = ({ comparison_id: id }: ComparisonRecord): string => hrefTo(pathOf(id) ?? '');

const MOVE_IN_COLUMNS: readonly Column<MoveInRecord>[] = [
  { title: 'File', onPhone: 'title', cell: (row) => <a href={hrefOfMoveIn(row)}>{row.name}</a> },
  {
    title: 'Status',
    onPhone: 'value',
    cell: ({ status }) => <Badge tone={MOVE_IN_STATUSES[status].tone}>{MOVE_IN_STATUSES[status].word}</Badge>,
  },
  { title: 'Lines', onPhone: 'note', cell: (row) => linesOfMoveIn(row) },
  {
    title: 'Adds up',
    onPhone: 'note',
    cell: ({ adds_up: addsUp }) =>
      addsUp === null ? null : <Badge tone={addsUp ? 'good' : 'bad'}>{addsUp ? 'adds up' : 'does not add up'}</Badge>,
  },
  { title: 'Program', onPhone: 'note', cell: ({ program_id: id }) => <ProgramName id={id} plain /> },
  { title: 'Created', onPhone: 'note', cell: ({ created_at: at }) => <Moment at={at} short /> },
];

const COMPARISON_COLUMNS: readonly Column<ComparisonRecord>[] = [
  { title: 'File', onPhone: 'title', cell: (row) => <a href={hrefOfComparison(row)}>{row.name}</a> },
  {
    title: 'Status',
    onPhone: 'value',
    cell: ({ status }) => <Badge tone={COMPARISON_STATUSES[status].tone}>{COMPARISON_STATUSES[status].word}</Badge>,
  },
  {
    title: 'Cards',
    onPhone: 'note',
    cell: (row) => workOfComparison(row)?.text ?? formatNumber(row.card_count, 'card'),
  },
  {
    title: 'Differences',
    onPhone: 'note',
    cell: ({ difference_count: count }) =>
      count === 0 ? (
        <span class="quiet none">none</span>
      ) : (
        <b class="unbroken">
          {formatCount(count)} <span class="phone-only">{count === 1 ? 'difference' : 'differences'}</span>
        </b>
      ),
  },
  { title: 'Program', onPhone: 'note', cell: ({ program_id: id }) => <ProgramName id={id} plain /> },
  { title: 'Created', onPhone: 'note', cell: ({ created_at: at }) => <Moment at={at} short /> },
];

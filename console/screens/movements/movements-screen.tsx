import type { FundingMovementRecord, SearchFundingMovementsQuery } from '../../../sdk/client.ts';
import { Button } from '../../components/button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { Filters } from '../../components/filters.tsx';
import { Empty } from '../../components/loaded.tsx';
import { ProgramName } from '../../components/name.tsx';
import { Page } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { useNow } from '../../data/clock.ts';
import { given, usePages } from '../../data/use-pages.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { addDays, boundsOfDay, dayOf } from '../../format/day.ts';
import { MOVEMENT_COLUMNS } from '../program/movement-columns.tsx';

const PAGE_ROWS = 50;

const NO_FILTER = { day: '', kind: '' };

const KINDS = { deposit: 'Deposits', withdrawal: 'Withdrawals' } as const;

/** Lists the deposits and withdrawals of all card programs. A day shows who moved money on it, and why. */
export function MovementsScreen() {
  const [filter, setFilter] = useUrlState(NO_FILTER);
  const now = useNow();
  const { from, to } = boundsOfDay(filter.day) ?? {};
  const kind = Object.hasOwn(KINDS, filter.kind) ? (filter.kind as keyof typeof KINDS) : undefined;
  const isFiltered = filter.day !== '' || filter.kind !== '';
  const movements = usePages<FundingMovementRecord>(
    (api, options, cursor) => {
      const query: SearchFundingMovementsQuery = given({ cursor, created_from: from, created_to: to });
      return api.movements.search({ limit: PAGE_ROWS, ...query, ...(kind !== undefined && { kind }) }, options);
    },
    { deps: [filter] },
  );
  const toDay = (text: string, day: string) => <Button onClick={() => setFilter({ day })}>{text}</Button>;
  const today = dayOf(now);
  return (
    <Page
      title="Deposits and withdrawals"
      lead="Money that came into or left the funds of all card programs, who moved it, and why."
    >
      <Filters onClear={isFiltered ? () => setFilter(NO_FILTER) : undefined}>
        <TextField
          label="Day"
          type="date"
          value={filter.day}
          onInput={(day) => setFilter({ day }, { replace: true })}
        />
        <SelectField
          label="Kind"
          value={kind ?? ''}
          onChange={(chosen) => setFilter({ kind: chosen })}
          options={[['', 'Both'], ...Object.entries(KINDS)]}
        />
        <div class="presets">
          {toDay('Today', today)}
          {toDay('Yesterday', addDays(today, -1))}
        </div>
      </Filters>
      <PagedTable
        pages={movements}
        label="Deposits and withdrawals"
        columns={COLUMNS}
        rowKey={({ movement_id: id }) => id}
        empty={
          <Empty title={isFiltered ? 'None match these filters' : 'No deposits yet'}>
            {isFiltered ? 'Choose another day or kind.' : 'Make the first deposit on the page of a card program.'}
          </Empty>
        }
      />
    </Page>
  );
}

const [TIME, ...OTHERS] = MOVEMENT_COLUMNS;

const COLUMNS: readonly Column<FundingMovementRecord>[] = [
  ...(TIME === undefined ? [] : [TIME]),
  { title: 'Program', onPhone: 'note', cell: ({ program_id: id }) => <ProgramName id={id} plain /> },
  ...OTHERS.filter(({ title }) => title !== 'Balance afterwards' && title !== 'Metadata'),
];

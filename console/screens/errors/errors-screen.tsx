import {
  ERROR_TYPES,
  type ErrorCounts,
  type LoggedErrorRecord,
  type OperatorErrorRecord,
} from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { BarChart } from '../../components/chart.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Empty } from '../../components/empty.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { Filters } from '../../components/filters.tsx';
import { Id } from '../../components/id.tsx';
import { Loaded, Loading } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { hrefTo } from '../../data/location.ts';
import { useProgram } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { usePages } from '../../data/use-pages.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { toErrorSeries } from '../../format/requests/error-series.ts';
import './errors.css';

const DAY_MILLISECONDS = 86_400_000;

/** How far back the screen looks, by its name in the URL. */
const RANGES = {
  day: { text: 'Last 24 hours', days: 1, interval: 'hour' },
  week: { text: 'Last 7 days', days: 7, interval: 'hour' },
  month: { text: 'Last 30 days', days: 30, interval: 'day' },
  all: { text: 'All that is stored', days: null, interval: 'day' },
} as const;

type Range = keyof typeof RANGES;

const NO_FILTER = { range: 'day', code: '', type: '', operation: '', card: '', programs: '' };

/** The program is known where the errors of all programs are listed. */
type Row = LoggedErrorRecord & Partial<Pick<OperatorErrorRecord, 'program_id'>>;

/** How often each code occurred, and the errors themselves; for callers of one program, theirs. */
export function ErrorsScreen() {
  const { can } = useSession();
  const { programId } = useProgram();
  const [filter, setFilter] = useUrlState(NO_FILTER);
  const isOperator = can('search_errors');
  const range = Object.hasOwn(RANGES, filter.range) ? (filter.range as Range) : 'day';
  const onlyProgram = !isOperator || filter.programs === 'chosen' ? programId : undefined;
  const isFiltered = Object.entries(NO_FILTER).some(
    ([name, value]) => filter[name as keyof typeof NO_FILTER] !== value,
  );
  return (
    <Page title="Errors">
      <Filters onClear={isFiltered ? () => setFilter(NO_FILTER) : undefined}>
        <SelectField
          label="Period"
          value={range}
          onChange={(value) => setFilter({ range: value })}
          options={Object.entries(RANGES).map(([name, { text }]) => [name, text] as const)}
        />
        <TextField label="Code" value={filter.code} onInput={(code) => setFilter({ code }, { replace: true })} />
        <SelectField
          label="Type"
          value={filter.type}
          onChange={(type) => setFilter({ type })}
          options={[['', 'Any'], ...ERROR_TYPES]}
        />
        <TextField
          label="Operation"
          value={filter.operation}
          placeholder="create_transfer"
          onInput={(operation) => setFilter({ operation }, { replace: true })}
        />
        <TextField label="Card" value={filter.card} onInput={(card) => setFilter({ card }, { replace: true })} />
        {isOperator && (
          <SelectField
            label="Card program"
            value={filter.programs}
            onChange={(programs) => setFilter({ programs })}
            options={[
              ['', 'All'],
              ['chosen', 'The chosen one'],
            ]}
          />
        )}
      </Filters>
      {isOperator && (
        <Chart range={range} code={filter.code} programId={onlyProgram} onCode={(code) => setFilter({ code })} />
      )}
      <ErrorList filter={filter} range={range} programId={onlyProgram} isOperator={isOperator} />
    </Page>
  );
}

const CHART_POLL_MILLISECONDS = 15_000;

function Chart({
  range,
  code,
  programId,
  onCode,
}: {
  readonly range: Range;
  readonly code: string;
  readonly programId: string | undefined;
  readonly onCode: (code: string) => void;
}) {
  const { days, interval, text } = RANGES[range];
  const counts = useOperation(
    (api, options) => {
      // The service counts whole intervals, and the present one is part of the period.
      const from = new Date(Date.now() - (days ?? 90) * DAY_MILLISECONDS).toISOString();
      return api.errors.count({ interval, from, ...given({ code, program_id: programId }) }, options);
    },
    { deps: [range, code, programId], pollMilliseconds: CHART_POLL_MILLISECONDS },
  );
  return (
    <Loaded state={counts}>
      {(found) => <Counts counts={found} title={`Errors by code, ${text.toLowerCase()}`} code={code} onCode={onCode} />}
    </Loaded>
  );
}

/** Codes that are listed beside the chart. */
const MAX_CODES = 12;

function Counts({
  counts,
  title,
  code,
  onCode,
}: {
  readonly counts: ErrorCounts;
  readonly title: string;
  readonly code: string;
  readonly onCode: (code: string) => void;
}) {
  const { times, series, totals } = toErrorSeries(counts);
  if (totals.length === 0) return null;
  return (
    <>
      <BarChart title={title} times={times} series={series} />
      <ul class="error-codes" aria-label="Codes">
        {totals.slice(0, MAX_CODES).map((total) => (
          <li key={total.code}>
            <Button
              kind="quiet"
              onClick={() => onCode(total.code === code ? '' : total.code)}
              title={total.code === code ? 'Show all codes' : 'Show only this code'}
            >
              <code>{total.code}</code> {total.count.toLocaleString('en-US')}
            </Button>
          </li>
        ))}
      </ul>
      {counts.dropped > 0 && (
        <p class="quiet">{counts.dropped.toLocaleString('en-US')} more errors of this period could not be recorded.</p>
      )}
    </>
  );
}

const PAGE_ROWS = 50;
const LIST_POLL_MILLISECONDS = 5_000;

function ErrorList({
  filter,
  range,
  programId,
  isOperator,
}: {
  readonly filter: typeof NO_FILTER;
  readonly range: Range;
  readonly programId: string | undefined;
  readonly isOperator: boolean;
}) {
  const { days } = RANGES[range];
  const pages = usePages<Row>(
    (api, options, cursor) => {
      const wanted = {
        limit: PAGE_ROWS,
        ...given({ cursor, code: filter.code, operation: filter.operation, card_id: filter.card }),
        ...(days === null ? {} : { created_from: new Date(Date.now() - days * DAY_MILLISECONDS).toISOString() }),
        ...typeOf(filter.type),
      };
      if (!isOperator) return api.errors.list(wanted, options);
      return api.errors.search({ ...wanted, ...given({ program_id: programId }) }, options);
    },
    { deps: [filter, programId, isOperator], pollMilliseconds: LIST_POLL_MILLISECONDS },
  );
  return (
    <Section title="Each error">
      {pages.error !== undefined && (
        <ErrorRecord error={pages.error} stale={pages.isLoaded}>
          <Button onClick={pages.reload}>Try again</Button>
        </ErrorRecord>
      )}
      {!pages.isLoaded && pages.error === undefined && <Loading />}
      {pages.isLoaded && (
        <DataTable
          label="Errors"
          columns={isOperator ? OPERATOR_COLUMNS : COLUMNS}
          rows={pages.rows}
          rowKey={({ request_id }) => request_id}
          href={hrefOf}
          stale={pages.stale}
          empty={
            <Empty title="No errors here">
              {days === null
                ? 'Take a filter away to see more.'
                : 'Take a filter away or choose a longer period to see more.'}
            </Empty>
          }
        />
      )}
      <Pager {...pages.pager} />
    </Section>
  );
}

function hrefOf({ request_id }: Row): string {
  return hrefTo(`/console/request/${encodeURIComponent(request_id)}`);
}

const COLUMNS: readonly Column<Row>[] = [
  {
    title: 'Time',
    cell: (row) => (
      <a href={hrefOf(row)}>
        <Moment at={row.created_at} />
      </a>
    ),
  },
  {
    title: 'Code',
    cell: ({ status, type, code, operation }) => (
      <div>
        <Badge tone={type === 'Request Error' ? 'plain' : 'bad'}>
          {status} <code>{code}</code>
        </Badge>
        {operation !== null && <small class="quiet error-operation">{operation}</small>}
      </div>
    ),
  },
  {
    title: 'What happened',
    cell: ({ message }) => <span class="error-text">{message}</span>,
  },
  { title: 'Card', cell: ({ card_id, program_id }) => <Id id={card_id} kind="card" programId={program_id} /> },
  { title: 'Money', cell: ({ money_moved }) => <MoneyMoved value={money_moved} /> },
];

const OPERATOR_COLUMNS: readonly Column<Row>[] = [
  ...COLUMNS,
  { title: 'Program', cell: ({ program_id }) => <Id id={program_id} kind="program" />, wideOnly: true },
];

function MoneyMoved({ value }: { readonly value: LoggedErrorRecord['money_moved'] }) {
  if (value === 'yes') return <Badge tone="bad">moved</Badge>;
  if (value === 'unknown') return <Badge tone="waiting">not known</Badge>;
  return <span class="quiet unbroken">not moved</span>;
}

/** The parameters that have a value. */
function given<Name extends string>(values: Readonly<Record<Name, string | undefined>>): Partial<Record<Name, string>> {
  const pairs = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  return Object.fromEntries(pairs) as Partial<Record<Name, string>>;
}

function typeOf(sent: string): { readonly type?: (typeof ERROR_TYPES)[number] } {
  const type = ERROR_TYPES.find((known) => known === sent);
  return type === undefined ? {} : { type };
}

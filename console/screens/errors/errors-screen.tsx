import {
  ERROR_TYPES,
  type ErrorCounts,
  type LoggedErrorRecord,
  type OperatorErrorRecord,
} from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { BarChart } from '../../components/charts/chart.tsx';
import type { Column } from '../../components/data-table.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { Filters, PeriodFilter } from '../../components/filters.tsx';
import { Id, LinkedText } from '../../components/id.tsx';
import { Empty, Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { CardName, KeyName, ProgramName } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { hrefTo } from '../../data/location.ts';
import { useProgram } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { given, usePages } from '../../data/use-pages.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { toErrorSeries } from '../../format/requests/error-series.ts';
import { boundsOf, isBounded, PERIODS } from '../../format/times.ts';
import './errors.css';

const HOUR_MILLISECONDS = 3_600_000;
const DAY_MILLISECONDS = 24 * HOUR_MILLISECONDS;

/** The default retention of errors. */
const LONGEST_DAYS = 90;

/** A longer chart has one bar per day. */
const MAX_HOURLY_DAYS = 8;

const NO_FILTER = { period: 'day', from: '', to: '', code: '', type: '', operation: '', card: '', programs: '' };

type Filter = typeof NO_FILTER;

/** The program is known if the list has the errors of all programs. */
type Row = LoggedErrorRecord & Partial<Pick<OperatorErrorRecord, 'program_id'>>;

/** Shows how often each code occurred, and the error log. Callers of one program see only its errors. */
export function ErrorsScreen() {
  const { can } = useSession();
  const { programId } = useProgram();
  const [filter, setFilter] = useUrlState(NO_FILTER);
  const isOperator = can('search_errors');
  const onlyProgram = !isOperator || filter.programs === 'chosen' ? programId : undefined;
  const isFiltered = Object.entries(NO_FILTER).some(
    ([name, value]) => filter[name as keyof typeof NO_FILTER] !== value,
  );
  return (
    <Page title="Errors">
      <Filters onClear={isFiltered ? () => setFilter(NO_FILTER) : undefined}>
        <PeriodFilter label="Period" isActual value={filter} onChange={setFilter} />
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
              ['chosen', 'The chosen program'],
            ]}
          />
        )}
      </Filters>
      {isOperator && <Chart filter={filter} programId={onlyProgram} onCode={(code) => setFilter({ code })} />}
      <ErrorList filter={filter} programId={onlyProgram} isOperator={isOperator} />
    </Page>
  );
}

const CHART_POLL_MILLISECONDS = 15_000;

function Chart({
  filter,
  programId,
  onCode,
}: {
  readonly filter: Filter;
  readonly programId: string | undefined;
  readonly onCode: (code: string) => void;
}) {
  const { period, from, to, code } = filter;
  const counts = useOperation(
    (api, options) => api.errors.count({ ...chartOf(filter), ...given({ code, program_id: programId }) }, options),
    { deps: [period, from, to, code, programId], pollMilliseconds: CHART_POLL_MILLISECONDS },
  );
  const name = Object.hasOwn(PERIODS, period) ? PERIODS[period as keyof typeof PERIODS].toLowerCase() : undefined;
  const all = filter.card + filter.type + filter.operation === '' ? '' : ', of all cards, types and operations';
  const title = `${name === undefined ? 'Errors by code' : `Errors by code, ${name}`}${all}`;
  return (
    <Loaded state={counts}>{(found) => <Counts counts={found} title={title} code={code} onCode={onCode} />}</Loaded>
  );
}

/** Returns the period of the chart. The service counts whole intervals, including the current one. */
function chartOf(filter: Filter): { readonly interval: 'hour' | 'day'; readonly from: string; readonly to?: string } {
  const now = Date.now();
  const { from = new Date(now - LONGEST_DAYS * DAY_MILLISECONDS).toISOString(), to } = boundsOf(filter, now);
  const days = (Math.min(to === undefined ? now : Date.parse(to), now) - Date.parse(from)) / DAY_MILLISECONDS;
  return { interval: days > MAX_HOURLY_DAYS ? 'day' : 'hour', from, ...(to === undefined ? {} : { to }) };
}

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
  programId,
  isOperator,
}: {
  readonly filter: Filter;
  readonly programId: string | undefined;
  readonly isOperator: boolean;
}) {
  const pages = usePages<Row>(
    (api, options, cursor) => {
      const { from: created_from, to: created_to } = boundsOf(filter, Date.now());
      const wanted = {
        limit: PAGE_ROWS,
        ...given({ cursor, code: filter.code, operation: filter.operation, card_id: filter.card }),
        ...given({ created_from, created_to }),
        ...typeOf(filter.type),
      };
      if (!isOperator) return api.errors.list(wanted, options);
      return api.errors.search({ ...wanted, ...given({ program_id: programId }) }, options);
    },
    { deps: [filter, programId, isOperator], pollMilliseconds: LIST_POLL_MILLISECONDS },
  );
  return (
    <Section title="Error log">
      <PagedTable
        pages={pages}
        canRetry
        label="Errors"
        columns={isOperator ? OPERATOR_COLUMNS : COLUMNS}
        rowKey={({ request_id }) => request_id}
        href={hrefOf}
        empty={
          <Empty title="No errors here">
            {isBounded(filter)
              ? 'Remove a filter or choose a longer period to see more.'
              : 'Remove a filter to see more.'}
          </Empty>
        }
      />
    </Section>
  );
}

function hrefOf({ request_id }: Row): string {
  return hrefTo(`/console/request/${encodeURIComponent(request_id)}`);
}

const COLUMNS: readonly Column<Row>[] = [
  {
    title: 'Time',
    onPhone: 'note',
    cell: (row) => (
      <a href={hrefOf(row)}>
        <Moment at={row.created_at} short actual />
      </a>
    ),
  },
  {
    title: 'What happened',
    onPhone: 'title',
    cell: ({ message, status, code, operation, program_id: programId }) => (
      <div class="error-what">
        <span class="error-text">
          <LinkedText text={message} programId={programId} />
        </span>
        <small class={status >= 500 ? 'bad' : 'quiet'}>
          {status} <code>{code}</code>
          {operation !== null && <span class="quiet"> {operation}</span>}
        </small>
      </div>
    ),
  },
  {
    title: 'Card',
    onPhone: 'note',
    optional: 'shown',
    cell: ({ card_id, program_id }) => card_id !== null && <CardName id={card_id} programId={program_id} plain />,
  },
  {
    title: 'Money',
    onPhone: 'note',
    optional: 'shown',
    cell: ({ money_moved: moved }) => moved !== null && <MoneyMoved value={moved} />,
  },
  { title: 'Caller', optional: 'hidden', cell: ({ key_id: id }) => id !== null && <KeyName id={id} plain /> },
  { title: 'Idempotency key', optional: 'hidden', cell: ({ idempotency_key: key }) => key },
  { title: 'Request', optional: 'hidden', cell: ({ request_id: id }) => <Id id={id} /> },
];

const OPERATOR_COLUMNS: readonly Column<Row>[] = [
  ...COLUMNS,
  {
    title: 'Program',
    optional: 'shown',
    cell: ({ program_id: id }) => typeof id === 'string' && <ProgramName id={id} plain />,
  },
];

function MoneyMoved({ value }: { readonly value: LoggedErrorRecord['money_moved'] }) {
  if (value === 'yes') return <Badge tone="bad">moved</Badge>;
  if (value === 'unknown') return <Badge tone="waiting">unknown</Badge>;
  return <span class="quiet unbroken">not moved</span>;
}

function typeOf(sent: string): { readonly type?: (typeof ERROR_TYPES)[number] } {
  const type = ERROR_TYPES.find((known) => known === sent);
  return type === undefined ? {} : { type };
}

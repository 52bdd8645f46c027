import { useEffect, useState } from 'preact/hooks';
import type { DayRecord } from '../../../sdk/client.ts';
import { Button, ButtonLink, WhoMay } from '../../components/button.tsx';
import { useCsvExport } from '../../components/csv-export.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Details } from '../../components/details.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { AreaField, TextField } from '../../components/field.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { KeyName, ProgramName } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import { hrefTo, type Parameters } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';
import { useDebouncedText, useUrlState } from '../../data/use-url-state.ts';
import { formatCount, formatDigits } from '../../format/amounts.ts';
import { addDays, type DayLine, formatDay, linesOf, verdictOf } from '../../format/day.ts';
import './day.css';

const PAUSE_MILLISECONDS = 500;

/** Without a day in the URL, the screen shows yesterday in the time zone of the program. */
const NO_DAY = { day: '' };

/** Shows a day of a card program: whether it adds up, each currency from its opening to its closing balances, and the breaks. */
export function DayScreen({ parameters }: { readonly parameters: Parameters }) {
  const programId = parameters.program_id ?? '';
  const { can } = useSession();
  const [{ day }, setDay] = useUrlState(NO_DAY);
  const [isClosing, setClosing] = useState(false);
  const report = useOperation((api, options) => api.days.get(programId, { day: day || undefined }, options), {
    deps: [programId, day],
  });
  const { data } = report;
  const csv = useCsvExport(`day-${data?.day}.csv`, 'lines', (api, options) =>
    api.days.export(programId, { day: data?.day }, options),
  );
  // Puts the day into the URL, because a copied address must show the same day tomorrow.
  useEffect(() => {
    if (day === '' && data !== undefined) setDay({ day: data.day }, { replace: true });
  }, [day, data]);
  return (
    <Page
      title={data === undefined ? 'Day' : formatDay(data.day, 'long')}
      lead={
        <>
          Day of <ProgramName id={programId} plain />
          {data !== undefined && `, in the time zone ${data.time_zone}`}
        </>
      }
      actions={
        data !== undefined && (
          <>
            {data.status === 'open' && can('close_day') && (
              <Button kind="main" onClick={() => setClosing(true)}>
                Close the day
              </Button>
            )}
            {csv.button}
          </>
        )
      }
    >
      {csv.note}
      <Loaded state={report}>
        {(found) => (
          <>
            <Answer report={found} />
            <Days report={found} day={day} onDay={(chosen) => setDay({ day: chosen })} />
            {found.currencies.map((sheet) => (
              <Section key={sheet.currency} title={sheet.currency}>
                <div class="day">
                  <DataTable
                    label={`The day in ${sheet.currency}`}
                    columns={columnsOf(sheet.currency)}
                    rows={linesOf(sheet)}
                    rowKey={({ name }) => name}
                  />
                </div>
              </Section>
            ))}
            <Orders report={found} />
            <Breaks report={found} />
          </>
        )}
      </Loaded>
      {isClosing && data !== undefined && (
        <CloseDialog
          report={data}
          onDone={() => {
            setClosing(false);
            report.reload();
          }}
          onClose={() => setClosing(false)}
        />
      )}
    </Page>
  );
}

function Answer({ report }: { readonly report: DayRecord }) {
  const { status, adds_up: addsUp, currencies, ends_at: end, closed_at: at, closed_by: by, note } = report;
  const { tone, sentence } = verdictOf(report);
  return (
    <div class={`answer ${tone}`}>
      <p>
        <b>{sentence}</b> {!addsUp && <a href="/docs/runbook/books-not-balanced.md">What to do</a>}
        {currencies.length === 0 && 'The card program had no money.'}
      </p>
      <p class="quiet">
        {status === 'running' && (
          <>
            This day ends at <Moment at={end} />.
          </>
        )}
        {status === 'open' && 'No one has closed this day yet.'}
        {status === 'closed' && (
          <>
            Closed by <KeyName id={by} plain />, <Moment at={at} />: {note}
          </>
        )}
      </p>
    </div>
  );
}

/** Shows links to other days. */
function Days({
  report: { day: shown, status, last_closed_day: closed },
  day,
  onDay,
}: {
  readonly report: DayRecord;
  readonly day: string;
  readonly onDay: (day: string) => void;
}) {
  const [typed, setTyped] = useDebouncedText(day || shown, onDay, { pauseMilliseconds: PAUSE_MILLISECONDS });
  const link = (other: string) => hrefTo(window.location.pathname, { day: other });
  return (
    <>
      <div class="day-turn">
        <ButtonLink href={link(addDays(shown, -1))}>Previous day</ButtonLink>
        {status !== 'running' && <ButtonLink href={link(addDays(shown, 1))}>Next day</ButtonLink>}
        <TextField label="Day" type="date" value={typed} onInput={setTyped} />
      </div>
      <p class="quiet">
        {closed === null ? (
          'No earlier day is closed.'
        ) : (
          <>
            The last closed day before it is <a href={link(closed)}>{formatDay(closed)}</a>.
          </>
        )}
      </p>
      <WhoMay operation="close_day" to="close a day" />
    </>
  );
}

const NONE = <span class="quiet none">–</span>;

function columnsOf(currency: string): readonly Column<DayLine>[] {
  const account = (title: string, name: 'funding' | 'cards' | 'suspense' | 'loss'): Column<DayLine> => ({
    title,
    align: 'end',
    cell: ({ postings, [name]: amount }) => {
      if (postings === null) return formatDigits(amount, currency);
      if (amount === 0) return NONE;
      return `${String(amount).startsWith('-') ? '' : '+'}${formatDigits(amount, currency)}`;
    },
  });
  return [
    { title: 'Line', cell: ({ name, postings }) => (postings === null ? <b>{name}</b> : name) },
    { title: 'Postings', align: 'end', cell: ({ postings }) => (postings === null ? NONE : formatCount(postings)) },
    account('Funding', 'funding'),
    account('Cards', 'cards'),
    account('Suspense', 'suspense'),
    account('Loss', 'loss'),
  ];
}

type Orders = DayRecord['settlements'][number];
type Sums = { readonly connector: string; readonly currency: string; readonly direction: string } & Orders['pushed'];

/** Shows the approved orders that processors have not settled yet. */
function Orders({ report: { settlements, program_id: programId, ends_at: end } }: { readonly report: DayRecord }) {
  if (settlements.length === 0) return null;
  const rows = settlements.flatMap(({ connector_id: connector, currency, pushed, pulled }): readonly Sums[] => [
    { connector, currency, direction: 'To cards', ...pushed },
    { connector, currency, direction: 'From cards', ...pulled },
  ]);
  const sum = (title: string, name: keyof Orders['pushed']): Column<Sums> => ({
    title,
    align: 'end',
    cell: ({ currency, [name]: amount }) => (amount === null ? NONE : formatDigits(amount, currency)),
  });
  return (
    <Section title="Not settled yet">
      <p class="quiet">
        Orders that a processor has approved, until one of its settlement files has them. The next files should settle
        the amount in the column Still to settle. Fees are the processor's, in the lines that settled orders on this
        day.
      </p>
      <DataTable
        label="Orders that are not settled yet"
        columns={[
          { title: 'Processor', cell: ({ connector, currency }) => `${connector}, ${currency}` },
          { title: 'Money', cell: ({ direction }) => direction },
          sum('When the day began', 'opening'),
          sum('Approved', 'approved'),
          sum('Settled', 'settled'),
          sum('Has a break', 'resolved'),
          {
            title: 'Still to settle',
            align: 'end',
            cell: ({ connector, currency, direction, closing }) => (
              <a
                href={hrefTo('/console/processors', {
                  unsettled_at: end,
                  of_program: programId,
                  connector_id: connector,
                })}
                title={`The transfers that ${connector} has not settled (${direction.toLowerCase()})`}
              >
                {formatDigits(closing, currency)}
              </a>
            ),
          },
          sum('Fees', 'fees'),
        ]}
        rows={rows}
        rowKey={({ connector, currency, direction }) => `${connector} ${currency} ${direction}`}
      />
    </Section>
  );
}

function Breaks({ report: { open_breaks: open, status } }: { readonly report: DayRecord }) {
  return (
    <Section title="Breaks">
      <p class="quiet">
        In a break, a processor contradicts the books. <a href={hrefTo('/console/processors')}>Open breaks</a>,{' '}
        <a href={hrefTo('/console/processors', { breaks: 'closed' })}>closed breaks</a>
      </p>
      <Details facts={[[status === 'closed' ? 'Open when the day was closed' : 'Open now', formatCount(open)]]} />
    </Section>
  );
}

function CloseDialog({
  report: { program_id: programId, day, adds_up: addsUp },
  onDone,
  onClose,
}: {
  readonly report: DayRecord;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const [note, setNote] = useState('');
  const close = useAction(
    (body: { readonly day: string; readonly note: string }, api, options) => api.days.close(programId, body, options),
    { operation: `close_day ${programId}` },
  );
  const confirm = async () => {
    if ((await close.run({ day, note: note.trim() })) !== undefined) onDone();
  };
  return (
    <ConfirmDialog
      title={`Close ${formatDay(day)}`}
      confirm="Close the day"
      pending={close.pending}
      disabled={note.trim() === ''}
      error={close.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      {!addsUp && <p>This day does not add up.</p>}
      <p>The service keeps its report as it is now. You can't open the day again.</p>
      <AreaField
        label="What you checked"
        name="note"
        value={note}
        onInput={setNote}
        isProse
        hint="Kept with the day forever. Do not name a card holder."
      />
    </ConfirmDialog>
  );
}

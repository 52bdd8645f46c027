import { useState } from 'preact/hooks';
import type { BreakRecord, CloseBreakBody } from '../../../sdk/client.ts';
import { ApprovalNotice } from '../../components/approval.tsx';
import { Button } from '../../components/button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { AreaField, SelectField } from '../../components/field.tsx';
import { Filters } from '../../components/filters.tsx';
import { Id, LinkedText } from '../../components/id.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { KeyName, ProgramName } from '../../components/name.tsx';
import { Section } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { hrefTo } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { given, usePages } from '../../data/use-pages.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { shortId } from '../../format/ids.ts';
import { sentenceCase } from '../../format/names.ts';
import { ageText, BREAK_KINDS, bookingChoices, statementOf } from '../../format/operators/processors.ts';
import { formatNumber } from '../../format/operators/switch.ts';
import { formatUtc } from '../../format/times.ts';

const PAGE_ROWS = 20;
const POLL_MILLISECONDS = 5_000;

const NO_FILTER = { breaks: '' };

/** Lists the breaks, where a processor contradicts the books: the open ones, oldest first, or the closed ones. */
export function Breaks({
  fileId,
  onDone,
}: {
  /** The settlement file that has caused them. Undefined for all breaks. */
  readonly fileId?: string;
  /** Receives a sentence that says what was done. */ readonly onDone: (text: string) => void;
}) {
  const { can } = useSession();
  const [{ breaks: chosen }, setFilter] = useUrlState(NO_FILTER);
  const [closing, setClosing] = useState<BreakRecord | undefined>(undefined);
  const status = chosen === 'closed' ? 'closed' : 'open';
  const breaks = usePages<BreakRecord>(
    (api, options, cursor) =>
      api.breaks.list({ limit: PAGE_ROWS, status, ...given({ cursor, settlement_file_id: fileId }) }, options),
    { deps: [status, fileId], pollMilliseconds: POLL_MILLISECONDS },
  );
  const end = () => setClosing(undefined);
  return (
    <Section title="Breaks">
      <p class="quiet">In a break, a processor contradicts the books. An operator must settle each break.</p>
      <Filters>
        <SelectField
          label="Breaks"
          value={status === 'closed' ? 'closed' : ''}
          onChange={(value) => setFilter({ breaks: value })}
          options={[
            ['', 'Open'],
            ['closed', 'Closed'],
          ]}
        />
      </Filters>
      <PagedTable
        pages={breaks}
        canRetry
        label="Breaks"
        columns={[
          ...COLUMNS,
          ...(status === 'closed' ? [CLOSED] : []),
          ...(can('close_break') ? [actionOf(setClosing)] : []),
        ]}
        rowKey={({ break_id: id }) => id}
        href={hrefOf}
        empty={<Empty title={status === 'open' ? 'No open breaks' : 'No closed breaks'} />}
      />
      {closing !== undefined && (
        <CloseDialog
          found={closing}
          onDone={(text) => {
            end();
            onDone(text);
            breaks.reload();
          }}
          onClose={end}
        />
      )}
    </Section>
  );
}

const hrefOf = ({ break_id: id, program_id: program }: BreakRecord): string =>
  hrefTo(`/console/break/${id}`, program === null ? {} : { program });

const COLUMNS: readonly Column<BreakRecord>[] = [
  {
    title: 'What happened',
    onPhone: 'title',
    cell: (row) => <a href={hrefOf(row)}>{sentenceCase(BREAK_KINDS[row.kind].word)}</a>,
  },
  {
    title: 'In the books',
    onPhone: 'note',
    cell: ({ expected }) => (
      <>
        <span class="phone-only">Books: </span>
        {expected.replaceAll(/stl_[0-9a-f]{32}/g, shortId)}
      </>
    ),
  },
  {
    title: 'The processor says',
    onPhone: 'note',
    cell: (row) => (
      <>
        <span class="phone-only">Processor: </span>
        <LinkedText text={statementOf(row)} />
        {row.settlement_lines.map(({ file_id: id, line_number: line }) => (
          <div key={`${id} ${line}`} class="quiet">
            <a href={hrefTo(`/console/settlement/${id}`)} title={id}>
              Line {line} of a file
            </a>
          </div>
        ))}
      </>
    ),
  },
  {
    title: 'Amount',
    align: 'end',
    onPhone: 'value',
    cell: ({ amount, currency }) => (currency === null ? null : <Money amount={amount} currency={currency} />),
  },
  {
    title: 'Age',
    onPhone: 'note',
    cell: ({ age_seconds: age, created_at: at }) => (
      <time class="moment" dateTime={at} title={formatUtc(at)}>
        <span class="phone-only">Age </span>
        {ageText(age)}
      </time>
    ),
  },
  {
    title: 'Transfer',
    onPhone: 'note',
    cell: ({ transfer_id: id, program_id: programId }) => <Id id={id} programId={programId} />,
  },
  { title: 'Connector', onPhone: 'note', cell: ({ connector_id: id }) => id },
  { title: 'Program', cell: ({ program_id: id }) => <ProgramName id={id} plain /> },
];

const CLOSED: Column<BreakRecord> = {
  title: 'Closed',
  onPhone: 'note',
  cell: ({ closed_at: at, closed_by: by, note }) => (
    <>
      <Moment at={at} short /> by <KeyName id={by} plain />
      <div class="quiet">{note}</div>
    </>
  ),
};

function actionOf(onClose: (found: BreakRecord) => void): Column<BreakRecord> {
  return {
    title: 'Actions',
    onPhone: 'note',
    cell: (found) => {
      const isClosed = found.closed_at !== null;
      if (isClosed && found.bookings.length === 0) return null;
      return (
        <span class="row-actions">
          <Button title={`${isClosed ? 'Book' : 'Close'} the break ${found.break_id}`} onClick={() => onClose(found)}>
            {isClosed ? 'Book…' : 'Close…'}
          </Button>
        </span>
      );
    },
  };
}

/** Asks for the findings and actions about a break, and against which account its difference is booked. */
export function CloseDialog({
  found: shown,
  chosen = '',
  orders: proposed = '',
  onDone,
  onClose,
}: {
  readonly found: BreakRecord;
  /** The account that the form proposes to book against. */
  readonly chosen?: string;
  /** The attempt that the form proposes as the order of the line. */
  readonly orders?: string;
  readonly onDone: (text: string) => void;
  readonly onClose: () => void;
}) {
  const { break_id: id, kind, connector_id: connector, expected } = shown;
  const [note, setNote] = useState('');
  const [against, setAgainst] = useState(chosen);
  const [orders, setOrders] = useState(proposed);
  const attemptIds = orders.split(/[\s,]+/).filter((one) => one !== '');
  const choices = bookingChoices(shown);
  const isClosed = shown.closed_at !== null;
  const close = useAction((body: CloseBreakBody, api, options) => api.breaks.close(id, body, options), {
    operation: `close_break ${id}`,
  });
  const confirm = async () => {
    const chosen = shown.bookings.find((one) => one.book_against === against);
    const booking = chosen === undefined ? {} : { book_against: chosen.book_against, amount: chosen.amount };
    const settled = attemptIds.length === 0 ? {} : { attempt_ids: attemptIds };
    const closed = await close.run({ note: note.trim(), ...booking, ...settled });
    if (closed === undefined) return;
    const effect = against === '' ? '' : ', and its difference is booked';
    onDone(`The break is closed${attemptIds.length === 0 ? effect : ', and its orders are settled'}.`);
  };
  return (
    <ConfirmDialog
      title={`${isClosed ? 'Book the difference of' : 'Close'} a break of ${connector}`}
      confirm={confirmText(isClosed, against, attemptIds.length)}
      pending={close.pending}
      disabled={note.trim() === '' || (isClosed && against === '')}
      error={close.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>
        {BREAK_KINDS[kind].meaning} The books said: {expected}. The processor said: {statementOf(shown)}.
      </p>
      <p>Settle it with the processor first.</p>
      <ApprovalNotice operation="close_break" />
      {choices.length > 0 && (
        <SelectField
          label="Book the difference"
          name="book_against"
          value={against}
          onChange={setAgainst}
          options={[['', isClosed ? 'Choose…' : 'Not now: no money moves'], ...choices]}
        />
      )}
      {canNameOrders(shown) && (
        <AreaField
          label="Orders that the line pays (optional)"
          name="attempt_ids"
          value={orders}
          onInput={setOrders}
          rows={2}
          hint="Ids of attempts (pat_…), separated by commas. Their amounts must sum to the amount of the line."
        />
      )}
      <AreaField
        label="What you found and did"
        name="note"
        value={note}
        onInput={setNote}
        isProse
        hint="For operators and the audit log."
      />
    </ConfirmDialog>
  );
}

function confirmText(isClosed: boolean, against: string, orders: number): string {
  if (isClosed) return 'Book the difference';
  if (orders > 0) return `Settle ${formatNumber(orders, 'order')} and close`;
  return against === '' ? 'Close the break' : 'Book the difference and close';
}

/** Whether a person can say which orders the line of a break pays. */
export function canNameOrders({ kind, closed_at: at, settlement_lines: lines }: BreakRecord): boolean {
  return kind === 'missing_in_ledger' && at === null && lines.length === 1;
}

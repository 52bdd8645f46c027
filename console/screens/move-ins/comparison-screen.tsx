import { useState } from 'preact/hooks';
import type { ComparisonRecord, DifferenceRecord, ListDifferencesQuery } from '../../../sdk/client.ts';
import { Actions } from '../../components/actions.tsx';
import { ApprovalNotice } from '../../components/approval.tsx';
import { Badge } from '../../components/badge.tsx';
import { WhoMay } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Details } from '../../components/details.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { AreaField, SelectField } from '../../components/field.tsx';
import { Filters } from '../../components/filters.tsx';
import { Id, LinkedText } from '../../components/id.tsx';
import { Empty, Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { KeyName, ProgramName } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { hrefTo, type Parameters } from '../../data/location.ts';
import { useProgramOf } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';
import { usePages } from '../../data/use-pages.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { formatCount } from '../../format/amounts.ts';
import { pathOf } from '../../format/ids.ts';
import { sentenceCase } from '../../format/names.ts';
import {
  COMPARISON_STATUSES,
  DIFFERENCE_REASONS,
  reasonWord,
  whyNotCutOver,
  workOfComparison,
} from '../../format/operators/move-ins.ts';
import { WorkProgress } from './work.tsx';

const POLL_MILLISECONDS = 2_000;
const PAGE_ROWS = 50;

/** One comparison with a balance file: its report, the sums of both sides, the differences, and the cut-over. */
export function ComparisonScreen({ parameters }: { readonly parameters: Parameters }) {
  const id = parameters.comparison_id ?? '';
  const { can } = useSession();
  const [done, setDone] = useState('');
  const [isCuttingOver, setCuttingOver] = useState(false);
  const state = useOperation((api, options) => api.comparisons.get(id, options), {
    deps: [id],
    ofAnyProgram: true,
    pollMilliseconds: POLL_MILLISECONDS,
  });
  const comparison = state.data;
  useProgramOf(comparison?.program_id);
  return (
    <Page
      title={comparison?.name ?? 'Comparison'}
      lead={<Id id={id} whole />}
      actions={
        comparison !== undefined &&
        can('cut_over') && (
          <Actions
            kind="main"
            actions={[{ text: 'Cut over…', whyNot: whyNotCutOver(comparison), onChoose: () => setCuttingOver(true) }]}
          />
        )
      }
    >
      <p class={done === '' ? 'hidden' : 'notice'} role="status">
        {done}
      </p>
      <Loaded state={state}>{(found) => <ComparisonContent comparison={found} />}</Loaded>
      <WhoMay operation="cut_over" to="cut the card program over" />
      {isCuttingOver && comparison !== undefined && (
        <CutOverDialog
          comparison={comparison}
          onDone={() => {
            setCuttingOver(false);
            setDone('The card program is cut over, and its transfers are enabled.');
            state.reload();
          }}
          onClose={() => setCuttingOver(false)}
        />
      )}
    </Page>
  );
}

function ComparisonContent({ comparison }: { readonly comparison: ComparisonRecord }) {
  const { status, program_id: programId, as_of: asOf, compared_at: comparedAt } = comparison;
  return (
    <>
      <Report comparison={comparison} />
      <Details
        facts={[
          [
            'Status',
            <Badge key="status" tone={COMPARISON_STATUSES[status].tone}>
              {COMPARISON_STATUSES[status].word}
            </Badge>,
          ],
          [
            'Card program',
            <>
              <ProgramName id={programId} plain /> (
              <a href={hrefTo('/console/move-ins', { of: programId })}>its move-ins and comparisons</a>)
            </>,
          ],
          ['Cards of the file', formatCount(comparison.card_count)],
          ['Books', asOf === null ? 'as they were at the comparison' : <Moment key="as_of" at={asOf} />],
          [
            'Created',
            <>
              <Moment at={comparison.created_at} /> by <KeyName id={comparison.created_by} plain />
            </>,
          ],
          comparedAt !== null && ['Compared', <Moment key="compared" at={comparedAt} />],
          ['SHA-256', <Id key="sha256" id={comparison.sha256} kind="other" />],
        ]}
      />
      <Section title="Sums">
        <DataTable
          label="Sums here and in the file"
          columns={SUM_COLUMNS}
          rows={sumsOf(comparison)}
          rowKey={({ currency, what }) => `${currency} ${what}`}
          empty={<Empty title="No cards yet" />}
        />
      </Section>
      <Differences comparison={comparison} />
    </>
  );
}

/** The report to sign, or how far the comparison is. */
function Report({ comparison }: { readonly comparison: ComparisonRecord }) {
  const { status, report, cut_over_at: at, cut_over_by: by, note } = comparison;
  const work = workOfComparison(comparison);
  return (
    <div class={status === 'equal' || status === 'cut_over' ? 'answer' : 'answer unknown'}>
      {work !== undefined && <WorkProgress work={work} reading={comparison} />}
      {report !== null && (
        <p>
          <b>
            <LinkedText text={report} programId={comparison.program_id} />
          </b>
        </p>
      )}
      {at !== null && (
        <p>
          Cut over by <KeyName id={by} plain />, <Moment at={at} />: {note}
        </p>
      )}
    </div>
  );
}

type Total = ComparisonRecord['totals_here'][number];

/** One sum of both sides, in one currency. */
type ComparedSum = {
  readonly currency: string;
  readonly what: string;
  readonly isMoney: boolean;
  readonly here: Total['balance'];
  readonly there: Total['balance'];
};

const SUMS = [
  ['cards', 'Cards', false],
  ['balance', 'Balances', true],
  ['holds', 'Holds', false],
  ['held', 'Held', true],
] as const;

function sumsOf({ totals_here: here, totals_there: there }: ComparisonRecord): readonly ComparedSum[] {
  const currencies = [...new Set([...here, ...there].map(({ currency }) => currency))];
  return currencies.flatMap((currency) => {
    const [one, other] = [here, there].map((side) => side.find((total) => total.currency === currency));
    return SUMS.map(([name, what, isMoney]) => {
      return { currency, what, isMoney, here: one?.[name] ?? 0, there: other?.[name] ?? 0 };
    });
  });
}

/** The values of one side. A phone shows no column heads, so each value says its side there. */
const sumOn = (title: string, side: 'here' | 'there'): Column<ComparedSum> => ({
  title,
  align: 'end',
  onPhone: 'note',
  cell: ({ currency, isMoney, [side]: sum }) => (
    <>
      {isMoney ? <Money amount={sum} currency={currency} /> : formatCount(Number(sum))}
      <span class="phone-only"> {title.toLowerCase()}</span>
    </>
  ),
});

const SUM_COLUMNS: readonly Column<ComparedSum>[] = [
  { title: 'Sum', onPhone: 'title', cell: ({ currency, what }) => `${what}, ${currency}` },
  sumOn('Here', 'here'),
  sumOn('In the file', 'there'),
  {
    title: 'Result',
    onPhone: 'value',
    cell: ({ here, there }) =>
      here === there ? <Badge tone="good">equal</Badge> : <Badge tone="bad">different</Badge>,
  },
];

type Reason = DifferenceRecord['reason'];

type ReasonCount = ComparisonRecord['differences'][number];

/** Lists the differences by reason, and those with the chosen reason one by one. */
function Differences({ comparison }: { readonly comparison: ComparisonRecord }) {
  const { comparison_id: id, difference_count: count, differences, status } = comparison;
  const [{ reason: chosen }, setFilter] = useUrlState({ reason: '' });
  const reason = Object.hasOwn(DIFFERENCE_REASONS, chosen) ? (chosen as Reason) : undefined;
  const rows = usePages<DifferenceRecord>(
    (api, options, cursor) => {
      const query: ListDifferencesQuery = {
        limit: PAGE_ROWS,
        ...(cursor !== undefined && { cursor }),
        ...(reason !== undefined && { reason }),
      };
      return api.comparisons.differences(id, query, options);
    },
    // Reads the list again when more differences are found.
    { deps: [id, reason, count] },
  );
  const hrefOf = ({ reason: one }: ReasonCount) => hrefTo(pathOf(id) ?? '', { reason: one });
  return (
    <Section title="Differences">
      {count > 0 && (
        <>
          <DataTable
            label="Differences by reason"
            columns={reasonColumns(hrefOf)}
            rows={differences}
            rowKey={({ reason: one }) => one}
            href={hrefOf}
          />
          <Filters onClear={reason === undefined ? undefined : () => setFilter({ reason: '' })}>
            <SelectField
              label="Probable reason"
              value={reason ?? ''}
              onChange={(next) => setFilter({ reason: next })}
              options={[
                ['', 'Any'],
                ...differences.map(({ reason: one }) => [one, sentenceCase(reasonWord(one))] as const),
              ]}
            />
          </Filters>
        </>
      )}
      <PagedTable
        pages={rows}
        canRetry
        turns={['Previous', 'Next']}
        label="Differences"
        columns={DIFFERENCE_COLUMNS}
        rowKey={({ number }) => String(number)}
        empty={
          <Empty
            title={
              reason === undefined
                ? `No differences${status === 'comparing' ? ' so far' : ''}`
                : 'No differences with this reason'
            }
          />
        }
      />
    </Section>
  );
}

const reasonColumns = (hrefOf: (row: ReasonCount) => string): readonly Column<ReasonCount>[] => [
  {
    title: 'Probable reason',
    onPhone: 'title',
    cell: (row) => <a href={hrefOf(row)}>{sentenceCase(reasonWord(row.reason))}</a>,
  },
  { title: 'Count', align: 'end', onPhone: 'value', cell: ({ count }) => formatCount(count) },
  { title: 'Meaning', onPhone: 'note', cell: ({ reason }) => DIFFERENCE_REASONS[reason]?.meaning },
];

const amountOn = (title: string, side: 'here' | 'there'): Column<DifferenceRecord> => ({
  title,
  align: 'end',
  cell: ({ currency, [side]: amount }) => (amount === null ? null : <Money amount={amount} currency={currency} />),
});

const DIFFERENCE_COLUMNS: readonly Column<DifferenceRecord>[] = [
  {
    title: 'Card',
    onPhone: 'title',
    // The file has the id of the card, so the id is more useful here than the name of its holder.
    cell: ({ card_id: id }) => <Id id={id} kind="card" whole />,
  },
  { title: 'Probable reason', onPhone: 'note', cell: ({ reason }) => reasonWord(reason) },
  amountOn('Here', 'here'),
  amountOn('In the file', 'there'),
  { title: 'Difference', onPhone: 'note', cell: ({ message }) => <LinkedText text={message} /> },
  {
    title: 'Transfer',
    onPhone: 'note',
    cell: ({ transfer_id: id, reference }) =>
      id === null && reference === null ? null : (
        <>
          {id !== null && <Id id={id} />}
          {reference !== null && <div>{reference}</div>}
        </>
      ),
  },
];

/** Shows the report once more before the person signs it. */
function CutOverDialog({
  comparison: { comparison_id: id, program_id: programId, report },
  onDone,
  onClose,
}: {
  readonly comparison: ComparisonRecord;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const [note, setNote] = useState('');
  const cutOver = useAction(
    (body: { readonly note: string }, api, options) => api.comparisons.cutOver(id, body, options),
    { operation: `cut_over ${id}` },
  );
  const confirm = async () => {
    if ((await cutOver.run({ note: note.trim() })) !== undefined) onDone();
  };
  return (
    <ConfirmDialog
      title="Sign the report and cut over"
      confirm="Sign and cut over"
      pending={cutOver.pending}
      disabled={note.trim() === ''}
      error={cutOver.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>
        <b>{report}</b>
      </p>
      <p>
        You sign this report, and the transfers of <ProgramName id={programId} plain linked={false} /> are enabled. This
        is refused if a card has changed since the comparison.
      </p>
      <ApprovalNotice operation="cut_over" />
      <AreaField
        label="Note"
        name="note"
        value={note}
        onInput={setNote}
        isProse
        hint="Who has checked what. Stored with the comparison and in the audit log."
      />
    </ConfirmDialog>
  );
}

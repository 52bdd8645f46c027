import { useState } from 'preact/hooks';
import type { SettlementFileRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, WhoMay } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Details } from '../../components/details.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { AreaField } from '../../components/field.tsx';
import { Id } from '../../components/id.tsx';
import { Empty, Loaded, Progress } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { KeyName } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import type { Parameters } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';
import { formatCount } from '../../format/amounts.ts';
import {
  differing,
  FILE_STATUSES,
  LINE_OUTCOMES,
  type LineOutcome,
  progressOf,
  progressText,
  resultText,
} from '../../format/operators/processors.ts';
import { Breaks } from '../processors/breaks.tsx';

const POLL_MILLISECONDS = 5_000;

/** One settlement file: the result of its comparison with the books, its sums, and the breaks that it has caused. */
export function SettlementFileScreen({ parameters }: { readonly parameters: Parameters }) {
  const id = parameters.file_id ?? '';
  const { can } = useSession();
  const [done, setDone] = useState('');
  const [isWithdrawing, setWithdrawing] = useState(false);
  const state = useOperation((api, options) => api.settlementFiles.get(id, options), {
    deps: [id],
    ofAnyProgram: true,
    pollMilliseconds: POLL_MILLISECONDS,
  });
  const file = state.data;
  const canWithdraw = file !== undefined && file.withdrawn_at === null;
  return (
    <Page
      title={file?.name ?? 'Settlement file'}
      lead={<Id id={id} whole />}
      actions={
        canWithdraw &&
        can('withdraw_settlement_file') && (
          <Button kind="danger" onClick={() => setWithdrawing(true)}>
            Withdraw…
          </Button>
        )
      }
    >
      <p class={done === '' ? 'hidden' : 'notice'} role="status">
        {done}
      </p>
      <Loaded state={state}>{(found) => <FileContent file={found} onDone={setDone} />}</Loaded>
      {canWithdraw && <WhoMay operation="withdraw_settlement_file" to="withdraw the file or close a break" />}
      {isWithdrawing && file !== undefined && (
        <WithdrawDialog
          file={file}
          onDone={() => {
            setWithdrawing(false);
            setDone('The file is withdrawn.');
            state.reload();
          }}
          onClose={() => setWithdrawing(false)}
        />
      )}
    </Page>
  );
}

function FileContent({
  file,
  onDone,
}: {
  readonly file: SettlementFileRecord;
  readonly onDone: (text: string) => void;
}) {
  const { file_id: id, status, totals, outcomes, withdrawn_by: by, withdrawn_at: at, note } = file;
  const progress = progressOf(file);
  return (
    <>
      <div class={progress === undefined && at === null && differing(file) === 0 ? 'answer' : 'answer unknown'}>
        <p>{progress === undefined ? resultText(file) : <Progress label={progressText(file)} value={progress} />}</p>
        {status === 'receiving' && <p class="quiet">If the import was interrupted, run it again. It continues.</p>}
        {at !== null && (
          <p>
            Withdrawn by <KeyName id={by} plain />, <Moment at={at} />: {note}
          </p>
        )}
      </div>
      <Details
        facts={[
          [
            'Status',
            <Badge key="status" tone={FILE_STATUSES[status].tone}>
              {FILE_STATUSES[status].word}
            </Badge>,
          ],
          ['Connector', file.connector_id],
          ['Lines', formatCount(file.line_count)],
          file.sequence_number !== null && ['Sequence number', file.sequence_number],
          [
            'Imported',
            <>
              <Moment at={file.created_at} /> by <KeyName id={file.created_by} plain />
            </>,
          ],
          file.matched_at !== null && ['Compared', <Moment key="compared" at={file.matched_at} />],
          ['SHA-256', <Id key="sha256" id={file.sha256} kind="other" />],
        ]}
      />
      <Section title="Lines">
        <DataTable
          label="Outcomes of the lines"
          columns={OUTCOME_COLUMNS}
          rows={(Object.keys(LINE_OUTCOMES) as LineOutcome[]).map((outcome) => [outcome, outcomes[outcome]] as const)}
          rowKey={([outcome]) => outcome}
        />
      </Section>
      <Section title="Sums">
        <DataTable
          label="Sums of the lines"
          columns={SUM_COLUMNS}
          rows={totals}
          rowKey={({ currency }) => currency}
          empty={<Empty title="No lines yet" />}
        />
      </Section>
      <Breaks fileId={id} onDone={onDone} />
    </>
  );
}

const OUTCOME_COLUMNS: readonly Column<readonly [LineOutcome, number]>[] = [
  { title: 'The line', onPhone: 'title', cell: ([outcome]) => LINE_OUTCOMES[outcome].word },
  { title: 'Count', align: 'end', onPhone: 'value', cell: ([, count]) => formatCount(count) },
  { title: 'What follows', onPhone: 'note', cell: ([outcome]) => LINE_OUTCOMES[outcome].meaning },
];

type Total = SettlementFileRecord['totals'][number];

const sum = (title: string, name: 'pushed' | 'pulled' | 'reversed' | 'fees'): Column<Total> => ({
  title,
  align: 'end',
  cell: ({ currency, [name]: amount }) => <Money amount={amount} currency={currency} />,
});

const SUM_COLUMNS: readonly Column<Total>[] = [
  { title: 'Currency', cell: ({ currency }) => currency },
  sum('To cards', 'pushed'),
  sum('From cards', 'pulled'),
  sum('Reversed', 'reversed'),
  sum('Fees', 'fees'),
];

function WithdrawDialog({
  file: { file_id: id, name, connector_id: connector },
  onDone,
  onClose,
}: {
  readonly file: SettlementFileRecord;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const [note, setNote] = useState('');
  const withdraw = useAction(
    (body: { readonly note: string }, api, options) => api.settlementFiles.withdraw(id, body, options),
    { operation: `withdraw_settlement_file ${id}` },
  );
  const confirm = async () => {
    if ((await withdraw.run({ note: note.trim() })) !== undefined) onDone();
  };
  return (
    <ConfirmDialog
      title={`Withdraw ${name}`}
      confirm="Withdraw the file"
      kind="danger"
      pending={withdraw.pending}
      disabled={note.trim() === ''}
      error={withdraw.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>
        The file of {connector} will no longer count. Breaks that only this file has caused are closed. Transfers that
        it has completed stay completed. You can import the file again.
      </p>
      <AreaField
        label="Why"
        name="note"
        value={note}
        onInput={setNote}
        isProse
        hint="Stored with the file. The audit log records who withdrew it."
      />
    </ConfirmDialog>
  );
}

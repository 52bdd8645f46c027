import { useState } from 'preact/hooks';
import type { MoveInRecord } from '../../../sdk/client.ts';
import { Actions } from '../../components/actions.tsx';
import { Badge } from '../../components/badge.tsx';
import { WhoMay } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Details } from '../../components/details.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { AreaField } from '../../components/field.tsx';
import { Id } from '../../components/id.tsx';
import { Empty, Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { KeyName, ProgramName } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import { hrefTo, type Parameters } from '../../data/location.ts';
import { useProgramOf } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { useAction, useOpened } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';
import { formatCount } from '../../format/amounts.ts';
import { MOVE_IN_STATUSES, resultOfMoveIn, workOfMoveIn } from '../../format/operators/move-ins.ts';
import { WorkProgress } from './work.tsx';

/** The progress of a run should be seen to move. */
const POLL_MILLISECONDS = 2_000;

/** One move-in: how many of its lines have taken effect, its sums in the books, and the undo. */
export function MoveInScreen({ parameters }: { readonly parameters: Parameters }) {
  const id = parameters.move_in_id ?? '';
  const { can } = useSession();
  const [done, setDone] = useState('');
  const [isUndoing, setUndoing] = useState(false);
  const state = useOperation((api, options) => api.moveIns.get(id, options), {
    deps: [id],
    ofAnyProgram: true,
    pollMilliseconds: POLL_MILLISECONDS,
  });
  const moveIn = state.data;
  useProgramOf(moveIn?.program_id);
  return (
    <Page
      title={moveIn?.name ?? 'Move-in'}
      lead={<Id id={id} whole />}
      actions={
        moveIn !== undefined &&
        can('undo_move_in') && (
          <Actions
            actions={[
              {
                text: moveIn.status === 'undoing' ? 'Continue the undo…' : 'Undo…',
                isDanger: true,
                whyNot: moveIn.status === 'undone' ? 'The move-in is already undone.' : undefined,
                onChoose: () => setUndoing(true),
              },
            ]}
          />
        )
      }
    >
      <p class={done === '' ? 'hidden' : 'notice'} role="status">
        {done}
      </p>
      <Loaded state={state}>{(found) => <MoveInContent moveIn={found} />}</Loaded>
      <WhoMay operation="undo_move_in" to="undo the move-in" />
      {isUndoing && moveIn !== undefined && (
        <UndoDialog
          moveIn={moveIn}
          onDone={() => {
            setUndoing(false);
            setDone('The move-in is undone.');
            state.reload();
          }}
          onClose={() => setUndoing(false)}
        />
      )}
    </Page>
  );
}

function MoveInContent({ moveIn }: { readonly moveIn: MoveInRecord }) {
  const { status, program_id: programId, totals } = moveIn;
  return (
    <>
      <Result moveIn={moveIn} />
      <Details
        facts={[
          [
            'Status',
            <Badge key="status" tone={MOVE_IN_STATUSES[status].tone}>
              {MOVE_IN_STATUSES[status].word}
            </Badge>,
          ],
          [
            'Card program',
            <>
              <ProgramName id={programId} plain /> (
              <a href={hrefTo('/console/move-ins', { of: programId })}>its move-ins and comparisons</a>)
            </>,
          ],
          ['Lines of the file', formatCount(moveIn.line_count)],
          moveIn.lines_received < moveIn.line_count && ['Moved in', formatCount(moveIn.lines_received)],
          moveIn.lines_undone > 0 && ['Undone', formatCount(moveIn.lines_undone)],
          ['Balances of', <Moment key="as_of" at={moveIn.as_of} />],
          [
            'Created',
            <>
              <Moment at={moveIn.created_at} /> by <KeyName id={moveIn.created_by} plain />
            </>,
          ],
          moveIn.moved_at !== null && ['Moved in at', <Moment key="moved" at={moveIn.moved_at} />],
          ['SHA-256', <Id key="sha256" id={moveIn.sha256} kind="other" />],
        ]}
      />
      <Section title="Sums in the books">
        <DataTable
          label="Sums in the books"
          columns={SUM_COLUMNS}
          rows={totals}
          rowKey={({ currency }) => currency}
          empty={<Empty title={status === 'receiving' ? 'No lines yet' : 'Nothing is left'} />}
        />
      </Section>
    </>
  );
}

/** Says what has become of the move-in. */
function Result({ moveIn }: { readonly moveIn: MoveInRecord }) {
  const { status, adds_up: addsUp, undone_at: at, undone_by: by, note } = moveIn;
  const work = workOfMoveIn(moveIn);
  const isGood = work === undefined && status !== 'undone' && addsUp !== false;
  return (
    <div class={isGood ? 'answer' : 'answer unknown'}>
      {work === undefined ? <p>{resultOfMoveIn(moveIn)}</p> : <WorkProgress work={work} reading={moveIn} />}
      {status === 'receiving' && (
        <p class="quiet">If the run was interrupted, run the same command again. It continues.</p>
      )}
      {status === 'undoing' && <p class="quiet">If the undo was interrupted, continue it. No line is undone twice.</p>}
      {at !== null && (
        <p>
          {status === 'undone' ? 'Undone' : 'The undo was begun'} by <KeyName id={by} plain />, <Moment at={at} />:{' '}
          {note}
        </p>
      )}
    </div>
  );
}

type Total = MoveInRecord['totals'][number];

const SUM_COLUMNS: readonly Column<Total>[] = [
  { title: 'Currency', cell: ({ currency }) => currency },
  { title: 'Cards', align: 'end', cell: ({ cards }) => formatCount(cards) },
  {
    title: 'Balance',
    align: 'end',
    cell: ({ currency, balance }) => <Money amount={balance} currency={currency} />,
  },
  { title: 'Holds', align: 'end', cell: ({ holds }) => formatCount(holds) },
  { title: 'Held', align: 'end', cell: ({ currency, held }) => <Money amount={held} currency={currency} /> },
];

/** Asks why, and then undoes portion after portion until nothing is left. */
function UndoDialog({
  moveIn,
  onDone,
  onClose,
}: {
  readonly moveIn: MoveInRecord;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const { move_in_id: id, name, status, note: earlier, lines_received: received } = useOpened(moveIn);
  const [note, setNote] = useState(earlier ?? '');
  const [portion, setPortion] = useState<MoveInRecord | undefined>(undefined);
  const undo = useAction(async (body: { readonly note: string }, api, options) => {
    for (;;) {
      const undone: MoveInRecord = await api.moveIns.undo(id, body, options);
      setPortion(undone);
      if (undone.status === 'undone') return undone;
    }
  });
  const confirm = async () => {
    if ((await undo.run({ note: note.trim() })) !== undefined) onDone();
  };
  const work = portion && workOfMoveIn(portion);
  const isBegun = status === 'undoing';
  return (
    <ConfirmDialog
      title={`Undo ${name}`}
      confirm={isBegun ? 'Continue the undo' : 'Undo the move-in'}
      kind="danger"
      pending={undo.pending}
      disabled={note.trim() === ''}
      error={undo.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>
        Every balance goes back with its own posting, every hold is canceled, and every card that the move-in has
        created is closed. This is refused if money of a card has moved since. Once it has begun, the move-in takes no
        more lines.
      </p>
      {received > MAX_PORTION_LINES && (
        <p>Keep this page open until everything is undone. If it is closed, you can continue the undo here.</p>
      )}
      {!isBegun && (
        <AreaField
          label="Why"
          name="note"
          value={note}
          onInput={setNote}
          isProse
          hint="Stored with the move-in. The audit log records who undid it."
        />
      )}
      {work !== undefined && portion !== undefined && <WorkProgress work={work} reading={portion} />}
    </ConfirmDialog>
  );
}

/** The service undoes so many lines per request. */
const MAX_PORTION_LINES = 1000;

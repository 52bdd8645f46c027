import { useState } from 'preact/hooks';
import type { CardRecord, UpdateCardBody } from '../../../sdk/client.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { CheckField } from '../../components/field.tsx';
import { formatAmount } from '../../format/amounts.ts';
import { CardDetailsDialog, type CardDialogParts, CardLimitsDialog, useUpdateCard } from './card-dialogs.tsx';
import { type CardMove, effectOf, MOVE_TITLES, movesFrom, statusText, titleOf } from './card-words.ts';

/** The actions on a card: changing its status, limits or details. `onDone` receives a sentence that says what was done. */
export function CardActions({
  card,
  name,
  onDone,
}: {
  readonly card: CardRecord;
  readonly name: string;
  readonly onDone: (text: string) => void;
}) {
  const [open, setOpen] = useState<CardMove | 'limits' | 'details' | undefined>(undefined);
  const parts = {
    card,
    name,
    onDone: (text: string) => {
      setOpen(undefined);
      onDone(text);
    },
    onClose: () => setOpen(undefined),
  };
  return (
    <div class="page-actions">
      {movesFrom(card.status).map((move) => (
        <Button key={move} kind={move === 'closed' ? 'danger' : 'plain'} onClick={() => setOpen(move)}>
          {MOVE_TITLES[move]}
        </Button>
      ))}
      <Button onClick={() => setOpen('limits')}>Change limits</Button>
      <Button onClick={() => setOpen('details')}>Change details</Button>
      {open === 'limits' && <CardLimitsDialog {...parts} />}
      {open === 'details' && <CardDetailsDialog {...parts} />}
      {open !== undefined && open !== 'limits' && open !== 'details' && <MoveDialog {...parts} move={open} />}
    </div>
  );
}

function MoveDialog({ card, name, move, onDone, onClose }: CardDialogParts & { readonly move: CardMove }) {
  const hasMoney = move === 'closed' && card.balance > 0;
  const [sweeps, setSweeps] = useState(false);
  const { run, pending, error } = useUpdateCard();
  const money = formatAmount(card.balance, card.currency);
  const confirm = async (): Promise<void> => {
    const body: UpdateCardBody = sweeps ? { status: move, balance_to: 'funding' } : { status: move };
    const updated = await run({ cardId: card.card_id, body });
    if (updated !== undefined) onDone(`${name} is ${statusText(updated.status)} now.`);
  };
  return (
    <ConfirmDialog
      title={titleOf(move, name)}
      confirm={sweeps ? `Close ${name} and move ${money} to the funding account` : titleOf(move, name)}
      kind={move === 'active' ? 'main' : 'danger'}
      pending={pending}
      disabled={hasMoney && !sweeps}
      error={error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>{effectOf(card, move)}</p>
      {hasMoney && (
        <CheckField
          label={`Move the balance of ${money} to the program's funding account. Only an empty card can be closed.`}
          checked={sweeps}
          onChange={setSweeps}
        />
      )}
    </ConfirmDialog>
  );
}

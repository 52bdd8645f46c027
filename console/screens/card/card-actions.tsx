import { useState } from 'preact/hooks';
import type { CardRecord, UpdateCardBody } from '../../../sdk/client.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { CheckField } from '../../components/field.tsx';
import { useAction } from '../../data/use-action.ts';
import { formatAmount } from '../../format/amounts.ts';
import { type CardMove, effectOf, MOVE_TITLES, movesFrom } from './card-words.ts';

/** The statuses that a card can be given from the one that it has. `onDone` gets what was done, in words. */
export function CardActions({ card, onDone }: { readonly card: CardRecord; readonly onDone: (text: string) => void }) {
  const [open, setOpen] = useState<CardMove | undefined>(undefined);
  return (
    <>
      {movesFrom(card.status).map((move) => (
        <Button key={move} kind={move === 'closed' ? 'danger' : 'plain'} onClick={() => setOpen(move)}>
          {MOVE_TITLES[move]}
        </Button>
      ))}
      {open !== undefined && (
        <MoveDialog
          card={card}
          move={open}
          onDone={(text) => {
            setOpen(undefined);
            onDone(text);
          }}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  );
}

type Input = { readonly cardId: string; readonly body: UpdateCardBody };

function MoveDialog({
  card,
  move,
  onDone,
  onClose,
}: {
  readonly card: CardRecord;
  readonly move: CardMove;
  readonly onDone: (text: string) => void;
  readonly onClose: () => void;
}) {
  const hasMoney = move === 'closed' && card.balance > 0;
  const [sweeps, setSweeps] = useState(false);
  const { run, pending, error } = useAction(({ cardId, body }: Input, api, { programId }) =>
    api.cards.update(cardId, body, { programId }),
  );
  const money = formatAmount(card.balance, card.currency);
  const confirm = async (): Promise<void> => {
    const body: UpdateCardBody = sweeps ? { status: move, balance_to: 'funding' } : { status: move };
    const updated = await run({ cardId: card.card_id, body });
    if (updated !== undefined) onDone(`The card is ${updated.status} now.`);
  };
  return (
    <ConfirmDialog
      title={`${MOVE_TITLES[move]}: ${card.card_id}`}
      confirm={sweeps ? `Close, and move ${money} to funding` : MOVE_TITLES[move]}
      kind={move === 'active' ? 'main' : 'danger'}
      dismiss="Leave it as it is"
      pending={pending}
      disabled={hasMoney && !sweeps}
      error={error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>{effectOf(card, move)}</p>
      {hasMoney && (
        <CheckField
          label={`Move the balance of ${money} to the funding of the program. Only an empty card can be closed.`}
          checked={sweeps}
          onChange={setSweeps}
        />
      )}
    </ConfirmDialog>
  );
}

import { useState } from 'preact/hooks';
import type { TransferRecord } from '../../../sdk/client.ts';
import { AmountField } from '../../components/amount-field.tsx';
import { ApprovalNotice } from '../../components/approval.tsx';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { useName } from '../../data/names.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { formatAmount, formatDigits, parseAmount } from '../../format/amounts.ts';
import type { ShownTransfer } from './timeline.tsx';
import { ACTIONS, actionsFor, endsOf, leftOf, nameOfType, type TransferAction, undoOf } from './transfer-words.ts';

/**
 * Shows the actions that the status of a transfer and the caller's role allow. `onDone` receives a sentence that says
 * what was done.
 */
export function TransferActions({
  shown: { transfer, attempts },
  onDone,
}: {
  readonly shown: Pick<ShownTransfer, 'transfer' | 'attempts'>;
  readonly onDone: (text: string) => void;
}) {
  const { can } = useSession();
  const [open, setOpen] = useState<TransferAction | undefined>(undefined);
  const close = (): void => setOpen(undefined);
  const done = (text: string): void => {
    close();
    onDone(text);
  };
  return (
    <>
      {actionsFor(transfer, attempts.length > 0)
        .filter((action) => can(`${action}_transfer`))
        .map((action) => (
          <Button key={action} kind={action === 'capture' ? 'main' : 'danger'} onClick={() => setOpen(action)}>
            {ACTIONS[action]}
          </Button>
        ))}
      {open === 'cancel' && <CancelDialog transfer={transfer} onDone={done} onClose={close} />}
      {(open === 'capture' || open === 'reverse') && (
        <AmountDialog action={open} transfer={transfer} onDone={done} onClose={close} />
      )}
    </>
  );
}

/** Reverses or cancels one of several transfers on a screen. */
export function UndoButton({
  transfer,
  onDone,
}: {
  readonly transfer: TransferRecord;
  readonly onDone: (text: string) => void;
}) {
  const { can } = useSession();
  const [isOpen, setOpen] = useState(false);
  const action = undoOf(transfer);
  if (action === undefined || !can(`${action}_transfer`)) return null;
  const close = (): void => setOpen(false);
  const done = (text: string): void => {
    close();
    onDone(text);
  };
  return (
    <>
      <Button kind="danger" onClick={() => setOpen(true)}>
        {ACTIONS[action]}
      </Button>
      {isOpen && action === 'cancel' && <CancelDialog transfer={transfer} onDone={done} onClose={close} />}
      {isOpen && action === 'reverse' && (
        <AmountDialog action="reverse" transfer={transfer} onDone={done} onClose={close} />
      )}
    </>
  );
}

type DialogParts = {
  readonly transfer: TransferRecord;
  readonly onDone: (text: string) => void;
  readonly onClose: () => void;
};

function CancelDialog({ transfer, onDone, onClose }: DialogParts) {
  const { transfer_id, amount, currency, status } = transfer;
  const { source } = endsOf(transfer, useCardNames(transfer));
  const money = formatAmount(amount, currency);
  // The id is part of the input, so that the idempotency key is for this transfer only.
  const { run, pending, error } = useAction(
    ({ id }: { readonly id: string }, api, options) => api.transfers.cancel(id, options),
    { operation: 'cancel' },
  );
  const confirm = async (): Promise<void> => {
    if ((await run({ id: transfer_id })) !== undefined) onDone(`Canceled: ${money} will not move.`);
  };
  return (
    <ConfirmDialog
      title={`Cancel the ${nameOfType(transfer.type)} of ${money}`}
      confirm={`Cancel the ${nameOfType(transfer.type)}`}
      kind="danger"
      dismiss="Go back"
      pending={pending}
      error={error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>
        {status === 'pending'
          ? `${money} is released on ${source}. No money moves, and the transfer can no longer be captured.`
          : `The transfer of ${money} will not be executed. Nothing is held for it.`}
      </p>
    </ConfirmDialog>
  );
}

type Input = { readonly id: string; readonly amount: number; readonly description?: string };

function AmountDialog({ action, transfer, onDone, onClose }: DialogParts & { readonly action: 'capture' | 'reverse' }) {
  const { transfer_id: id, currency, type } = transfer;
  const names = useCardNames(transfer);
  const left = leftOf(transfer, action);
  const [typed, setTyped] = useState(() => formatDigits(left, currency));
  const [reason, setReason] = useState('');
  const amount = parseAmount(typed, currency);
  const problem = problemOf(amount, left, currency);
  const { run, pending, error } = useAction<Input, unknown>(
    ({ id: transferId, ...body }, api, options) =>
      action === 'capture'
        ? api.transfers.capture(transferId, body, options)
        : api.transfers.reverse(transferId, body, options),
    { operation: action },
  );
  const money = amount === undefined ? '' : formatAmount(amount, currency);
  const confirm = async (): Promise<void> => {
    if (amount === undefined || problem !== undefined) return;
    const input = { id, amount, ...(reason === '' ? {} : { description: reason }) };
    const result = await run(input);
    if (result !== undefined) onDone(action === 'capture' ? `Captured ${money}.` : `Reversed ${money}.`);
  };
  return (
    <ConfirmDialog
      title={
        action === 'capture'
          ? `Capture the hold of ${formatAmount(left, currency)}`
          : `Reverse the ${nameOfType(type)} of ${formatAmount(transfer.captured_amount, currency)}`
      }
      confirm={`${ACTIONS[action]} ${money}`.trim()}
      kind={action === 'capture' ? 'main' : 'danger'}
      pending={pending}
      disabled={amount === undefined || problem !== undefined}
      error={error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <AmountField
        label="Amount"
        name="amount"
        currency={currency}
        value={typed}
        onInput={setTyped}
        problem={problem}
        hint={`Up to ${formatAmount(left, currency)}.`}
        required
      />
      {left > 1 && (
        <p class="amount-choices">
          {[['All', left] as const, ['Half', Math.floor(left / 2)] as const].map(([text, part]) => (
            <Button key={text} onClick={() => setTyped(formatDigits(part, currency))}>
              {text}: {formatAmount(part, currency)}
            </Button>
          ))}
        </p>
      )}
      {action === 'reverse' && (
        <TextField label="Reason (optional)" name="description" value={reason} onInput={setReason} />
      )}
      {action === 'reverse' && <ApprovalNotice operation="reverse_transfer" />}
      {problem === undefined && amount !== undefined && <p>{effectOf(action, transfer, amount, names)}</p>}
    </ConfirmDialog>
  );
}

function problemOf(amount: number | undefined, left: number, currency: string): string | undefined {
  return amount !== undefined && amount > left ? `That is more than ${formatAmount(left, currency)}.` : undefined;
}

function useCardNames({ card_id: cardId, destination_card_id: otherId, program_id: programId }: TransferRecord) {
  const card = useName('card', cardId, programId).name;
  const other = useName('card', otherId, programId).name;
  return (id: string): string => (id === cardId ? card : other) ?? id;
}

/** Says what the button will do. */
function effectOf(
  action: 'capture' | 'reverse',
  transfer: TransferRecord,
  amount: number,
  nameOfCard: (cardId: string) => string,
): string {
  const { source, destination } = endsOf(transfer, nameOfCard);
  const money = formatAmount(amount, transfer.currency);
  if (action === 'reverse') return `${money} moves back from ${destination} to ${source}. This cannot be undone.`;
  const rest = transfer.amount - amount;
  const released = rest === 0 ? '' : ` The other ${formatAmount(rest, transfer.currency)} is released.`;
  return `${money} moves from ${source} to ${destination}.${released}`;
}

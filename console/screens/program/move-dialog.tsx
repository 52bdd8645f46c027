import { useState } from 'preact/hooks';
import type { FundingMovementBody, ProgramRecord } from '../../../sdk/client.ts';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { useAction } from '../../data/use-action.ts';
import { formatAmount, formatDigits, parseAmount } from '../../format/amounts.ts';

const EXAMPLE = 150_000;

/** A deposit or a withdrawal. The button names the amount. */
export function MoveDialog({
  program,
  kind,
  onChanged,
  onClose,
}: {
  readonly program: ProgramRecord;
  readonly kind: 'deposit' | 'withdrawal';
  readonly onChanged: () => void;
  readonly onClose: () => void;
}) {
  const [text, setText] = useState('');
  const [currency, setCurrency] = useState(program.currency);
  const [reference, setReference] = useState('');
  const [description, setDescription] = useState('');
  const move = useAction((body: FundingMovementBody, api, options) =>
    kind === 'deposit'
      ? api.deposits.create(program.program_id, body, options)
      : api.withdrawals.create(program.program_id, body, options),
  );
  const amount = parseAmount(text, currency);
  const account = program.funding.find((one) => one.currency === currency);
  const verb = kind === 'deposit' ? 'Deposit' : 'Withdraw';
  const submit = async () => {
    if (amount === undefined) return;
    const body = {
      amount,
      currency,
      ...(reference.trim() !== '' && { reference: reference.trim() }),
      ...(description.trim() !== '' && { description: description.trim() }),
    };
    if ((await move.run(body)) !== undefined) onChanged();
  };
  return (
    <ConfirmDialog
      title={kind === 'deposit' ? `Deposit to ${program.name}` : `Withdraw from ${program.name}`}
      confirm={amount === undefined ? verb : `${verb} ${formatAmount(amount, currency)}`}
      pending={move.pending}
      disabled={amount === undefined}
      error={move.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <TextField
        label="Amount"
        inputMode="decimal"
        value={text}
        onInput={setText}
        problem={
          text !== '' && amount === undefined ? `An amount, such as ${formatDigits(EXAMPLE, currency)}.` : undefined
        }
        hint={
          account === undefined
            ? `There are no funds in ${currency} yet.`
            : `${formatAmount(account.available, currency)} available now.`
        }
      />
      <TextField
        label="Currency"
        value={currency}
        onInput={(typed) => setCurrency(typed.trim().toUpperCase())}
        hint="Three letters, such as USD."
      />
      <TextField
        label="Reference"
        value={reference}
        onInput={setReference}
        hint="Optional. Only one deposit or withdrawal of the program can have it, so nothing is entered twice."
      />
      <TextField
        label="Description"
        value={description}
        onInput={setDescription}
        hint="Optional, such as the reference of the bank. Nothing about a person: it is kept for ever."
      />
      {amount !== undefined && account !== undefined && (
        <p>
          Afterwards {formatAmount(account.balance + (kind === 'deposit' ? amount : -amount), currency)}, if nothing
          else moves meanwhile.
        </p>
      )}
    </ConfirmDialog>
  );
}

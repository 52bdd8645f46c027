import { useState } from 'preact/hooks';
import type { FundingMovementBody, ProgramRecord, UpdateProgramBody } from '../../../sdk/client.ts';
import { AmountField } from '../../components/amount-field.tsx';
import { ApprovalNotice } from '../../components/approval.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { useAction, useOpened } from '../../data/use-action.ts';
import { formatAmount, formatDigits, parseAmount } from '../../format/amounts.ts';
import { versionFor } from '../../format/versions.ts';

/** Makes a deposit or a withdrawal. The button names the amount. */
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
  const move = useAction(
    (body: FundingMovementBody, api, options) =>
      kind === 'deposit'
        ? api.deposits.create(program.program_id, body, options)
        : api.withdrawals.create(program.program_id, body, options),
    { operation: `${kind} ${program.program_id}` },
  );
  const amount = parseAmount(text, currency);
  const account = program.funding.find((one) => one.currency === currency);
  const [verb, way] = kind === 'deposit' ? ['Deposit', 'to'] : ['Withdraw', 'from'];
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
      title={`${verb} ${way} ${program.name}`}
      confirm={`${verb} ${amount === undefined ? '' : `${formatAmount(amount, currency)} `}${way} ${program.name}`}
      pending={move.pending}
      disabled={amount === undefined}
      error={move.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <AmountField
        label="Amount"
        name="amount"
        currency={currency}
        value={text}
        onInput={setText}
        hint={
          account === undefined
            ? `There are no funds in ${currency} yet.`
            : `${formatAmount(account.available, currency)} available now.`
        }
      />
      <TextField
        label="Currency"
        name="currency"
        value={currency}
        onInput={(typed) => setCurrency(typed.trim().toUpperCase())}
        hint="Three letters, such as USD."
      />
      <TextField
        label="Reference"
        name="reference"
        value={reference}
        onInput={setReference}
        hint="Optional. It must be unique in the program, to prevent double entries."
      />
      <TextField
        label="Description"
        name="description"
        value={description}
        onInput={setDescription}
        hint="Optional, such as the bank reference. It is kept forever, so don't enter personal data."
      />
      {amount !== undefined && account !== undefined && (
        <p>
          New balance: {formatAmount(account.balance + (kind === 'deposit' ? amount : -amount), currency)}, unless other
          money moves in the meantime.
        </p>
      )}
      <ApprovalNotice operation={kind === 'deposit' ? 'create_deposit' : 'create_withdrawal'} />
    </ConfirmDialog>
  );
}

/** Changes some fields of a program, based on the values that the form showed. A change takes no idempotency key. */
export function useEditProgram(program: ProgramRecord) {
  const opened = useOpened(program);
  return useAction(async (body: UpdateProgramBody, api, { idempotencyKey: _, ...options }) => {
    const now = await api.programs.get(program.program_id, options);
    return api.programs.update(program.program_id, body, { ...options, ifMatch: versionFor(body, opened, now) });
  });
}

/** Changes the name of a program and its low-balance alert. */
export function SettingsDialog({
  program,
  onChanged,
  onClose,
}: {
  readonly program: ProgramRecord;
  readonly onChanged: () => void;
  readonly onClose: () => void;
}) {
  const { currency, funding_low_threshold: threshold } = program;
  const [name, setName] = useState(program.name);
  const [text, setText] = useState(threshold === null ? '' : formatDigits(threshold, currency));
  const update = useEditProgram(program);
  const typed = text.trim() === '' ? null : parseAmount(text, currency);
  const submit = async () => {
    if (typed === undefined) return;
    const body = {
      ...(name.trim() !== program.name && { name: name.trim() }),
      ...(typed !== threshold && { funding_low_threshold: typed }),
    };
    if ((await update.run(body)) !== undefined) onChanged();
  };
  return (
    <ConfirmDialog
      title={`Change ${program.name}`}
      confirm={`Save ${program.name}`}
      pending={update.pending}
      disabled={typed === undefined || name.trim() === ''}
      error={update.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <TextField label="Name" name="name" value={name} onInput={setName} />
      <AmountField
        label="Alert below"
        name="funding_low_threshold"
        currency={currency}
        value={text}
        onInput={setText}
        hint="The event funding.low is sent when the available funds fall below it. Leave empty for no alert."
      />
      <ApprovalNotice operation="update_program" fields={['name', 'funding_low_threshold']} />
    </ConfirmDialog>
  );
}

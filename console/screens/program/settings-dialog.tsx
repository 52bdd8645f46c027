import { useState } from 'preact/hooks';
import type { ProgramRecord, UpdateProgramBody } from '../../../sdk/client.ts';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { useAction, useVersion } from '../../data/use-action.ts';
import { formatDigits, parseAmount } from '../../format/amounts.ts';

const EXAMPLE = 1_000_000;

/** Changes the name of a program, and its low-balance alert. */
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
  const ifMatch = useVersion(program);
  const update = useAction((body: UpdateProgramBody, api, { idempotencyKey: _, ...options }) =>
    api.programs.update(program.program_id, body, { ...options, ifMatch }),
  );
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
      <TextField label="Name" value={name} onInput={setName} />
      <TextField
        label={`Alert below, in ${currency}`}
        inputMode="decimal"
        value={text}
        onInput={setText}
        problem={
          typed === undefined ? `Enter an amount, such as ${formatDigits(EXAMPLE, currency)}, or nothing.` : undefined
        }
        hint="The event funding.low is sent when the available funds fall below it. Empty for no alert."
      />
    </ConfirmDialog>
  );
}

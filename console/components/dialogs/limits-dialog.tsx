import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { LIMIT_NAMES } from '../../../sdk/client.ts';
import { type Limits, type LimitsChange, limitText, readChange, toFields } from '../../format/limits.ts';
import { sentenceCase } from '../../format/names.ts';
import { AmountField } from '../amount-field.tsx';
import { TextField } from '../field.tsx';
import { ConfirmDialog } from './dialog.tsx';

export const DIRECTIONS = { in: 'Into cards', out: 'Out of cards' } as const;

/** Changes limits. Only changed limits are sent, so changes by others are kept. */
export function LimitsDialog({
  title,
  confirm,
  field: root,
  limits,
  currency,
  hasBalance,
  children,
  pending,
  error,
  onConfirm,
  onClose,
}: {
  readonly title: string;
  readonly confirm: string;
  /** The field of the request that has the limits. */
  readonly field: 'limits' | 'card_limits';
  readonly limits: Limits | null;
  readonly currency: string;
  /** Whether to include the maximum balance, which is a limit of each card. */
  readonly hasBalance: boolean;
  /** Shown below the fields. */
  readonly children?: ComponentChildren;
  readonly pending: boolean;
  readonly error: Error | undefined;
  readonly onConfirm: (change: LimitsChange) => void;
  readonly onClose: () => void;
}) {
  // The limits from when the dialog was opened. Later changes by others don't count as changes of this form.
  const [before] = useState(() => toFields(limits, currency, hasBalance));
  const [fields, setFields] = useState(before);
  const { change, problems } = readChange(before, fields, currency);
  const field = (name: string, label: string) => {
    const parts = {
      label,
      name: `${root}.${name}`,
      value: fields[name] ?? '',
      problem: problems[name],
      onInput: (value: string) => setFields({ ...fields, [name]: value }),
    };
    return name.endsWith('_count') ? (
      <TextField key={name} {...parts} inputMode="numeric" />
    ) : (
      <AmountField key={name} {...parts} currency={currency} minimum={0} />
    );
  };
  return (
    <ConfirmDialog
      title={title}
      confirm={confirm}
      pending={pending}
      disabled={Object.keys(change).length === 0 || Object.keys(problems).length > 0}
      error={error}
      onConfirm={() => onConfirm(change)}
      onClose={onClose}
    >
      <p class="quiet">
        Leave a field empty for no limit, or enter 0 to allow nothing. Changes apply from the next transfer.
      </p>
      {(['in', 'out'] as const).map((direction) => (
        <fieldset key={direction} class="limit-fields">
          <legend>{DIRECTIONS[direction]}</legend>
          {LIMIT_NAMES.map((name) => field(`${direction}.${name}`, sentenceCase(limitText(name))))}
        </fieldset>
      ))}
      {hasBalance && field('maximum_balance', 'Maximum balance of a card')}
      {children}
    </ConfirmDialog>
  );
}

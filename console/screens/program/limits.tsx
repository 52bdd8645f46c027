import { useState } from 'preact/hooks';
import type { ProgramRecord, UpdateProgramBody } from '../../../sdk/client.ts';
import { DataTable } from '../../components/data-table.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Empty } from '../../components/empty.tsx';
import { TextField } from '../../components/field.tsx';
import { Money } from '../../components/money.tsx';
import { useAction } from '../../data/use-action.ts';
import { formatCount } from '../../format/amounts.ts';
import { LIMIT_NAMES, type Limits, limitText, readChange, rowsOf, toFields } from '../../format/limits.ts';

const DIRECTIONS = { in: 'Into cards', out: 'Out of cards' } as const;

type Row = ReturnType<typeof rowsOf>[number];

/** The limits that are set. */
export function LimitsTable({
  limits,
  currency,
  label,
}: {
  readonly limits: Limits | null;
  readonly currency: string;
  readonly label: string;
}) {
  return (
    <DataTable
      label={label}
      rows={rowsOf(limits)}
      rowKey={({ direction, name }) => `${direction}.${name}`}
      empty={<Empty title="No limit">Every amount is allowed that the funds and the balances allow.</Empty>}
      columns={[
        {
          title: 'Direction',
          cell: ({ direction }: Row) =>
            direction === 'in' || direction === 'out' ? DIRECTIONS[direction] : <span class="quiet">–</span>,
        },
        { title: 'Limit', cell: ({ name }: Row) => limitText(name) },
        {
          title: 'Value',
          align: 'end',
          cell: ({ name, value }: Row) =>
            name.endsWith('_count') ? formatCount(value) : <Money amount={value} currency={currency} />,
        },
      ]}
    />
  );
}

/** Changes limits. Only what was changed is sent, so that a change of somebody else stays. */
export function LimitsDialog({
  program,
  which,
  onChanged,
  onClose,
}: {
  readonly program: ProgramRecord;
  readonly which: 'limits' | 'card_limits';
  readonly onChanged: () => void;
  readonly onClose: () => void;
}) {
  const { currency } = program;
  const before = toFields(program[which], currency, which === 'card_limits');
  const [fields, setFields] = useState(before);
  const update = useAction((body: UpdateProgramBody, api, options) =>
    api.programs.update(program.program_id, body, options),
  );
  const { change, problems } = readChange(before, fields, currency);
  const isChanged = Object.keys(change).length > 0;
  const submit = async () => {
    if ((await update.run({ [which]: change })) !== undefined) onChanged();
  };
  const field = (name: string, label: string) => (
    <TextField
      key={name}
      label={label}
      inputMode={name.endsWith('_count') ? 'numeric' : 'decimal'}
      value={fields[name] ?? ''}
      problem={problems[name]}
      onInput={(value) => setFields({ ...fields, [name]: value })}
    />
  );
  return (
    <ConfirmDialog
      title={which === 'limits' ? 'Limits of all cards together' : 'Limits of each card'}
      confirm="Save the limits"
      pending={update.pending}
      disabled={!isChanged || Object.keys(problems).length > 0}
      error={update.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <p class="quiet">
        Amounts are in {currency}. Empty for no limit, 0 to allow nothing. They apply to the next transfer.
      </p>
      {(['in', 'out'] as const).map((direction) => (
        <fieldset key={direction} class="limit-fields">
          <legend>{DIRECTIONS[direction]}</legend>
          {LIMIT_NAMES.map((name) => field(`${direction}.${name}`, sentenceCase(limitText(name))))}
        </fieldset>
      ))}
      {which === 'card_limits' && field('maximum_balance', 'Maximum balance of a card')}
    </ConfirmDialog>
  );
}

function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

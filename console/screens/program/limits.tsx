import type { ProgramRecord } from '../../../sdk/client.ts';
import { ApprovalNotice } from '../../components/approval.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { DIRECTIONS, LimitsDialog } from '../../components/dialogs/limits-dialog.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Money } from '../../components/money.tsx';
import { formatCount } from '../../format/amounts.ts';
import { type Limits, type LimitsChange, limitText, rowsOf } from '../../format/limits.ts';
import { sentenceCase } from '../../format/names.ts';
import { useEditProgram } from './program-dialogs.tsx';

type Row = ReturnType<typeof rowsOf>[number];

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
      empty={<Empty title="No limits">Only funds and balances limit transfers.</Empty>}
      columns={[
        {
          title: 'Direction',
          onPhone: 'note',
          cell: ({ direction }: Row) =>
            direction === 'in' || direction === 'out' ? DIRECTIONS[direction] : 'On each card',
        },
        { title: 'Limit', onPhone: 'title', cell: ({ name }: Row) => sentenceCase(limitText(name)) },
        {
          title: 'Value',
          align: 'end',
          onPhone: 'value',
          cell: ({ name, value }: Row) =>
            name.endsWith('_count') ? formatCount(value) : <Money amount={value} currency={currency} />,
        },
      ]}
    />
  );
}

/** Changes the limits of a program, either for all its cards together or for each card. */
export function ProgramLimitsDialog({
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
  const update = useEditProgram(program);
  const whose = which === 'limits' ? `all cards of ${program.name} together` : `each card of ${program.name}`;
  return (
    <LimitsDialog
      title={`Limits of ${whose}`}
      confirm={`Save the limits of ${program.name}`}
      limits={program[which]}
      currency={program.currency}
      hasBalance={which === 'card_limits'}
      pending={update.pending}
      error={update.error}
      onConfirm={async (change: LimitsChange) => {
        if ((await update.run({ [which]: change })) !== undefined) onChanged();
      }}
      onClose={onClose}
    >
      <ApprovalNotice operation="update_program" fields={[which]} />
    </LimitsDialog>
  );
}

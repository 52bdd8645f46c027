import type { FundingMovementRecord } from '../../../sdk/client.ts';
import type { Column } from '../../components/data-table.tsx';
import { Id } from '../../components/id.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { KeyName } from '../../components/name.tsx';
import { sentenceCase } from '../../format/names.ts';

/** The columns of a list of deposits and withdrawals. */
export const MOVEMENT_COLUMNS: readonly Column<FundingMovementRecord>[] = [
  { title: 'Time', onPhone: 'note', cell: ({ created_at: at }) => <Moment at={at} short /> },
  { title: 'Kind', onPhone: 'title', cell: ({ kind }) => sentenceCase(kind) },
  {
    title: 'Amount',
    align: 'end',
    onPhone: 'value',
    cell: ({ kind, amount, currency }) => (
      <Money amount={kind === 'deposit' ? amount : -amount} currency={currency} signed />
    ),
  },
  {
    title: 'Balance afterwards',
    align: 'end',
    optional: 'shown',
    cell: ({ balance, currency }) => <Money amount={balance} currency={currency} />,
  },
  {
    title: 'Who',
    onPhone: 'note',
    optional: 'shown',
    cell: ({ created_by: creator }) => <KeyName id={creator} plain />,
  },
  { title: 'Description', onPhone: 'note', oneLine: true, cell: ({ description }) => description },
  { title: 'Reference', optional: 'shown', cell: ({ reference }) => reference },
  {
    title: 'Metadata',
    optional: 'shown',
    cell: ({ metadata }) =>
      Object.entries(metadata)
        .map(([name, value]) => `${name}: ${value}`)
        .join(', '),
  },
  { title: 'Id', optional: 'shown', cell: ({ movement_id: id }) => <Id id={id} /> },
];

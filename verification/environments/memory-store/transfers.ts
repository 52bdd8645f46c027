import { type Meanings, NOTHING, timeOf } from './meaning.ts';
import { columnsOf, databaseError, type StoredRow } from './parameters.ts';
import { disabledScopes } from './switch.ts';
import type { Run, Transaction } from './transaction.ts';

function ofProgram(transaction: Transaction, programId: unknown, transferId: unknown): StoredRow | undefined {
  const row = transaction.find('transfer', String(transferId));
  return row?.program_id === programId ? row : undefined;
}

function withCards(transaction: Transaction, transfer: StoredRow): StoredRow {
  return {
    ...transfer,
    card_name: transaction.find('card', String(transfer.card_id))?.name ?? null,
    destination_card_name: transaction.find('card', String(transfer.destination_card_id))?.name ?? null,
    now: transfer.status === 'pending' ? new Date(transaction.clock()) : null,
  };
}

const isLive = ({ status }: StoredRow): boolean => !['failed', 'canceled', 'expired'].includes(String(status));

/** Whether the processor of a failed transfer has moved the money after all, or may have. */
function isInDoubt(transaction: Transaction, transferId: unknown): boolean {
  const attempts = transaction.scan('processor_attempt', (row) => row.transfer_id === transferId);
  return attempts.some(
    ({ late_approval_at: late, contradicted_at: contradicted, contradiction_settled_at: settled }) =>
      late !== null || (contradicted !== null && settled === null),
  );
}

/** Inserts a transfer. No other live transfer may have its reference. */
function* insertTransfer(transaction: Transaction, row: StoredRow): Run {
  const { program_id, transfer_id, reference } = row;
  const isTaker = (one: StoredRow): boolean =>
    one.program_id === program_id && one.reference === reference && isLive(one);
  const isNamed = reference !== null && isLive(row);
  if (isNamed && (yield* transaction.findUnique('transfer', `${program_id} ${reference}`, isTaker)) !== undefined)
    throw databaseError('23505', 'duplicate key value violates unique constraint "transfer_reference_taken"');
  yield* transaction.insert('transfer', String(transfer_id), row);
}

const UPDATED = [
  ...(['status', 'outcome', 'captured_amount', 'reversed_amount', 'error', 'updated_at', 'completed_at'] as const),
];

/** Transfers, their holds, reversals and metadata. */
export const TRANSFER_STATEMENTS: Meanings = {
  read_references(transaction, { rows }) {
    return rows('sent').flatMap(({ program_id, reference }) => {
      const isTaker = (row: StoredRow): boolean =>
        isLive(row) || (row.status === 'failed' && isInDoubt(transaction, row.transfer_id));
      const [found] = transaction.scan(
        'transfer',
        (row) => row.program_id === program_id && row.reference === reference && isTaker(row),
      );
      if (found === undefined) return [];
      const { transfer_id, status, expires_at } = found;
      return [{ program_id, reference, transfer_id, status, expires_at }];
    });
  },

  *insert_completed_transfers(transaction, { rows, values: [now] }) {
    for (const sent of rows('sent')) {
      yield* insertTransfer(transaction, {
        ...sent,
        captured_amount: sent.amount,
        reversed_amount: 0n,
        status: 'completed',
        outcome: 'final',
        capture: 'automatic',
        expires_at: null,
        scheduled_for: null,
        error: null,
        created_at: now,
        updated_at: now,
        completed_at: now,
      });
    }
    return NOTHING;
  },

  *insert_open_transfers(transaction, { rows }) {
    for (const sent of rows('sent')) yield* insertTransfer(transaction, sent);
    return NOTHING;
  },

  read_transfers_for_change(transaction, { rows }) {
    return rows('sent').flatMap(({ program_id, transfer_id }) => {
      const row = ofProgram(transaction, program_id, transfer_id);
      if (row === undefined) return [];
      const hold = transaction.find('hold', String(transfer_id));
      return [
        {
          ...withCards(transaction, row),
          source_account_id: hold?.source_account_id ?? null,
          destination_account_id: hold?.destination_account_id ?? null,
          hold_amount: hold?.amount ?? null,
          hold_expires_at: hold?.expires_at ?? null,
          day_start: hold?.day_start ?? null,
        },
      ];
    });
  },

  read_transfer(transaction, { values: [programId, transferId] }) {
    const row = ofProgram(transaction, programId, transferId);
    return row === undefined ? NOTHING : [{ ...withCards(transaction, row), replicated: null }];
  },

  find_expired_holds(transaction, { values: [count] }) {
    const now = transaction.clock();
    return transaction
      .scan('hold', (row) => timeOf(row.expires_at) <= now)
      .sort((one, other) => timeOf(one.expires_at) - timeOf(other.expires_at))
      .slice(0, Number(count))
      .map(({ program_id, transfer_id }) => ({ program_id, transfer_id }));
  },

  find_due_transfers(transaction, { values: [connectorIds, count] }) {
    const now = transaction.clock();
    const scopes = disabledScopes(transaction).filter(({ until }) => until === null || Number(until) > now);
    const isDisabled = ({ program_id, type }: StoredRow): boolean =>
      scopes.some(
        ({ programId, transferType }) =>
          (programId === null || programId === program_id) && (transferType === null || transferType === type),
      );
    const isDown = ({ card_id }: StoredRow): boolean => {
      const connectorId = transaction.find('card', String(card_id))?.connector_id ?? null;
      if (connectorId !== null && !(connectorIds as string[]).includes(String(connectorId))) return true;
      return (
        transaction.scan('connector_state', (row) => row.connector_id === connectorId && row.opened_at !== null)
          .length > 0
      );
    };
    return transaction
      .scan('transfer', (row) => row.status === 'scheduled' && timeOf(row.scheduled_for) <= now)
      .filter((row) => !isDisabled(row) && !isDown(row))
      .sort((one, other) => timeOf(one.scheduled_for) - timeOf(other.scheduled_for))
      .slice(0, Number(count))
      .map(({ program_id, transfer_id }) => ({ program_id, transfer_id }));
  },

  *update_transfers(transaction, { rows }) {
    for (const sent of rows('sent')) {
      yield* transaction.update('transfer', String(sent.transfer_id), (row) => ({
        ...row,
        ...columnsOf(sent, UPDATED),
      }));
    }
    return NOTHING;
  },

  // The simulation erases no card holders.
  read_erasures_of_transfers: () => NOTHING,

  *write_metadata(transaction, { rows }) {
    for (const { transfer_id, metadata } of rows('sent')) {
      yield* transaction.update('transfer', String(transfer_id), (row) => ({ ...row, metadata }));
    }
    return NOTHING;
  },

  *insert_metadata(transaction, { rows }) {
    for (const sent of rows('sent')) {
      yield* transaction.insert('transfer_metadata', `${sent.transfer_id} ${sent.name} ${sent.value}`, sent);
    }
    return NOTHING;
  },

  *delete_metadata(transaction, { rows }) {
    const ids = rows('sent').map(({ transfer_id }) => transfer_id);
    for (const row of transaction.scan('transfer_metadata', (one) => ids.includes(one.transfer_id))) {
      yield* transaction.remove('transfer_metadata', `${row.transfer_id} ${row.name} ${row.value}`);
    }
    return NOTHING;
  },

  *insert_holds(transaction, { rows }) {
    for (const sent of rows('sent')) yield* transaction.insert('hold', String(sent.transfer_id), sent);
    return NOTHING;
  },

  *delete_holds(transaction, { rows }) {
    for (const { transfer_id } of rows('sent')) yield* transaction.remove('hold', String(transfer_id));
    return NOTHING;
  },

  *insert_reversals(transaction, { rows }) {
    for (const sent of rows('sent')) yield* transaction.insert('reversal', String(sent.reversal_id), sent);
    return NOTHING;
  },
};

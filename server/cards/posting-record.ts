import type { PostingRecord } from '../../contract/cards.ts';
import { toWireId } from '../../domain/identifier.ts';
import { toWire } from '../../domain/ledger/money.ts';
import type { StatementLine } from '../store/ledger/statement.ts';

/** A line of a card's statement as the contract shows it. */
export function toPostingRecord(line: StatementLine): PostingRecord {
  return {
    sequence: Number(line.sequence),
    purpose: line.purpose as PostingRecord['purpose'],
    direction: line.direction,
    amount: toWire(line.amount),
    balance: toWire(line.balance),
    currency: line.currency,
    transfer_id: line.transferId === null ? null : toWireId('tr', line.transferId),
    reversal_id: line.reversalId === null ? null : toWireId('rev', line.reversalId),
    created_at: line.createdAt.toISOString(),
  };
}

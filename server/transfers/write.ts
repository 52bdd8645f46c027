import type { DomainEvent } from '../../domain/event.ts';
import type { Account } from '../../domain/ledger/ledger.ts';
import type { Hold } from '../../domain/transfers/hold.ts';
import type { Reversal } from '../../domain/transfers/reverse-transfer.ts';
import type { Transfer } from '../../domain/transfers/transfer.ts';
import { type AuditNote, insertAuditEntries } from '../store/audit.ts';
import type { Statement } from '../store/connection/database.ts';
import { insertEvents } from '../store/event.ts';
import { insertStoredResponses, type KeyedResponse } from '../store/idempotency.ts';
import { type CausedPosting, insertPostings, updateAccounts } from '../store/ledger/account.ts';
import { addToCounters, type CounterChangeOf, giveBackToCounters } from '../store/ledger/limits.ts';
import { mergeWrites } from '../store/sql.ts';
import { deleteHolds, insertHolds } from '../store/transfers/hold.ts';
import { insertReversals } from '../store/transfers/reversal.ts';
import {
  insertCompletedTransfers,
  insertMetadata,
  insertOpenTransfers,
  updateTransfers,
} from '../store/transfers/transfer.ts';

/** Everything that a group of decisions has changed, each thing after the last decision. */
export type BookChanges = {
  readonly created: Map<string, Transfer>;
  readonly changed: Map<string, Transfer>;
  readonly accounts: Map<string, Account>;
  readonly opened: Map<string, Hold>;
  readonly ended: Map<string, Hold>;
  /** Sums, by account, direction and day. */
  readonly counts: Map<string, CounterChangeOf>;
  readonly reversals: Reversal[];
  readonly postings: CausedPosting[];
  readonly responses: KeyedResponse[];
  readonly events: DomainEvent[];
  /** What operators have done. */
  readonly audited: AuditNote[];
};

/**
 * One statement for all writes, none when nothing changes. The audit log has its own statement, which comes last because
 * it takes the last of all locks. `now` in milliseconds since 1970.
 */
export function writesOf(changes: BookChanges, batchId: string, now: number): readonly Statement[] {
  const created = [...changes.created.values()];
  const counts = [...changes.counts.values()].filter(({ amount, count }) => amount !== 0n || count !== 0n);
  const isBack = ({ amount, count }: CounterChangeOf): boolean => amount < 0n || count < 0n;
  const some = <Item>(items: readonly Item[], write: (items: readonly Item[]) => Statement): readonly Statement[] =>
    items.length > 0 ? [write(items)] : [];
  const writes = [
    ...some(created.filter(isPlain), (transfers) => insertCompletedTransfers(transfers, now)),
    ...some(
      created.filter((transfer) => !isPlain(transfer)),
      insertOpenTransfers,
    ),
    ...some(
      created.filter(({ metadata }) => Object.keys(metadata).length > 0),
      insertMetadata,
    ),
    ...some([...changes.changed.values()], updateTransfers),
    ...some([...changes.opened.values()], insertHolds),
    ...some([...changes.ended.values()], deleteHolds),
    ...some(changes.reversals, insertReversals),
    ...some(changes.postings, (postings) => insertPostings(postings, now)),
    ...some([...changes.accounts.values()], updateAccounts),
    ...some(
      counts.filter((change) => !isBack(change)),
      addToCounters,
    ),
    ...some(counts.filter(isBack), giveBackToCounters),
    ...some(changes.events, (events) => insertEvents(batchId, events, now)),
    ...some(changes.responses, (responses) => insertStoredResponses(responses, batchId, now)),
  ];
  return writes.length > 0 ? [mergeWrites(writes), ...some(changes.audited, insertAuditEntries)] : [];
}

/** A transfer that was created as completed and has not changed since: most of them, with fewer columns to write. */
function isPlain(transfer: Transfer): boolean {
  return transfer.status === 'completed' && transfer.capture === 'automatic' && transfer.reversedAmount === 0n;
}

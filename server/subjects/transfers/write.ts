import type { DomainEvent } from '../../../domain/event.ts';
import type { Account } from '../../../domain/ledger/ledger.ts';
import type { CountedMovement } from '../../../domain/people/operator-limits.ts';
import type { Attempt } from '../../../domain/processors/attempt.ts';
import type { Reversal } from '../../../domain/transfers/reverse-transfer.ts';
import type { Hold, Transfer } from '../../../domain/transfers/transfer.ts';
import type { Moment } from '../../commit/under-key.ts';
import { type AuditNote, insertAuditEntries } from '../../store/audit.ts';
import type { Statement } from '../../store/connection/database.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { insertStoredResponses, type KeyedResponse } from '../../store/idempotency.ts';
import {
  type CausedPosting,
  checkAccountsUnchanged,
  type DecidedAccount,
  insertPostings,
  updateAccounts,
  updateAccountsIfUnchanged,
} from '../../store/ledger/account.ts';
import { type CounterChangeOf, insertCounters, updateCounters } from '../../store/ledger/limits.ts';
import { writeCountedMovements } from '../../store/person.ts';
import { type DecidedAttempt, insertAttempts, updateReportedAttempts } from '../../store/processors/attempt.ts';
import { mergeWrites } from '../../store/sql.ts';
import {
  deleteHolds,
  deleteMetadata,
  insertCompletedTransfers,
  insertHolds,
  insertMetadata,
  insertOpenTransfers,
  insertReversals,
  updateTransfers,
  writeMetadata,
} from '../../store/transfers/transfer.ts';

/** The changes of a group, except for accounts and counters, in the state after the last decision. */
export type BookChanges = {
  readonly created: Transfer[];
  readonly changed: Map<string, Transfer>;
  /** The transfers in `changed` whose metadata has changed. */
  readonly annotated: Map<string, Transfer>;
  /** New orders to processors to move the money of a transfer. */
  readonly attempts: Attempt[];
  /** Attempts that their processor has answered, by attempt id. */
  readonly reported: Map<string, DecidedAttempt>;
  readonly opened: Map<string, Hold>;
  readonly ended: Map<string, Hold>;
  readonly reversals: Reversal[];
  readonly postings: CausedPosting[];
  readonly responses: KeyedResponse[];
  readonly events: DomainEvent[];
  /** The amounts that operators have withdrawn and reversed today, by operator and currency. */
  readonly counted: Map<string, CountedMovement>;
  /** The actions of operators. */
  readonly audited: AuditNote[];
};

export function noChanges(): BookChanges {
  return {
    created: [],
    changed: new Map(),
    annotated: new Map(),
    attempts: [],
    reported: new Map(),
    opened: new Map(),
    ended: new Map(),
    reversals: [],
    postings: [],
    responses: [],
    events: [],
    counted: new Map(),
    audited: [],
  };
}

/** Book changes with the changes of counters: one for each account, direction and day. */
type CountedChanges = BookChanges & { readonly counts: readonly CounterChangeOf[] };

export type ChainedWrites = {
  /** Sent immediately: rows with ids that the group generated, or with names that it has locked. */
  readonly early: readonly Statement[];
  /** Sent when the previous group is committed. The first statement fails if an account has changed since the decision. */
  readonly late: readonly Statement[];
  /** Sent instead of both if the group writes nothing. It fails if an account has changed since the decision. */
  readonly check: Statement | null;
};

/**
 * Returns the writes of a group that has locked its accounts: one statement, or none if nothing changes. Metadata, attempts
 * and the audit log have separate statements. The audit log comes last, because it takes the last lock.
 */
export function writesOf(
  changes: CountedChanges & { readonly accounts: readonly Account[] },
  moment: Moment,
): readonly Statement[] {
  const accounts = some(changes.accounts, updateAccounts);
  const writes = [...insertsOf(changes, moment), ...accounts, ...changesOf(changes, moment)];
  if (writes.length === 0) return [];
  const reported = some([...changes.reported.values()], updateReportedAttempts);
  const counted = some([...changes.counted.values()], writeCountedMovements);
  const audited = some(changes.audited, insertAuditEntries);
  return [mergeWrites(writes), ...metadataWritesOf(changes), ...reported, ...counted, ...audited];
}

/** Returns the writes of a group that has not locked its accounts. */
export function chainedWritesOf(
  changes: CountedChanges,
  examined: readonly DecidedAccount[],
  moment: Moment,
): ChainedWrites {
  const early = insertsOf(changes, moment);
  if (early.length === 0) {
    return { early, late: [], check: examined.length === 0 ? null : checkAccountsUnchanged(examined) };
  }
  const late = changesOf(changes, moment);
  return {
    early: [mergeWrites(early)],
    late: [
      ...some(examined, updateAccountsIfUnchanged),
      ...(late.length === 0 ? [] : [mergeWrites(late)]),
      ...metadataWritesOf(changes),
      ...some([...changes.reported.values()], updateReportedAttempts),
    ],
    check: null,
  };
}

/** Returns inserts that cannot conflict with another transaction, because their ids are new and their names are locked. */
function insertsOf(changes: BookChanges, { batchId, now }: Moment): readonly Statement[] {
  const { created } = changes;
  return [
    ...some(created.filter(isPlain), (transfers) => insertCompletedTransfers(transfers, now)),
    ...some(
      created.filter((transfer) => !isPlain(transfer)),
      insertOpenTransfers,
    ),
    ...some(
      created.filter(({ metadata }) => Object.keys(metadata).length > 0),
      insertMetadata,
    ),
    ...some(changes.attempts, insertAttempts),
    ...some(changes.events, (events) => insertEvents(batchId, events, now)),
    ...some(changes.responses, (responses) => insertStoredResponses(responses, batchId, now)),
  ];
}

/** Returns the writes that are protected by the locks or the versions of the accounts. */
function changesOf(changes: CountedChanges, { now }: Moment): readonly Statement[] {
  const counts = changes.counts.filter(({ amount, count }) => amount !== 0n || count !== 0n);
  const isBack = ({ amount, count }: CounterChangeOf): boolean => amount < 0n || count < 0n;
  return [
    ...some([...changes.changed.values()], updateTransfers),
    ...some([...changes.opened.values()], insertHolds),
    ...some([...changes.ended.values()], deleteHolds),
    ...some(changes.reversals, insertReversals),
    ...some(changes.postings, (postings) => insertPostings(postings, now)),
    ...some(counts, updateCounters),
    ...some(
      counts.filter((change) => !isBack(change)),
      insertCounters,
    ),
  ];
}

/** Returns separate statements, because one statement cannot write a row twice, or insert a row and delete it. */
function metadataWritesOf({ annotated }: BookChanges): readonly Statement[] {
  if (annotated.size === 0) return [];
  const transfers = [...annotated.values()];
  return [
    writeMetadata(transfers),
    deleteMetadata(transfers),
    ...some(
      transfers.filter(({ metadata }) => Object.keys(metadata).length > 0),
      insertMetadata,
    ),
  ];
}

function some<Item>(items: readonly Item[], write: (items: readonly Item[]) => Statement): readonly Statement[] {
  return items.length > 0 ? [write(items)] : [];
}

/**
 * Returns whether a transfer was completed immediately and has not changed since. Most transfers are plain in this sense, and
 * have fewer columns to write.
 */
function isPlain(transfer: Transfer): boolean {
  return transfer.status === 'completed' && transfer.capture === 'automatic' && transfer.reversedAmount === 0n;
}

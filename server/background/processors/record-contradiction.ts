import { post } from '../../../domain/ledger/ledger.ts';
import { MAXIMUM_BALANCE } from '../../../domain/ledger/money.ts';
import type { Attempt } from '../../../domain/processors/attempt.ts';
import type { Contradiction } from '../../../domain/processors/next-step.ts';
import { toTransferRecord } from '../../calls/records/transfer.ts';
import { transact } from '../../commit/transaction.ts';
import { newId } from '../../foundation/ids.ts';
import type { Database } from '../../store/connection/database.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { insertPostings, toAccount, updateAccounts } from '../../store/ledger/account.ts';
import {
  createSuspenseAccount,
  findBreak,
  insertBreak,
  lockSuspenseAndClearing,
  markLateApproval,
  recordContradiction as noteContradiction,
  restateContradiction,
} from '../../store/processors/contradiction.ts';
import { READ_SWITCH, toSwitchReading } from '../../store/switch.ts';
import { readTransfer, toTransfer } from '../../store/transfers/transfer.ts';

// Invariant: If a processor moved money after its transfer had failed, that money is in the books once, against suspense. Every
//   later answer about the transfer says so
// Kept by: the locks of both accounts, held during the look-up of the break
// Tested by: `test/processors/late.test.ts`

const DEADLINE_MILLISECONDS = 5_000;

/** A contradiction, worded for its break. */
type Said = Omit<Contradiction, 'found'> & { readonly found: string };

/**
 * Records that a processor contradicts the outcome of an attempt, once, for an operator to check. An approval after a failure
 * means that money has moved at the processor. This function posts that money between the card's clearing account and the
 * program's suspense account, and emits an event. It notes both on the attempt, where every reader sees them.
 */
export async function recordContradiction(
  database: Database,
  attempt: Attempt,
  { kind, expected, found, stated }: Said,
  now: number,
): Promise<void> {
  const { programId, attemptId, transferId, connectorId, amount, currency } = attempt;
  const restatement = restateContradiction({ connectorId, attemptId, stated });
  if (kind === 'agreement') {
    await database.write(restatement);
    return;
  }
  const breakId = newId();
  const facts = { breakId, kind, connectorId, programId, attemptId, transferId, amount, currency };
  const knownAt = (createdAt: number) => ({ ...facts, expected, found, statedAmount: stated, createdAt });
  if (kind === 'contradiction') {
    await database.write(noteContradiction(knownAt(now)));
    return;
  }
  await database.write(createSuspenseAccount({ programId, currency, accountId: newId(), floor: -MAXIMUM_BALANCE }));
  const load = {
    accounts: lockSuspenseAndClearing(attempt),
    breaks: findBreak(attempt, kind),
    // Read under the lock of the card's account, so that the data in the event cannot be changed or erased in the meantime.
    transfers: readTransfer(programId, transferId),
    // Read under the locks, so that the posting times of an account never go back, and no posting is added to a day that is
    // over.
    clock: READ_SWITCH,
  };
  await transact(database, performance.now() + DEADLINE_MILLISECONDS, load, (loaded, batchId) => {
    if (loaded.breaks.length > 0) return { result: undefined, writes: [], readsOnly: true };
    const { now: postedAt } = toSwitchReading(loaded.clock);
    const known = knownAt(postedAt);
    const accounts = loaded.accounts.map(toAccount);
    const suspense = accounts.find((account) => account.kind === 'suspense');
    const clearing = accounts.find((account) => account.kind === 'clearing');
    if (suspense === undefined || clearing === undefined) throw new Error('a card at a processor has no accounts');
    const [row] = loaded.transfers;
    if (row === undefined) throw new Error('an attempt has no transfer');
    const shown = toTransferRecord(toTransfer(row));
    // Never compact: an older version that runs at the same time could not read it. These events are rare, so the size does not
    // matter.
    const payload = JSON.stringify(shown);
    const event = { type: 'transfer.late_approval' as const, programId, subjectId: shown.transfer_id, payload };
    const [source, destination] = attempt.kind === 'push' ? [suspense, clearing] : [clearing, suspense];
    const purpose = attempt.kind === 'push' ? 'load' : 'unload';
    const posted = post({ index: 0, purpose, source, destination, amount });
    return {
      result: undefined,
      writes: [
        insertBreak(known),
        insertPostings([{ ...posted.posting, programId, causeId: breakId }], postedAt),
        updateAccounts([posted.source, posted.destination]),
        markLateApproval(known),
        // The processor's earlier statement no longer holds.
        ...(attempt.contradictedAt === null ? [] : [restatement]),
        insertEvents(batchId, [event], postedAt),
      ],
    };
  });
}

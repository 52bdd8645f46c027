import type { CardRecord } from '../../../contract/cards.ts';
import {
  type CardChange,
  type CardChangeRequest,
  type CardView,
  decideCardUpdate,
} from '../../../domain/cards/update-card.ts';
import { LedgerViolation } from '../../../domain/ledger/ledger.ts';
import { changeLimits } from '../../../domain/ledger/limits.ts';
import { changeMetadata, sameMetadata } from '../../../domain/metadata.ts';
import { Refusal } from '../../../domain/refusal.ts';
import {
  type Call,
  OperationFailure,
  type RecordReply,
  type Reply,
  type Service,
  schemaRefusal,
} from '../../calls/call.ts';
import { checkLimits, checkMetadata, readLimitsChange } from '../../calls/fields.ts';
import { toOperationFailure } from '../../calls/read-rows.ts';
import { toCardRecord } from '../../calls/records/card.ts';
import { creatorOf, toTransferRecord } from '../../calls/records/transfer.ts';
import { checkVersion } from '../../calls/version.ts';
import { transact } from '../../commit/transaction.ts';
import { idAt } from '../../foundation/ids.ts';
import {
  type CardDetails,
  deleteCardMetadata,
  insertCardMetadata,
  readCardDetails,
  toCardDetails,
  updateCard as writeCard,
} from '../../store/card.ts';
import type { Decision, Loaded, Statement } from '../../store/connection/database.ts';
import { CommitUnknown } from '../../store/connection/failure.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { insertPostings, lockAccounts, toAccount, updateAccounts } from '../../store/ledger/account.ts';
import { shareSwitchAndLockNames } from '../../store/locks.ts';
import { readProgramRules, toRulesNow } from '../../store/program.ts';
import { insertCompletedTransfers } from '../../store/transfers/transfer.ts';
import { auditOf, withoutHolderValues } from '../audit/audit.ts';

type LoadName = 'lockSwitch' | 'lockAccounts' | 'rules' | 'card';

type UpdateCall = Call<'update_card'>;

/** The reply. `sweptBy` is the wire id of the transfer that moved the balance of a closed card. */
type Updated = { readonly reply: RecordReply<CardRecord>; readonly sweptBy: string | undefined };

/**
 * update_card: returns the card. The change happens under the lock of the card's account, so no transfer is decided with the old
 * status. Closing the card can move its balance to the program's funding in the same transaction (a sweep).
 */
export async function updateCard(service: Service, call: UpdateCall): Promise<Reply<'update_card'>> {
  const change = readChange(call);
  const { card_id: cardName } = call.params;
  try {
    const { reply, sweptBy } = await transact(
      service.database,
      call.deadline,
      loadFor(call.programId, cardName, change),
      (loaded, batchId) => decide(call, { cardName, change }, loaded, batchId),
    );
    return { ...reply, moneyMoved: sweptBy === undefined ? 'no' : 'yes' };
  } catch (thrown) {
    throw withSweep(thrown);
  }
}

function readChange(call: UpdateCall): CardChange {
  const { body } = call;
  if (body.balance_to !== undefined && body.status !== 'closed') {
    const message =
      "'balance_to' can only be sent with 'status': 'closed'. It says where the balance of the closed card is moved to.";
    throw schemaRefusal(call, message, '/balance_to');
  }
  const limits = readLimitsChange(body.limits);
  checkLimits(call, 'limits', changeLimits(null, limits));
  return {
    status: body.status,
    balanceTo: body.balance_to,
    holderReference: body.holder_reference,
    lastFour: body.last_four,
    expiresOn: body.expires_on,
    limits,
    metadata: body.metadata,
  };
}

/**
 * Returns the locks in their global order, then the reads. The funding account is needed only if the change may move the balance.
 */
function loadFor(programId: string, name: string, { balanceTo }: CardChange): Record<LoadName, Statement> {
  return {
    lockSwitch: shareSwitchAndLockNames([], 'wait'),
    lockAccounts: lockAccounts([{ programId, name, withFunding: balanceTo !== undefined }], []),
    rules: readProgramRules([programId]),
    card: readCardDetails(programId, name),
  };
}

function decide(
  call: UpdateCall,
  { cardName, change }: Pick<CardChangeRequest, 'cardName' | 'change'>,
  loaded: Loaded<LoadName>,
  batchId: string,
): Decision<Updated> {
  const view = viewOf(call.programId, loaded);
  const before = findCard(loaded, view.rules.today);
  if (before !== undefined) {
    checkLimits(call, 'limits', changeLimits(before.card.limits, change.limits));
    checkMetadata(call, changeMetadata(before.metadata, change.metadata));
  }
  const { programId, requestId } = call;
  const { now } = view;
  const transferId = idAt(now);
  const creation = { programId, transferId, requestId, idempotencyKey: null, createdBy: creatorOf(call.caller), now };
  const plan = decideCardUpdate({ cardName, change, creation }, before, view);
  if (plan instanceof Refusal) throw plan;
  if (before === undefined) throw new Error('a card that does not exist was updated');
  checkVersion(call.ifMatch, 'card', toCardRecord(before));
  const { profile, isChanged, sweep } = plan;
  if (!isChanged) return { result: { reply: { record: toCardRecord(before) }, sweptBy: undefined }, writes: [] };
  const account = sweep?.accounts.find(({ accountId }) => accountId === profile.card.accountId) ?? before.account;
  const after: CardDetails = { ...before, ...profile, account, updatedAt: new Date(now) };
  const card = toCardRecord(after);
  const json = JSON.stringify(card);
  const reply = { record: card, json };
  const updated = { type: 'card.updated' as const, programId, subjectId: cardName, payload: json };
  const details = JSON.stringify({ ...withoutHolderValues(card), change: withoutHolderValues(call.body) });
  const audited = auditOf(call, { programId, subjectId: cardName, details });
  if (sweep === null) {
    return {
      result: { reply, sweptBy: undefined },
      writes: [...writesOf(before, after), insertEvents(batchId, [updated], now, call), ...audited],
    };
  }
  const record = toTransferRecord(sweep.transfer);
  const { transfer_id: subjectId } = record;
  const completed = { type: sweep.event, programId, subjectId, payload: JSON.stringify(record) };
  const sweptBy = auditOf(call, { programId, subjectId, details: JSON.stringify(withoutHolderValues(record)) });
  const { transferId: causeId } = sweep.transfer;
  return {
    result: { reply, sweptBy: subjectId },
    writes: [
      insertCompletedTransfers([sweep.transfer], now),
      insertPostings(
        sweep.postings.map((posting) => ({ programId, causeId, ...posting })),
        now,
      ),
      updateAccounts(sweep.accounts),
      ...writesOf(before, after),
      insertEvents(batchId, [completed, updated], now, call),
      ...audited,
      ...sweptBy,
    ],
  };
}

function writesOf(before: CardDetails, after: CardDetails): readonly Statement[] {
  const { card, metadata } = after;
  if (sameMetadata(before.metadata, metadata)) return [writeCard(after)];
  return [writeCard(after), deleteCardMetadata(card), ...insertCardMetadata([after])];
}

function viewOf(programId: string, loaded: Loaded<LoadName>): CardView {
  const [row] = loaded.rules;
  if (row === undefined) throw new Error('the card program of a request does not exist');
  const { rules, now, switches } = toRulesNow(row);
  const accounts = loaded.lockAccounts.map(toAccount);
  return {
    programId,
    now,
    rules,
    switches,
    account: (accountId) => {
      const account = accounts.find((one) => one.accountId === accountId);
      if (account === undefined) throw new LedgerViolation('a decision needs an account that was not locked');
      return account;
    },
  };
}

/**
 * Returns the card, or undefined if there is none. A card that was created between the locks and the reads also counts as missing,
 * because its account was not locked.
 */
function findCard(loaded: Loaded<LoadName>, today: string): CardDetails | undefined {
  const [row] = loaded.card;
  if (row === undefined || loaded.lockAccounts.length === 0) return undefined;
  return { ...toCardDetails(row), today };
}

/**
 * After an ambiguous commit, we cannot know whether the balance moved. The error then names the transfer, so that the caller can
 * look it up. If the request did not ask to move the balance, no money moved.
 */
function withSweep(thrown: unknown): unknown {
  if (!(thrown instanceof OperationFailure && thrown.cause instanceof CommitUnknown)) return thrown;
  // 'unconfirmed' means that the card already had the requested state. If its balance was moved, an earlier request moved it.
  if (thrown.cause.doubt === 'unconfirmed') return thrown;
  const { sweptBy } = thrown.cause.result as Updated;
  if (sweptBy !== undefined) return toOperationFailure(thrown.cause, sweptBy);
  return new OperationFailure(thrown.message, { moneyMoved: 'no', cause: thrown.cause });
}

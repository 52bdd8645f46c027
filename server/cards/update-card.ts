import type { UpdateCardBody } from '../../contract/cards.ts';
import {
  type CardChange,
  type CardChangeAsked,
  type CardView,
  decideCardUpdate,
} from '../../domain/cards/update-card.ts';
import { LedgerViolation } from '../../domain/ledger/ledger.ts';
import { changeLimits } from '../../domain/ledger/limits.ts';
import { Refusal } from '../../domain/refusal.ts';
import { auditIfOperator } from '../audit/audit.ts';
import { toOperationFailure, transact } from '../commit/transaction.ts';
import { idAt } from '../ids.ts';
import { type Call, OperationFailure, type Reply } from '../operations/call.ts';
import { toCardRecord, toTransferRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { type CardDetails, readCardDetails, toCardDetails, updateCard as writeCard } from '../store/card.ts';
import type { Decision, Loaded, Statement } from '../store/connection/database.ts';
import { CommitUnknown } from '../store/connection/failure.ts';
import { insertEvents } from '../store/event.ts';
import { lockAccounts, toAccount, updateAccounts } from '../store/ledger/account.ts';
import { insertPostings } from '../store/ledger/posting.ts';
import { shareSwitchAndLockNames } from '../store/locks.ts';
import { readProgramRules, toRulesNow } from '../store/program.ts';
import { READ_SWITCH, toSwitchReading } from '../store/switch.ts';
import { insertCompletedTransfers } from '../store/transfers/transfer.ts';
import { insistOnAgreement, readLimitsChange } from './sent-limits.ts';

type LoadName = 'lockSwitch' | 'lockAccounts' | 'switch' | 'rules' | 'card';

/** What became of a card; `sweptBy`: the transfer that took along what was on it, as its id on the wire. */
type Updated = { readonly body: string; readonly sweptBy: string | undefined };

/**
 * update_card: 200 with the card. A card changes under the lock of its account, so no transfer is decided on what it
 * was before. Closing it can take its balance along, in the same transaction.
 */
export async function updateCard(service: Service, call: Call): Promise<Reply> {
  const change = readChange(call);
  const cardName = call.parameters.card_id ?? '';
  try {
    const { body } = await transact(
      service.database,
      call.deadline,
      loadFor(call.programId, cardName, change),
      (loaded, batchId) => decide(call, { cardName, change }, loaded, batchId),
    );
    return { status: 200, body };
  } catch (thrown) {
    throw withSweep(thrown);
  }
}

function readChange(call: Call): CardChange {
  const body = call.members as UpdateCardBody;
  if (body.balance_to !== undefined && body.status !== 'closed') {
    const message = "'balance_to' goes with the status 'closed' only: it says where the balance of a closed card goes.";
    throw new Refusal(`${call.operation}_schema`, message, { field: '/balance_to' });
  }
  const limits = readLimitsChange(body.limits);
  insistOnAgreement(call, 'limits', changeLimits(null, limits));
  return {
    status: body.status,
    balanceTo: body.balance_to,
    holderReference: body.holder_reference,
    lastFour: body.last_four,
    expiresOn: body.expires_on,
    limits,
  };
}

/** Locks in their global order, then the reads. Funding takes part only when money may move. */
function loadFor(programId: string, name: string, { balanceTo }: CardChange): Record<LoadName, Statement> {
  return {
    lockSwitch: shareSwitchAndLockNames([], 'wait'),
    lockAccounts: lockAccounts([{ programId, name, withFunding: balanceTo !== undefined }], []),
    switch: READ_SWITCH,
    rules: readProgramRules([programId]),
    card: readCardDetails(programId, name),
  };
}

function decide(
  call: Call,
  { cardName, change }: Pick<CardChangeAsked, 'cardName' | 'change'>,
  loaded: Loaded<LoadName>,
  batchId: string,
): Decision<Updated> {
  const view = viewOf(call.programId, loaded);
  const before = findCard(loaded, view.rules.today);
  if (before !== undefined) insistOnAgreement(call, 'limits', changeLimits(before.card.limits, change.limits));
  const { programId, requestId } = call;
  const birth = { programId, transferId: idAt(view.now), requestId, now: view.now };
  const plan = decideCardUpdate({ cardName, change, birth }, before, view);
  if (plan instanceof Refusal) throw plan;
  // Without a card there is no plan.
  if (before === undefined) throw new Error('a card that is not there was changed');
  const { profile, isChanged, sweep } = plan;
  if (!isChanged) return { result: { body: JSON.stringify(toCardRecord(before)), sweptBy: undefined }, writes: [] };
  const { now } = view;
  const account = sweep?.accounts.find(({ accountId }) => accountId === profile.card.accountId) ?? before.account;
  const after: CardDetails = { ...before, ...profile, account, updatedAt: new Date(now) };
  const body = JSON.stringify(toCardRecord(after));
  const updated = { type: 'card.updated' as const, programId, subjectId: cardName, payload: body };
  const details = JSON.stringify({ ...toCardRecord(after), change: call.members });
  const audited = auditIfOperator(call, { programId, subjectId: cardName, details });
  if (sweep === null) {
    return {
      result: { body, sweptBy: undefined },
      writes: [writeCard(after), insertEvents(batchId, [updated], now), ...audited],
    };
  }
  const record = toTransferRecord(sweep.transfer);
  const { transfer_id: subjectId } = record;
  const completed = { type: sweep.event, programId, subjectId, payload: JSON.stringify(record) };
  const sweptBy = auditIfOperator(call, { programId, subjectId, details: completed.payload });
  const { transferId: causeId } = sweep.transfer;
  return {
    result: { body, sweptBy: subjectId },
    writes: [
      insertCompletedTransfers([sweep.transfer], now),
      insertPostings(
        sweep.postings.map((posting) => ({ programId, causeId, ...posting })),
        now,
      ),
      updateAccounts(sweep.accounts),
      writeCard(after),
      insertEvents(batchId, [completed, updated], now),
      ...audited,
      ...sweptBy,
    ],
  };
}

function viewOf(programId: string, loaded: Loaded<LoadName>): CardView {
  const [row] = loaded.rules;
  if (row === undefined) throw new Error('the card program of a request is not there');
  const { rules, now } = toRulesNow(row);
  const accounts = loaded.lockAccounts.map(toAccount);
  return {
    programId,
    now,
    rules,
    switches: toSwitchReading(loaded.switch).settings,
    account: (accountId) => {
      const account = accounts.find((one) => one.accountId === accountId);
      if (account === undefined) throw new LedgerViolation('an account was needed that was not locked');
      return account;
    },
  };
}

/** The card; none also when it was registered between the locks and the reads, since its account is not locked. */
function findCard(loaded: Loaded<LoadName>, today: string): CardDetails | undefined {
  const [row] = loaded.card;
  if (row === undefined || loaded.lockAccounts.length === 0) return undefined;
  return { ...toCardDetails(row), today };
}

/**
 * A commit that nobody could confirm leaves a doubt about money only when money was to move. The transfer that would
 * have moved it is named then, so that the caller can look it up.
 */
function withSweep(thrown: unknown): unknown {
  if (!(thrown instanceof OperationFailure && thrown.cause instanceof CommitUnknown)) return thrown;
  // The card was found as asked for: what took its balance along, if anything did, was a request before this one.
  if (thrown.cause.doubt === 'unconfirmed') return thrown;
  const { sweptBy } = thrown.cause.result as Updated;
  if (sweptBy !== undefined) return toOperationFailure(thrown.cause, sweptBy);
  return new OperationFailure(thrown.message, { moneyMoved: 'no', cause: thrown.cause });
}

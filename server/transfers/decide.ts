import { errorRecord } from '../../contract/errors/catalogue.ts';
import type { DomainEvent } from '../../domain/event.ts';
import { replay, type StoredResponse } from '../../domain/idempotency.ts';
import { toWireId } from '../../domain/identifier.ts';
import { type Account, LedgerViolation } from '../../domain/ledger/ledger.ts';
import {
  addToDays,
  addToUsage,
  type Calendar,
  type CountedDay,
  type Direction,
  type Usage,
  usageOf,
} from '../../domain/ledger/limits.ts';
import { Refusal } from '../../domain/refusal.ts';
import {
  decideCancel,
  decideCapture,
  decideExecution,
  decideExpiry,
  refuseDisabled,
  type StandingTransfer,
} from '../../domain/transfers/change-transfer.ts';
import { decideTransfer, type TransferPlan } from '../../domain/transfers/create-transfer.ts';
import type { Hold } from '../../domain/transfers/hold.ts';
import { decideReversal, type Reversal, type ReversalPlan } from '../../domain/transfers/reverse-transfer.ts';
import type { Transfer } from '../../domain/transfers/transfer.ts';
import type { TransferView } from '../../domain/transfers/transfer-checks.ts';
import { refusalToStore, storedRefusal, successToStore } from '../commit/under-key.ts';
import { idAt } from '../ids.ts';
import type { AuditNote } from '../store/audit.ts';
import { type LoadedCard, toLoadedCard } from '../store/card.ts';
import type { Loaded, Statement } from '../store/connection/database.ts';
import { type KeyedResponse, type KeyInScope, keyText, toStoredResponses } from '../store/idempotency.ts';
import { type CausedPosting, toAccount } from '../store/ledger/account.ts';
import type { CounterChangeOf } from '../store/ledger/limits.ts';
import { type RulesNow, toRulesNow } from '../store/program.ts';
import { type SwitchReading, toSwitchReading } from '../store/switch.ts';
import { toStandingTransfer } from '../store/transfers/transfer.ts';
import {
  type ChangeRequest,
  type CreateRequest,
  type DueRequest,
  type TransferRequest,
  transferMissing,
} from './request.ts';
import { type Outcome, toReversalRecord, toTransferRecord } from './respond.ts';
import { type BookChanges, writesOf } from './write.ts';

/** Statements of a group's load, in the order they are sent: the locks in their global order, then the reads. */
export type LoadName =
  | 'lockNames'
  | 'lockAccounts'
  | 'switch'
  | 'rules'
  | 'cards'
  | 'cardsOfTransfers'
  | 'transfers'
  | 'responses'
  | 'references';

/** The idempotency key of a request, in the scope of what it asks for. */
export function keyInScope(request: TransferRequest): KeyInScope | undefined {
  if (request.key === null) return undefined;
  return { programId: request.programId, operation: `${request.command}_transfer`, key: request.key.text };
}

/** What the transaction of a group has loaded. Each decision changes it for the next. */
export class Books {
  readonly #switch: SwitchReading;
  readonly #rules: ReadonlyMap<string, RulesNow>;
  readonly #cards: ReadonlyMap<string, LoadedCard>;
  readonly #accounts: Map<string, Account>;
  readonly #days = new Map<string, readonly CountedDay[]>();
  /** The usage of the running periods, by the same key, where a decision needed it. */
  readonly #usage = new Map<string, Usage>();
  readonly #standing: Map<string, StandingTransfer>;
  readonly #storedResponses: Map<string, StoredResponse>;
  readonly #references: Map<string, string>;
  #ids = 0;
  readonly #changes: BookChanges = {
    created: new Map<string, Transfer>(),
    changed: new Map<string, Transfer>(),
    accounts: new Map<string, Account>(),
    opened: new Map<string, Hold>(),
    ended: new Map<string, Hold>(),
    counts: new Map<string, CounterChangeOf>(),
    reversals: [] as Reversal[],
    postings: [] as CausedPosting[],
    responses: [] as KeyedResponse[],
    events: [] as DomainEvent[],
    audited: [] as AuditNote[],
  };

  constructor(loaded: Loaded<LoadName>) {
    this.#switch = toSwitchReading(loaded.switch);
    this.#rules = new Map(loaded.rules.map(toRulesNow).map((found) => [found.rules.programId, found]));
    this.#accounts = new Map(loaded.lockAccounts.map(toAccount).map((account) => [account.accountId, account]));
    const cards = [...loaded.cards, ...loaded.cardsOfTransfers].map(toLoadedCard);
    this.#cards = new Map(cards.map((found) => [`${found.card.programId}\n${found.card.name}`, found]));
    for (const { card, days } of cards) this.#keepDays(card.accountId, days);
    // The counters of a program are those of its funding account in its own currency.
    for (const { card } of cards) {
      const found = this.#rules.get(card.programId);
      if (found?.rules.currency === card.currency) this.#keepDays(card.fundingAccountId, found.days);
    }
    const standing = loaded.transfers.map(toStandingTransfer);
    this.#standing = new Map(standing.map((one) => [transferKey(one.transfer), one]));
    this.#storedResponses = toStoredResponses(loaded.responses);
    this.#references = new Map(
      loaded.references.map((row) => [`${row.program_id}\n${row.reference}`, row.transfer_id as string]),
    );
  }

  /** Whether the accounts of a card are locked for this group, or held by another transaction. */
  lockedOf(programId: string, name: string, withFunding: boolean): 'unknown' | 'locked' | 'card_held' | 'funding_held' {
    const found = this.#cards.get(`${programId}\n${name}`);
    if (found === undefined) return 'unknown';
    if (!this.#accounts.has(found.card.accountId)) return 'card_held';
    return withFunding && !this.#accounts.has(found.card.fundingAccountId) ? 'funding_held' : 'locked';
  }

  /** A loaded transfer, after the decisions before this one. */
  standing(named: { readonly programId: string; readonly transferId: string }): StandingTransfer | undefined {
    return this.#standing.get(transferKey(named));
  }

  /** Decides one request. What it changes counts for the next. */
  decide(request: TransferRequest): Outcome {
    const stored = this.stored(request);
    if (stored !== undefined && request.key !== null) return replayOf(stored, request);
    const plan = this.#decide(request);
    if (!(plan instanceof Refusal)) return this.#carryOut(request, plan);
    if (request.key !== null) this.#keep(request, refusalToStore(request.key.fingerprint, plan));
    return plan;
  }

  #decide(request: TransferRequest): TransferPlan | ReversalPlan | Refusal {
    if (request.command !== 'create') return this.#decideChange(request);
    const { programId, requestId, terms, notes } = request;
    const view = this.view(request);
    const transferId = this.#newId(view.now);
    return decideTransfer({ birth: { programId, transferId, requestId, now: view.now }, terms, notes }, view);
  }

  #decideChange(request: ChangeRequest | DueRequest): TransferPlan | ReversalPlan | Refusal {
    const standing = this.standing(request);
    const view = this.#viewOfTransfer(request, standing?.transfer);
    if (request.command === 'capture' || request.command === 'reverse') {
      const disabled = refuseDisabled(standing?.transfer, view);
      if (disabled !== undefined) return disabled;
    }
    if (standing === undefined) return transferMissing('sentId' in request ? request.sentId : '');
    switch (request.command) {
      case 'capture':
        return decideCapture(standing, request.amount, view);
      case 'cancel':
        return decideCancel(standing, view);
      case 'expire':
        return decideExpiry(standing, view);
      case 'execute':
        return withErrorRecord(decideExecution(standing.transfer, view));
      case 'reverse':
        return decideReversal(standing.transfer, { ...request, reversalId: this.#newId(view.now) }, view);
    }
  }

  /** An id with the time of the decision. The ids of a group are in the order of its decisions. */
  #newId(now: number): string {
    this.#ids += 1;
    return idAt(now, this.#ids);
  }

  /** The first response to the request's key, if there is one. */
  stored(request: TransferRequest): StoredResponse | undefined {
    const key = keyInScope(request);
    return key === undefined ? undefined : this.#storedResponses.get(keyText(key));
  }

  /** What the rules look at for one request, after the decisions before it. */
  view({ programId, terms }: Pick<CreateRequest, 'programId' | 'terms'>): TransferView {
    const reference = terms.reference === null ? undefined : this.#references.get(`${programId}\n${terms.reference}`);
    return {
      ...this.#viewOfCards(programId, terms.cardName, terms.destinationCardName),
      referenceTakenBy: reference === undefined ? undefined : toWireId('tr', reference),
    };
  }

  #viewOfTransfer({ programId }: ChangeRequest | DueRequest, transfer: Transfer | undefined): TransferView {
    const names = [transfer?.cardName ?? null, transfer?.destinationCardName ?? null] as const;
    return { ...this.#viewOfCards(programId, ...names), referenceTakenBy: undefined };
  }

  #viewOfCards(
    programId: string,
    cardName: string | null,
    destinationCardName: string | null,
  ): Omit<TransferView, 'referenceTakenBy'> {
    const found = this.#rules.get(programId);
    if (found === undefined) throw new Error('the card program of a request does not exist');
    const { rules, now } = found;
    return {
      programId,
      now,
      rules,
      switches: this.#switch.settings,
      card: this.#card(programId, cardName),
      destinationCard: this.#card(programId, destinationCardName),
      account: (accountId) => {
        const account = this.#accounts.get(accountId);
        if (account === undefined)
          throw new LedgerViolation('a decision needs an account that the group has not locked');
        return account;
      },
      usage: (accountId, direction) => this.#usageOf(dayKey(accountId, direction), rules.calendar),
    };
  }

  /** The statements that write all decisions; none when nothing changes. */
  writes(batchId: string): readonly Statement[] {
    const [first] = this.#rules.values();
    return first === undefined ? [] : writesOf(this.#changes, batchId, first.now);
  }

  #carryOut(request: TransferRequest, plan: TransferPlan | ReversalPlan): Outcome {
    const { programId } = request;
    const { transfer, event } = plan;
    this.#apply(plan, request.command === 'create');
    const record = 'reversal' in plan ? toReversalRecord(plan.reversal) : toTransferRecord(transfer);
    const json = JSON.stringify(record);
    const subjectId = 'reversal_id' in record ? record.reversal_id : record.transfer_id;
    const eventIndex = this.#changes.events.push({ type: event, programId, subjectId, payload: json }) - 1;
    const { operator: actor, requestId, key } = request;
    const action = `${request.command}_transfer`;
    if (actor !== null) this.#changes.audited.push({ actor, action, programId, subjectId, requestId, details: json });
    if (key !== null) {
      const created = 'reversal' in plan ? plan.reversal.reversalId : transfer.transferId;
      const status = request.command === 'create' || request.command === 'reverse' ? 201 : 200;
      this.#keep(request, successToStore(key.fingerprint, status, created, json), eventIndex);
    }
    return { record, json };
  }

  /** Applies a plan, for the decisions after it and for the writes. */
  #apply(plan: TransferPlan | ReversalPlan, isNew: boolean): void {
    const changes = this.#changes;
    const { transfer, hold } = plan;
    const { programId, transferId } = transfer;
    const key = transferKey(transfer);
    for (const account of plan.accounts) {
      this.#accounts.set(account.accountId, account);
      changes.accounts.set(account.accountId, account);
    }
    if (isNew || changes.created.has(key)) changes.created.set(key, transfer);
    else changes.changed.set(key, transfer);
    if (isNew && transfer.reference !== null) this.#references.set(`${programId}\n${transfer.reference}`, transferId);
    const before = this.#standing.get(key)?.hold;
    if (hold !== null) changes.opened.set(key, hold);
    // A hold that was placed in this group was never written.
    else if (before !== undefined && !changes.opened.delete(key)) changes.ended.set(key, before);
    this.#standing.set(key, { transfer, hold: hold ?? undefined });
    const causeId = 'reversal' in plan ? plan.reversal.reversalId : transferId;
    for (const posting of plan.postings) changes.postings.push({ programId, causeId, ...posting });
    if ('reversal' in plan) changes.reversals.push(plan.reversal);
    for (const count of plan.counts) this.#count({ ...count, programId });
  }

  #usageOf(key: string, calendar: Calendar): Usage {
    const usage = this.#usage.get(key) ?? usageOf(this.#days.get(key) ?? [], calendar);
    this.#usage.set(key, usage);
    return usage;
  }

  #count(change: CounterChangeOf): void {
    const { accountId, direction, dayStart, amount, count } = change;
    const key = dayKey(accountId, direction);
    const before = this.#changes.counts.get(`${key} ${dayStart}`) ?? { ...change, amount: 0n, count: 0n };
    const sum = { ...change, amount: before.amount + amount, count: before.count + count };
    this.#changes.counts.set(`${key} ${dayStart}`, sum);
    this.#days.set(key, addToDays(this.#days.get(key) ?? [], change));
    const usage = this.#usage.get(key);
    const calendar = this.#rules.get(change.programId)?.rules.calendar;
    if (usage !== undefined && calendar !== undefined) this.#usage.set(key, addToUsage(usage, change, calendar));
  }

  /** Stores a first response; its body is stored once, in the event with this index of the group. */
  #keep(request: TransferRequest, response: StoredResponse | undefined, eventIndex: number | null = null): void {
    const key = keyInScope(request);
    if (key === undefined || response === undefined) return;
    this.#storedResponses.set(keyText(key), response);
    this.#changes.responses.push({ ...key, ...response, eventIndex });
  }

  #keepDays(accountId: string, days: LoadedCard['days']): void {
    this.#days.set(dayKey(accountId, 'in'), days.in);
    this.#days.set(dayKey(accountId, 'out'), days.out);
  }

  #card(programId: string, name: string | null) {
    const found = name === null ? undefined : this.#cards.get(`${programId}\n${name}`);
    // A card that was created between the locks and the reads has no locked account. It does not exist yet here.
    return found !== undefined && this.#accounts.has(found.card.accountId) ? found.card : undefined;
  }
}

function transferKey({ programId, transferId }: { readonly programId: string; readonly transferId: string }): string {
  return `${programId}\n${transferId}`;
}

function dayKey(accountId: string, direction: Direction): string {
  return `${accountId} ${direction}`;
}

function replayOf(stored: StoredResponse, request: TransferRequest): Outcome {
  const first = replay(stored, request.key?.fingerprint ?? '');
  if (first instanceof Refusal) return first;
  const refusal = storedRefusal(first);
  if (refusal !== undefined) return refusal;
  if (first.subjectId === null) throw new Error('a stored success has no subject');
  return { subjectId: first.subjectId, json: first.body };
}

/** The plan for a scheduled transfer that failed, with the error record on the transfer. */
function withErrorRecord(plan: TransferPlan | Refusal): TransferPlan | Refusal {
  if (plan instanceof Refusal || plan.failure === undefined) return plan;
  const { code, message } = plan.failure;
  return { ...plan, transfer: { ...plan.transfer, error: errorRecord(code, message) } };
}

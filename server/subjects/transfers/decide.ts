import type { TransferRecord } from '../../../contract/transfers.ts';
import type { Card } from '../../../domain/cards/card.ts';
import type { DomainEvent } from '../../../domain/event.ts';
import type { StoredResponse } from '../../../domain/idempotency.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { available } from '../../../domain/ledger/ledger.ts';
import { fallsBelowThreshold } from '../../../domain/ledger/money.ts';
import { type CountedMovement, countMovement, type OperatorLimits } from '../../../domain/people/operator-limits.ts';
import { isUnchanged, newAttempt } from '../../../domain/processors/attempt.ts';
import { Refusal } from '../../../domain/refusal.ts';
import {
  decideCancel,
  decideCapture,
  decideExecution,
  decideExpiry,
  decideReport,
  decideUpdate,
  refuseDisabled,
  type TransferWithHold,
} from '../../../domain/transfers/change-transfer.ts';
import { decideTransfer, type TransferPlan } from '../../../domain/transfers/create-transfer.ts';
import { decideReversal, type ReversalPlan } from '../../../domain/transfers/reverse-transfer.ts';
import { type Hold, type Transfer, transferAt } from '../../../domain/transfers/transfer.ts';
import type { ConnectorState, TransferView } from '../../../domain/transfers/transfer-view.ts';
import { transferMissing } from '../../calls/program.ts';
import { fundingLowEvent } from '../../calls/records/event.ts';
import { toReversalRecord, toTransferRecord, withErrorRecord } from '../../calls/records/transfer.ts';
import { findOldVersion } from '../../calls/version.ts';
import { type Moment, refusalToStore, successToStore } from '../../commit/under-key.ts';
import { idAt } from '../../foundation/ids.ts';
import { isOfCard, toLoadedCard } from '../../store/card.ts';
import { toErasureOfTransfer } from '../../store/cards/card-erasure.ts';
import type { Loaded, Statement } from '../../store/connection/database.ts';
import { compactPayload } from '../../store/events/transfer-payload.ts';
import { toStoredResponses } from '../../store/idempotency.ts';
import { toAccount } from '../../store/ledger/account.ts';
import { toCountedMovement } from '../../store/person.ts';
import { attemptAfter, type DecidedAttempt, toAttempt } from '../../store/processors/attempt.ts';
import { type RulesNow, toRulesNow } from '../../store/program.ts';
import { toTransferWithHold } from '../../store/transfers/transfer.ts';
import { ExaminedAccounts } from './examined-accounts.ts';
import { Memory } from './memory.ts';
import { type AwaitsExpiry, References } from './references.ts';
import {
  auditNoteOf,
  type ChangeRequest,
  type CreateRequest,
  type DueRequest,
  type ReportRequest,
  type TransferRequest,
} from './request.ts';
import { type Outcome, replayOf } from './respond.ts';
import { type BookChanges, type ChainedWrites, chainedWritesOf, noChanges, writesOf } from './write.ts';

/**
 * The statements that load a group, in the order of sending: the locks in their global order, then the reads. Accounts that are
 * not locked are read before everything that depends on them. For example, the counters of limits come later, with the rules. If
 * an account has changed between the two reads, its version breaks the chain. If the account were read after its counters, such a
 * change would go unnoticed.
 */
export type LoadName =
  | 'lockNames'
  | 'accounts'
  | 'cardsWithAccounts'
  | 'rules'
  | 'cards'
  | 'cardsOfTransfers'
  | 'transfers'
  | 'attempts'
  | 'erasures'
  | 'responses'
  | 'references'
  | 'countedMovements';

/** The state that the decisions of a group are based on. Each decision changes it for the next. */
export class Books {
  readonly #memory: Memory;
  readonly #compactsPayloads: boolean;
  readonly #rules: ReadonlyMap<string, RulesNow>;
  readonly #accounts: ExaminedAccounts;
  readonly #existing: Map<string, TransferWithHold>;
  readonly #attempts: Map<string, DecidedAttempt>;
  readonly #connectorState: (connectorId: string) => ConnectorState;
  /** For transfers with a card whose holder was erased: the card's wire id. */
  readonly #erasedCards: ReadonlyMap<string, string>;
  readonly #storedResponses: Map<string, StoredResponse>;
  readonly #references: References;
  readonly #operatorLimits: OperatorLimits | undefined;
  readonly #countedMovements: Map<string, CountedMovement>;
  #ids = 0;
  readonly #changes: BookChanges = noChanges();

  /** `memory` contains the results of earlier groups of the chain. It is empty if the group locks its accounts. */
  constructor(
    loaded: Loaded<LoadName>,
    {
      memory = new Memory(),
      compactsPayloads,
      connectorState = () => 'missing',
      operatorLimits,
    }: {
      readonly memory?: Memory | undefined;
      readonly compactsPayloads: boolean;
      readonly connectorState?: ((connectorId: string) => ConnectorState) | undefined;
      readonly operatorLimits?: OperatorLimits | undefined;
    },
  ) {
    this.#memory = memory;
    this.#compactsPayloads = compactsPayloads;
    this.#connectorState = connectorState;
    this.#operatorLimits = operatorLimits;
    this.#accounts = new ExaminedAccounts(memory);
    this.#rules = new Map(loaded.rules.map(toRulesNow).map((found) => [found.rules.programId, found]));
    for (const { now } of this.#rules.values()) memory.noteTime(now);
    const { cardsWithAccounts } = loaded;
    const cards = [...loaded.cards, ...cardsWithAccounts.filter(isOfCard), ...loaded.cardsOfTransfers].map(
      toLoadedCard,
    );
    const learned = memory.learn([...loaded.accounts, ...cardsWithAccounts].map(toAccount), cards);
    // A program's counters are stored under the funding account in its own currency.
    for (const { card } of cards) {
      const found = this.#rules.get(card.programId);
      if (found?.rules.currency === card.currency && learned.has(card.fundingAccountId)) {
        memory.learnDays(card.fundingAccountId, found.days);
      }
    }
    const existing = loaded.transfers.map(toTransferWithHold);
    this.#existing = new Map(existing.map((one) => [transferKey(one.transfer), one]));
    this.#attempts = new Map(
      loaded.attempts.map(toAttempt).map((attempt) => [attempt.attemptId, { before: attempt, after: attempt }]),
    );
    this.#erasedCards = new Map(
      loaded.erasures.map(toErasureOfTransfer).map((one) => [transferKey(one), one.cardName]),
    );
    this.#storedResponses = toStoredResponses(loaded.responses);
    this.#references = new References(loaded.references);
    this.#countedMovements = new Map(
      loaded.countedMovements.map(toCountedMovement).map((counted) => [countedKey(counted), counted]),
    );
  }

  /** Returns whether the accounts of a card are locked for this group, or by another transaction. */
  lockedOf(programId: string, name: string, withFunding: boolean): 'unknown' | 'locked' | 'card_held' | 'funding_held' {
    const card = this.#memory.card(programId, name);
    if (card === undefined) return 'unknown';
    if (this.#memory.account(card.accountId) === undefined) return 'card_held';
    return withFunding && this.#memory.account(card.fundingAccountId) === undefined ? 'funding_held' : 'locked';
  }

  /** Returns a loaded transfer with the changes of the decisions so far. */
  existing(named: { readonly programId: string; readonly transferId: string }): TransferWithHold | undefined {
    return this.#existing.get(transferKey(named));
  }

  decide(request: TransferRequest): Outcome | AwaitsExpiry {
    const stored = this.stored(request);
    if (stored !== undefined && request.key !== null) return replayOf(stored, request.key.fingerprint);
    const plan = this.#decide(request);
    if (plan === undefined) return this.#unchanged(request);
    if (!(plan instanceof Refusal))
      return this.#references.expiryBefore(request, this.#moment) ?? this.#carryOut(request, plan);
    if (request.key !== null)
      this.#keep(request, refusalToStore({ ...request.key, requestId: request.requestId }, plan));
    return plan;
  }

  /** Returns the plan or the refusal. Undefined for an update that has no effect. */
  #decide(request: TransferRequest): TransferPlan | ReversalPlan | Refusal | undefined {
    if (request.command !== 'create') return this.#decideChange(request);
    const { programId, requestId, createdBy, terms, notes } = request;
    const view = this.view(request);
    const transferId = this.#newId(view.now);
    const idempotencyKey = request.key?.key ?? null;
    const creation = { programId, transferId, requestId, idempotencyKey, createdBy, now: view.now };
    return decideTransfer({ creation, terms, notes }, view);
  }

  #decideChange(
    request: ChangeRequest | DueRequest | ReportRequest,
  ): TransferPlan | ReversalPlan | Refusal | undefined {
    const existing = this.existing(request);
    const view = this.#viewOfTransfer(request, existing?.transfer);
    if (request.command === 'capture' || request.command === 'reverse') {
      const disabled = refuseDisabled(existing?.transfer, view);
      if (disabled !== undefined) return disabled;
    }
    if (existing === undefined) return transferMissing('sentId' in request ? request.sentId : '');
    switch (request.command) {
      case 'capture':
        return decideCapture(existing, request.amount, view);
      case 'cancel':
        return decideCancel(existing, view);
      case 'update': {
        const old = findOldVersion(request.ifMatch, 'transfer', this.#recordOf(existing.transfer));
        const erasedCard = this.#erasedCards.get(transferKey(existing.transfer));
        return old ?? decideUpdate(existing, request.metadata, erasedCard, view.now);
      }
      case 'expire':
        return decideExpiry(existing, view);
      case 'report':
        return this.#decideReport(existing, request, view);
      case 'execute':
        return withErrorRecord(decideExecution(existing.transfer, view));
      case 'reverse': {
        const plan = decideReversal(existing.transfer, { ...request, reversalId: this.#newId(view.now) }, view);
        return plan instanceof Refusal ? plan : (this.#countReversal(plan, request.countedActor) ?? plan);
      }
    }
  }

  /** Counts a reversal towards the limits of its operator. Returns a refusal, or undefined if it is allowed. */
  #countReversal({ reversal }: ReversalPlan, actor: string | undefined): Refusal | undefined {
    if (actor === undefined || this.#operatorLimits === undefined) return undefined;
    const { amount, currency, createdAt: now } = reversal;
    const key = countedKey({ actor, currency });
    const movement = { actor, currency, amount, kind: 'reversal', now } as const;
    const counted = countMovement(this.#operatorLimits, this.#countedMovements.get(key), movement);
    if (counted === undefined || counted instanceof Refusal) return counted;
    this.#countedMovements.set(key, counted);
    this.#changes.counted.set(key, counted);
    return undefined;
  }

  /** Decides on a processor's answer. Refuses it if the attempt has changed since the step was decided. */
  #decideReport(
    existing: TransferWithHold,
    request: ReportRequest,
    view: TransferView,
  ): TransferPlan | Refusal | undefined {
    const known = this.#attempts.get(request.attemptId);
    const { attempt, step } = request;
    if (known === undefined || !isUnchanged(known.after, attempt)) {
      return new Refusal('invalid_transfer_status', 'The attempt has changed since the step was decided.');
    }
    const plan = withErrorRecord(decideReport(existing, step, view));
    if (plan === undefined || plan instanceof Refusal) return plan;
    const decided = { before: known.before, after: attemptAfter(known.after, step, view.now) };
    this.#attempts.set(request.attemptId, decided);
    this.#changes.reported.set(request.attemptId, decided);
    return plan;
  }

  /** Returns an id that contains the time of the decision. The order of the ids of a group is the order of its decisions. */
  #newId(now: number): string {
    this.#ids += 1;
    return idAt(now, this.#ids);
  }

  stored(request: TransferRequest): StoredResponse | undefined {
    return request.key === null ? undefined : this.#storedResponses.get(request.key.keyHash);
  }

  /** Returns the state against which the rules check a request, including the decisions so far. */
  view(request: Pick<CreateRequest, 'programId' | 'terms'>): TransferView {
    const { programId, terms } = request;
    const view = this.#viewOfCards(programId, terms.cardName, terms.destinationCardName);
    return { ...view, referenceTakenBy: this.#references.takenBy(request, view.now) };
  }

  #viewOfTransfer({ programId }: Pick<ChangeRequest, 'programId'>, transfer: Transfer | undefined): TransferView {
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
      switches: found.switches,
      card: this.#card(programId, cardName),
      destinationCard: this.#card(programId, destinationCardName),
      connectorState: this.#connectorState,
      account: (accountId) => this.#accounts.get(accountId),
      usage: (accountId, direction) => this.#accounts.usage(accountId, direction, rules.calendar),
    };
  }

  /** Returns the statements that write all decisions of a group that has locked its accounts. Empty if nothing changes. */
  writes(batchId: string): readonly Statement[] {
    const accounts = this.#accounts.changed();
    const changes = { ...this.#changes, accounts, counts: this.#accounts.counts() };
    return writesOf(changes, { batchId, now: this.#moment });
  }

  /** Returns the writes of a group in a chain. Keeps the changed accounts in memory for the next group. */
  chainedWrites(batchId: string): ChainedWrites {
    const decided = this.#accounts.decided();
    const changes = { ...this.#changes, counts: this.#accounts.counts() };
    const writes = chainedWritesOf(changes, decided, { batchId, now: this.#moment });
    if (writes.early.length > 0) this.#accounts.handOn(decided);
    return writes;
  }

  /** The time of the decisions and of everything that the group writes. */
  get #moment(): Moment['now'] {
    const [first] = this.#rules.values();
    if (first === undefined) throw new Error('the card programs of a group do not exist');
    return first.now;
  }

  #carryOut(request: TransferRequest, plan: TransferPlan | ReversalPlan): Outcome {
    const { programId, requestId, traceparent } = request;
    const { transfer, event } = plan;
    // For a new transfer, the record already contains the id of its request.
    const named = request.command === 'create' ? undefined : requestId;
    const low = this.#lowFunding(plan);
    this.#apply(plan, request.command === 'create');
    if (plan.attempt !== undefined) {
      const sandboxBehavior = request.command === 'create' ? (request.sandboxBehavior ?? null) : null;
      const named = { ...plan.attempt, attemptId: this.#newId(transfer.updatedAt), sandboxBehavior };
      this.#changes.attempts.push(newAttempt(named, transfer));
    }
    const record = 'reversal' in plan ? toReversalRecord(plan.reversal) : this.#recordOf(transfer);
    const json = JSON.stringify(record);
    const subjectId = 'reversal_id' in record ? record.reversal_id : record.transfer_id;
    const payload = this.#compactsPayloads && 'card_id' in record ? compactPayload(record) : json;
    const done = { type: event, programId, subjectId, payload, requestId: named, traceparent };
    const eventIndex = this.#changes.events.push(done) - 1;
    if (low !== undefined) this.#changes.events.push({ ...low, requestId, traceparent });
    const note = auditNoteOf(request, record, subjectId);
    if (note !== undefined) this.#changes.audited.push(note);
    const { key } = request;
    if (key !== null) {
      const created = 'reversal' in plan ? plan.reversal.reversalId : transfer.transferId;
      const status = request.command === 'create' || request.command === 'reverse' ? 201 : 200;
      this.#keep(request, successToStore({ ...key, requestId }, status, created, json), eventIndex);
    }
    return { record, json };
  }

  /** Returns the current record of a transfer. A hold that has ended is shown as expired, even if that is not stored yet. */
  #recordOf(transfer: Transfer): TransferRecord {
    const now = this.#rules.get(transfer.programId)?.now;
    return toTransferRecord(now === undefined ? transfer : transferAt(transfer, now));
  }

  #unchanged(request: TransferRequest): Outcome {
    const existing = request.command === 'create' ? undefined : this.existing(request);
    if (existing === undefined) throw new Error('the transfer that a decision left unchanged does not exist');
    const record = this.#recordOf(existing.transfer);
    return { record, json: JSON.stringify(record) };
  }

  /** Returns the event funding.low, if the plan takes the program's available funding below its threshold. */
  #lowFunding({ transfer: { programId, transferId }, accounts }: TransferPlan | ReversalPlan): DomainEvent | undefined {
    const found = this.#rules.get(programId);
    const threshold = found?.fundingLowThreshold ?? null;
    if (found === undefined || threshold === null) return undefined;
    const { currency } = found.rules;
    const after = accounts.find((account) => account.kind === 'funding' && account.currency === currency);
    if (after === undefined) return undefined;
    const before = available(this.#accounts.get(after.accountId));
    if (!fallsBelowThreshold(before, available(after), threshold)) return undefined;
    const cause = { transferId: toWireId('tr', transferId) };
    return fundingLowEvent({ programId, currency, available: available(after), threshold, ...cause });
  }

  /** Applies a plan, so that later decisions and the writes take it into account. */
  #apply(plan: TransferPlan | ReversalPlan, isNew: boolean): void {
    const changes = this.#changes;
    const { transfer, hold } = plan;
    const { programId, transferId } = transfer;
    for (const account of plan.accounts) this.#accounts.change(account);
    if (isNew) {
      changes.created.push(transfer);
      if (hold !== null) changes.opened.set(transferKey(transfer), hold);
      this.#references.take(transfer);
    } else this.#applyChange(transfer, hold);
    const causeId = 'reversal' in plan ? plan.reversal.reversalId : transferId;
    for (const posting of plan.postings) changes.postings.push({ programId, causeId, ...posting });
    if ('reversal' in plan) changes.reversals.push(plan.reversal);
    const calendar = this.#rules.get(programId)?.rules.calendar;
    if (calendar === undefined) return;
    for (const count of plan.counts) this.#accounts.count({ ...count, programId }, calendar);
  }

  #applyChange(transfer: Transfer, hold: Hold | null): void {
    const { changed, annotated, opened, ended } = this.#changes;
    const key = transferKey(transfer);
    const before = this.#existing.get(key);
    changed.set(key, transfer);
    if (transfer.metadata !== before?.transfer.metadata) annotated.set(key, transfer);
    if (hold !== null && hold !== before?.hold) opened.set(key, hold);
    // If the same group placed the hold, there is no row to delete.
    if (hold === null && before?.hold !== undefined && !opened.delete(key)) ended.set(key, before.hold);
    this.#existing.set(key, { transfer, hold: hold ?? undefined });
    // A transfer can change while its accounts do not. The version of the account is raised so that groups of other processes
    // notice the change.
    for (const name of [transfer.cardName, transfer.destinationCardName]) {
      const card = this.#card(transfer.programId, name);
      if (card !== undefined) this.#accounts.raiseVersion(card.accountId);
    }
  }

  /** Stores a first response. If there is an event, the body is stored only in the event, whose index in the group is `eventIndex`. */
  #keep(request: TransferRequest, response: StoredResponse | undefined, eventIndex: number | null = null): void {
    const { key } = request;
    if (key === null || response === undefined) return;
    this.#storedResponses.set(key.keyHash, response);
    this.#changes.responses.push({ ...key, ...response, eventIndex });
  }

  #card(programId: string, name: string | null): Card | undefined {
    const card = name === null ? undefined : this.#memory.card(programId, name);
    // If a card was created after the accounts were read, its account is missing here, and the card is treated as missing.
    if (card === undefined || this.#memory.account(card.accountId) === undefined) return undefined;
    this.#accounts.get(card.accountId);
    return card;
  }
}

function countedKey({ actor, currency }: Pick<CountedMovement, 'actor' | 'currency'>): string {
  return `${actor}\n${currency}`;
}

function transferKey({ programId, transferId }: { readonly programId: string; readonly transferId: string }): string {
  return `${programId}\n${transferId}`;
}

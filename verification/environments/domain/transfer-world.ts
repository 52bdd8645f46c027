import { type Card, cardStatusOn } from '../../../domain/cards/card.ts';
import { outlookOf } from '../../../domain/cards/card-limits.ts';
import { decideCardUpdate } from '../../../domain/cards/update-card.ts';
import { available } from '../../../domain/ledger/ledger.ts';
import {
  cardLimitsFor,
  type Direction,
  LIMIT_NAMES,
  type LimitState,
  type Limits,
  type LimitsChange,
  type ProgramRules,
  programLimitsFor,
  stateOf,
} from '../../../domain/ledger/limits.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { SwitchSetting } from '../../../domain/switch.ts';
import {
  decideCancel,
  decideCapture,
  decideExecution,
  decideExpiry,
  refuseDisabled,
  type TransferWithHold,
} from '../../../domain/transfers/change-transfer.ts';
import { decideTransfer, type TransferPlan } from '../../../domain/transfers/create-transfer.ts';
import { decideReversal } from '../../../domain/transfers/reverse-transfer.ts';
import {
  STATUSES_WITH_REFERENCE,
  statusAt,
  type Transfer,
  type TransferCommand,
  type TransferCreation,
  transferAt,
} from '../../../domain/transfers/transfer.ts';
import type { TransferView } from '../../../domain/transfers/transfer-view.ts';
import { calendarAt, dayIn } from '../../../test/harness/local-time.ts';
import {
  accountFact,
  type CardStep,
  CURRENCIES,
  cardFact,
  type Fact,
  limitFact,
  type Opening,
  outlookFact,
  type Refused,
  type Side,
  type Step,
  type Switching,
  transferFact,
} from './transfer-steps.ts';
import { insist, PROGRAM, WorldBooks } from './transfer-world-books.ts';

/** The decisions of the domain. The tests replace one of them with a broken version. */
export type Decisions = {
  readonly create: typeof decideTransfer;
  readonly capture: typeof decideCapture;
  readonly cancel: typeof decideCancel;
  readonly expire: typeof decideExpiry;
  readonly execute: typeof decideExecution;
  readonly reverse: typeof decideReversal;
  readonly updateCard: typeof decideCardUpdate;
};

/** The real decisions of the domain. */
export const DOMAIN: Decisions = {
  create: decideTransfer,
  capture: decideCapture,
  cancel: decideCancel,
  expire: decideExpiry,
  execute: decideExecution,
  reverse: decideReversal,
  updateCard: decideCardUpdate,
};

const OTHER_PROGRAM = '00000000-0000-7000-8000-0000000000bb';
const NO_NOTES = {};

/** The service without its store. Keeps the state in memory, asks the domain for decisions, and carries out the plans. */
export class World implements Side {
  readonly books = new WorldBooks();
  now: number;
  readonly #zone: string;
  readonly #decisions: Decisions;
  readonly #cards: Map<string, Card>;
  #limits: Limits | null;
  #cardLimits: Limits | null;
  #switches: readonly SwitchSetting[] = [];

  constructor(opening: Opening, decisions: Decisions = DOMAIN) {
    this.now = opening.now;
    this.#zone = opening.zone;
    this.#decisions = decisions;
    this.#limits = opening.limits;
    this.#cardLimits = opening.cardLimits;
    for (const currency of CURRENCIES) {
      this.books.open('world', `world ${currency}`, currency);
      this.books.open('funding', `funding ${currency}`, currency);
      this.books.bring(currency, `funding ${currency}`, opening.funding[currency]);
    }
    this.#cards = new Map(opening.cards.map((card) => [card.name, cardOf(card)]));
    for (const { name, currency, balance } of opening.cards) {
      this.books.open('card', name, currency);
      this.books.bring(currency, name, balance);
    }
  }

  perform(step: Step): Refused | null {
    if (step.does === 'create') return this.#create(step);
    if (step.does === 'update_card') return this.#updateCard(step);
    if (!('transfer' in step)) {
      this.#arrange(step);
      return null;
    }
    const transfer = this.books.transfers[step.transfer];
    if (transfer === undefined) throw new Error(`there is no transfer ${step.transfer}`);
    const view = this.#view(transfer.cardName, transfer.destinationCardName, null);
    const existing = { transfer, hold: this.books.holdOf(transfer) };
    return this.#response(step.does, transfer, this.#decide(step, existing, view));
  }

  #create({ asked }: Extract<Step, { does: 'create' }>): Refused | null {
    const { card: cardName, destination: destinationCardName, ...terms } = asked;
    const request = { creation: this.#creation(), terms: { ...terms, cardName, destinationCardName }, notes: NO_NOTES };
    const view = this.#view(cardName, destinationCardName, asked.reference);
    return this.#response('create', undefined, this.#decisions.create(request, view));
  }

  #creation(): TransferCreation {
    const transferId = `00000000-0000-7000-8000-${this.books.transfers.length.toString(16).padStart(12, '0')}`;
    return {
      programId: PROGRAM,
      transferId,
      requestId: transferId,
      idempotencyKey: null,
      createdBy: null,
      now: this.now,
    };
  }

  #decide(step: Extract<Step, { transfer: number }>, existing: TransferWithHold, view: TransferView) {
    const { transfer } = existing;
    switch (step.does) {
      case 'capture':
        return refuseDisabled(transfer, view) ?? this.#decisions.capture(existing, step.amount, view);
      case 'cancel':
        return this.#decisions.cancel(existing, view);
      case 'expire':
        return this.#decisions.expire(existing, view);
      case 'execute':
        return this.#decisions.execute(transfer, view);
      case 'reverse': {
        const asked = {
          reversalId: 'reversal',
          requestId: 'request',
          createdBy: null,
          description: null,
          amount: step.amount,
        };
        return refuseDisabled(transfer, view) ?? this.#decisions.reverse(transfer, asked, view);
      }
    }
  }

  #response(command: TransferCommand, before: Transfer | undefined, plan: TransferPlan | Refusal): Refused | null {
    if (plan instanceof Refusal) return { code: plan.code, about: plan.message };
    this.books.write(command, before, plan);
    return null;
  }

  #updateCard({ card: name, status, expiresOn, limits, balanceTo }: CardStep): Refused | null {
    const card = this.#cards.get(name);
    const profile = card && { card, holderReference: null, lastFour: null, metadata: {} };
    const change = {
      status: status ?? undefined,
      balanceTo: balanceTo ?? undefined,
      expiresOn: expiresOn ?? undefined,
      // The model replaces all limits of a card at once.
      limits: limits === null ? undefined : replacing(limits),
      holderReference: undefined,
      lastFour: undefined,
      metadata: undefined,
    };
    const asked = { cardName: name, change, creation: this.#creation() };
    const plan = this.#decisions.updateCard(asked, profile, this.#view(name, null, null));
    if (plan instanceof Refusal) return { code: plan.code, about: plan.message };
    this.#cards.set(name, plan.profile.card);
    return plan.sweep === null ? null : this.#response('create', undefined, plan.sweep);
  }

  #arrange(step: Step): void {
    if (step.does === 'put_card_status') this.#change(step.card, { status: step.status });
    if (step.does === 'put_card_limits') this.#change(step.card, { limits: step.limits });
    if (step.does === 'put_program_limits' && step.each) this.#cardLimits = step.limits;
    if (step.does === 'put_program_limits' && !step.each) this.#limits = step.limits;
    if (step.does === 'deposit') this.books.bring(step.currency, `funding ${step.currency}`, step.amount);
    if (step.does === 'wait_until') this.now = step.now;
    if (step.does === 'switch') this.#throw(step.setting);
  }

  #throw({ program, type, disabled, until }: Switching): void {
    const programId = program === null ? null : program === 'this' ? PROGRAM : OTHER_PROGRAM;
    const isOther = (other: SwitchSetting) => other.programId !== programId || other.transferType !== type;
    const scope = { programId, transferType: type, connectorId: null };
    const setting = { ...scope, disabled, until, reason: null, actor: 'test', since: this.now };
    this.#switches = [...this.#switches.filter(isOther), setting];
  }

  #change(name: string, changed: Partial<Card>): void {
    const card = this.#cards.get(name);
    if (card !== undefined) this.#cards.set(name, { ...card, ...changed });
  }

  #rules(): ProgramRules {
    return {
      programId: PROGRAM,
      currency: 'USD',
      today: dayIn(this.#zone, this.now),
      calendar: calendarAt(this.now, this.#zone),
      limits: this.#limits,
      cardLimits: this.#cardLimits,
    };
  }

  #view(cardName: string, destinationName: string | null, reference: string | null): TransferView {
    const rules = this.#rules();
    const taker = this.books.transfers.find(
      (transfer) =>
        transfer.reference === reference &&
        STATUSES_WITH_REFERENCE.some((status) => status === statusAt(transfer, this.now)),
    );
    return {
      programId: PROGRAM,
      now: this.now,
      rules,
      switches: this.#switches,
      card: this.#cards.get(cardName),
      destinationCard: destinationName === null ? undefined : this.#cards.get(destinationName),
      account: (accountId) => this.books.account(accountId),
      usage: (accountId, direction) => this.books.usage(accountId, direction, rules.calendar),
      connectorState: () => 'missing',
      referenceTakenBy: reference === null ? undefined : taker?.transferId,
    };
  }

  overdue() {
    const { transfers } = this.books;
    const numbers = (isWanted: (transfer: Transfer) => boolean): readonly number[] =>
      transfers.flatMap((transfer, index) => (isWanted(transfer) ? [index] : []));
    const isOver = (transfer: Transfer): boolean =>
      (this.books.holdOf(transfer)?.expiresAt ?? this.now + 1) <= this.now;
    const isDue = ({ status, scheduledFor }: Transfer): boolean =>
      status === 'scheduled' && scheduledFor !== null && scheduledFor <= this.now;
    return { expired: numbers(isOver), due: numbers(isDue) };
  }

  facts(): readonly Fact[] {
    const transfers = this.books.transfers.map((each, index) => this.#transferFact(each, index));
    return [...this.#accountFacts(), ...this.#cardFacts(), ...transfers, ...this.#limitFacts()];
  }

  #cardFacts(): readonly Fact[] {
    const today = dayIn(this.#zone, this.now);
    return [...this.#cards].map(([name, card]) => {
      return cardFact(name, { status: cardStatusOn(card, today), lastDay: card.expiresOn });
    });
  }

  #accountFacts(): readonly Fact[] {
    return [...this.books.accounts].map(([name, account]) => {
      const { balance, held, incoming, sequence: lines } = account;
      return accountFact(name, { balance, held, incoming, available: available(account), lines });
    });
  }

  #transferFact(kept: Transfer, index: number): Fact {
    const transfer = transferAt(kept, this.now);
    const { status, outcome, capturedAmount, reversedAmount, error, expiresAt, updatedAt, completedAt } = transfer;
    insist(status === statusAt(kept, this.now), 'a transfer is shown in its current state');
    const amounts = { captured: capturedAmount, reversed: reversedAmount };
    const code = error === null ? null : Reflect.get(error, 'Code');
    return transferFact(index, { status, outcome, ...amounts, error: code, expiresAt, updatedAt, completedAt });
  }

  #limitFacts(): readonly Fact[] {
    const rules = this.#rules();
    const { calendar } = rules;
    const usage = (accountId: string, direction: Direction) => this.books.usage(accountId, direction, calendar);
    return (['in', 'out'] as const).flatMap((direction) => [
      ...CURRENCIES.flatMap((currency) =>
        programLimitsFor(rules, currency, direction).map((limit) =>
          factOf(currency, direction, stateOf(limit, usage(`funding ${currency}`, direction), calendar)),
        ),
      ),
      ...[...this.#cards.values()].flatMap((card) =>
        cardLimitsFor(card, rules, direction).map((limit) =>
          factOf(card.name, direction, stateOf(limit, usage(card.accountId, direction), calendar)),
        ),
      ),
    ]);
  }

  outlook(name: string): readonly Fact[] {
    const view = this.#view(name, null, null);
    if (view.card === undefined) throw new Error(`there is no card ${name}`);
    const outlook = outlookOf(view.card, view);
    return [
      ...(['in', 'out'] as const).flatMap((direction) => {
        const { code, most, least, limits } = outlook[direction];
        const states = limits.map((state) => factOf(name, direction, state));
        return [outlookFact(name, direction, { code, most, least }), ...states];
      }),
      outlookFact(name, 'balance', { value: null, source: null, left: null, ...outlook.maximumBalance }),
    ];
  }
}

function factOf(whose: string, direction: Direction, state: LimitState): Fact {
  const { name, value, source, used, left, freesAt } = state;
  return limitFact(whose, direction, { name, value, source, used, left, freesAt });
}

/** A card. The ids of accounts name their owners. */
function cardOf({ name, currency, status, expiresOn, limits }: Opening['cards'][number]): Card {
  const ids = { programId: PROGRAM, cardId: name, accountId: name, fundingAccountId: `funding ${currency}` };
  return { ...ids, name, status, currency, expiresOn, limits, connectorId: null };
}

/** The change that sets these limits of a card and removes all others. */
function replacing({ in: incoming, out, maximumBalance }: Limits): LimitsChange {
  const lifted = Object.fromEntries(Object.keys(LIMIT_NAMES).map((name) => [name, null]));
  return { in: { ...lifted, ...incoming }, out: { ...lifted, ...out }, maximumBalance };
}

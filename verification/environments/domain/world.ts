import { type Card, cardStatusOn } from '../../../domain/cards/card.ts';
import { outlookOf } from '../../../domain/cards/card-limits.ts';
import { decideCardUpdate } from '../../../domain/cards/update-card.ts';
import { available } from '../../../domain/ledger/ledger.ts';
import {
  cardLimitsFor,
  type Direction,
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
import { type Command, type LimitChange, type Opening, type OpeningCard, withLimit } from '../../model/commands.ts';
import type { Refused } from '../../model/model.ts';
import { CURRENCIES, type Fact, PROGRAM as NAME } from './facts.ts';
import { insist, PROGRAM, WorldBooks } from './world-books.ts';

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

type CardChange = Parameters<typeof decideCardUpdate>[0]['change'];

const NO_CHANGE: CardChange = {
  ...{ status: undefined, balanceTo: undefined, expiresOn: undefined, limits: undefined },
  ...{ holderReference: undefined, lastFour: undefined, metadata: undefined },
};

/** The service without its store. Keeps the state in memory, asks the domain for decisions, and carries out the plans. */
export class World {
  readonly books = new WorldBooks();
  now: number;
  readonly #zone: string;
  readonly #decisions: Decisions;
  readonly #cards: Map<string, Card>;
  #limits: Limits | null;
  #cardLimits: Limits | null;
  #switches: readonly SwitchSetting[] = [];

  constructor({ now, programs: [program] }: Opening, decisions: Decisions = DOMAIN) {
    if (program === undefined) throw new Error('there is no program');
    this.now = now;
    this.#zone = program.zone;
    this.#decisions = decisions;
    this.#limits = program.limits;
    this.#cardLimits = program.cardLimits;
    for (const currency of CURRENCIES) {
      this.books.open('world', `world ${currency}`, currency);
      this.books.open('funding', `funding ${currency}`, currency);
      this.books.bring(currency, `funding ${currency}`, program.funding[currency] ?? 0n);
    }
    this.#cards = new Map(program.cards.map((card) => [card.name, cardOf(card)]));
    for (const { name, currency, balance } of program.cards) {
      this.books.open('card', name, currency);
      this.books.bring(currency, name, balance);
    }
  }

  /** Returns null if the command was done. */
  perform(command: Command): Refused | null {
    switch (command.does) {
      case 'create':
        return this.#create(command);
      case 'update_card': {
        const { card, status, expiresOn, balanceTo } = command;
        return this.#updateCard(card, {
          status: status ?? undefined,
          expiresOn: expiresOn ?? undefined,
          balanceTo: balanceTo ?? undefined,
        });
      }
      case 'limit_card':
        return this.#updateCard(command.card, { limits: changeOf(command.limit) });
      case 'capture':
      case 'cancel':
      case 'expire':
      case 'execute':
      case 'reverse': {
        const transfer = this.books.transfers[Number(command.transfer)];
        if (transfer === undefined) throw new Error(`there is no transfer ${command.transfer}`);
        const view = this.#view(transfer.cardName, transfer.destinationCardName, null);
        const existing = { transfer, hold: this.books.holdOf(transfer) };
        return this.#response(command.does, transfer, this.#decide(command, existing, view));
      }
      case 'deposit':
        if (!this.books.takes(command.currency, command.amount)) return { code: 'limit_exceeded', about: '' };
        this.books.bring(command.currency, `funding ${command.currency}`, command.amount);
        return null;
      case 'update_program':
        if (command.limit !== undefined) this.#limits = withLimit(this.#limits, command.limit);
        if (command.cardLimit !== undefined) this.#cardLimits = withLimit(this.#cardLimits, command.cardLimit);
        return null;
      case 'put_card_status': {
        const card = this.#cards.get(command.card);
        if (card !== undefined) this.#cards.set(command.card, { ...card, status: command.status });
        return null;
      }
      case 'wait_until':
        this.now = command.now;
        return null;
      case 'change_switch':
        this.#throw(command);
        return null;
      default:
        throw new Error(`the domain does not decide on ${command.does}`);
    }
  }

  #create({ asked }: Extract<Command, { does: 'create' }>): Refused | null {
    const { program: _program, card: cardName, destination: destinationCardName, ...terms } = asked;
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

  #decide(
    command: Extract<Command, { does: Exclude<TransferCommand, 'create' | 'report'> }>,
    existing: TransferWithHold,
    view: TransferView,
  ) {
    const { transfer } = existing;
    switch (command.does) {
      case 'capture':
        return refuseDisabled(transfer, view) ?? this.#decisions.capture(existing, command.amount, view);
      case 'cancel':
        return this.#decisions.cancel(existing, view);
      case 'expire':
        return this.#decisions.expire(existing, view);
      case 'execute':
        return this.#decisions.execute(transfer, view);
      case 'reverse': {
        const origin = { reversalId: 'reversal', requestId: 'request', createdBy: null, description: null };
        const asked = { ...origin, amount: command.amount };
        return refuseDisabled(transfer, view) ?? this.#decisions.reverse(transfer, asked, view);
      }
    }
  }

  #response(command: TransferCommand, before: Transfer | undefined, plan: TransferPlan | Refusal): Refused | null {
    if (plan instanceof Refusal) return { code: plan.code, about: plan.message };
    this.books.write(command, before, plan);
    return null;
  }

  #updateCard(name: string, changed: Partial<CardChange>): Refused | null {
    const card = this.#cards.get(name);
    const profile = card && { card, holderReference: null, lastFour: null, metadata: {} };
    const change = { ...NO_CHANGE, ...changed };
    const asked = { cardName: name, change, creation: this.#creation() };
    const plan = this.#decisions.updateCard(asked, profile, this.#view(name, null, null));
    if (plan instanceof Refusal) return { code: plan.code, about: plan.message };
    this.#cards.set(name, plan.profile.card);
    return plan.sweep === null ? null : this.#response('create', undefined, plan.sweep);
  }

  #throw({ setting: { program, type, disabled, until } }: Extract<Command, { does: 'change_switch' }>): void {
    const programId = program === null ? null : program === NAME ? PROGRAM : OTHER_PROGRAM;
    const isOther = (other: SwitchSetting) => other.programId !== programId || other.transferType !== type;
    const scope = { programId, transferType: type, connectorId: null };
    const setting = { ...scope, disabled, until, reason: null, actor: 'test', since: this.now };
    this.#switches = [...this.#switches.filter(isOther), setting];
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

  /** The transfers for the background loop: holds past their end, and due transfers. */
  overdue(): { readonly expired: readonly string[]; readonly due: readonly string[] } {
    const ids = (isWanted: (transfer: Transfer) => boolean): readonly string[] =>
      this.books.transfers.flatMap((transfer, index) => (isWanted(transfer) ? [String(index)] : []));
    return {
      expired: ids((transfer) => (this.books.holdOf(transfer)?.expiresAt ?? this.now + 1) <= this.now),
      due: ids(({ status, scheduledFor }) => status === 'scheduled' && (scheduledFor ?? this.now + 1) <= this.now),
    };
  }

  /** Everything that a caller can read. */
  facts(): readonly Fact[] {
    const today = dayIn(this.#zone, this.now);
    return [
      ...[...this.books.accounts].map(([name, account]) => {
        const { balance, held, incoming, sequence: lines } = account;
        return { about: `account ${name}`, values: { balance, held, incoming, available: available(account), lines } };
      }),
      ...[...this.#cards].map(([name, card]) => {
        return { about: `card ${name}`, values: { status: cardStatusOn(card, today), lastDay: card.expiresOn } };
      }),
      ...this.books.transfers.map((each, index) => this.#transferFact(each, index)),
      ...this.#limitFacts(),
    ];
  }

  #transferFact(kept: Transfer, index: number): Fact {
    const transfer = transferAt(kept, this.now);
    const { status, outcome, capturedAmount: captured, reversedAmount: reversed } = transfer;
    insist(status === statusAt(kept, this.now), 'a transfer is shown in its current state');
    const error = transfer.error === null ? null : Reflect.get(transfer.error, 'Code');
    const { expiresAt, updatedAt, completedAt } = transfer;
    const times = { expiresAt, updatedAt, completedAt };
    return { about: `transfer ${index}`, values: { status, outcome, captured, reversed, error, ...times } };
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

  /** The result of get_card_limits for a card. */
  outlook(name: string): readonly Fact[] {
    const view = this.#view(name, null, null);
    if (view.card === undefined) throw new Error(`there is no card ${name}`);
    const outlook = outlookOf(view.card, view);
    const values = { value: null, source: null, left: null, ...outlook.maximumBalance };
    return [
      ...(['in', 'out'] as const).flatMap((direction) => {
        const { code, most, least, limits } = outlook[direction];
        const states = limits.map((state) => factOf(name, direction, state));
        return [{ about: `outlook of ${name} ${direction}`, values: { code, most, least } }, ...states];
      }),
      { about: `outlook of ${name} balance`, values },
    ];
  }
}

function factOf(whose: string, direction: Direction, { name, value, source, used, left, freesAt }: LimitState): Fact {
  return { about: `limit of ${whose} ${direction}`, values: { name, value, source, used, left, freesAt } };
}

/** A card. The ids of accounts name their owners. */
function cardOf({ name, currency, status, expiresOn, limits }: OpeningCard): Card {
  const ids = { programId: PROGRAM, cardId: name, accountId: name, fundingAccountId: `funding ${currency}` };
  return { ...ids, name, status, currency, expiresOn, limits, connectorId: null };
}

function changeOf({ direction, name, value }: LimitChange): LimitsChange {
  return direction === null ? { maximumBalance: value } : { [direction]: { [name]: value } };
}

import type { Limits } from '../../../domain/ledger/limits.ts';
import type { TransferStatus } from '../../../domain/transfers/transfer.ts';
import { fundingOf, type Transfer, worldOf } from '../../model/books.ts';
import { type Change, Model } from '../../model/model.ts';
import type { Ask } from './ask.ts';

/** The maximum number of webhooks of a program. */
const MAX_WEBHOOKS = 20;

/** The currency of every program of the simulation. */
export const CURRENCY = 'USD';

/** The programs at the beginning, in the order of their numbers. */
export type Opening = readonly {
  readonly name: string;
  readonly threshold: bigint | null;
  readonly limits: Limits | null;
  readonly cardLimits: Limits | null;
  /** The id on the wire. */
  readonly webhook: string;
  readonly funding: bigint;
  readonly cards: readonly { readonly name: string; readonly balance: bigint; readonly isElsewhere: boolean }[];
}[];

/**
 * The answers and the books if requests run one after the other. The model covers the money. This class adds the few
 * other things. A program's name in the model is its number.
 */
export class SerialBooks {
  readonly model = new Model();
  /** The names of programs. */
  readonly names: string[];
  /** The metadata of transfers, by id on the wire. */
  readonly metadata = new Map<string, Readonly<Record<string, string>>>();
  /** Webhooks by id on the wire, without deleted ones. A paused webhook counts as enabled here. */
  readonly webhooks = new Map<string, { readonly program: number; status: 'enabled' | 'disabled' }>();
  readonly #erased = new Set<string>();

  constructor(opening: Opening) {
    const { books } = this.model;
    this.names = opening.map(({ name }) => name);
    for (const [index, { limits, cardLimits, threshold, webhook, funding, cards }] of opening.entries()) {
      const program = String(index);
      books.programs.set(program, { zone: 'UTC', currency: CURRENCY, limits, cardLimits, threshold });
      books.move(worldOf(program, CURRENCY), fundingOf(program, CURRENCY), funding);
      this.webhooks.set(webhook, { program: index, status: 'enabled' });
      for (const { name, balance, isElsewhere } of cards) {
        const card = {
          program,
          currency: CURRENCY,
          isElsewhere,
          status: 'active',
          expiresOn: null,
          limits: null,
        } as const;
        books.cards.set(name, { ...card });
        books.move(worldOf(program, CURRENCY), name, balance);
      }
    }
  }

  /** The code of the refusal that a request would get at a time. `unchanged` for a success that changes nothing. */
  refusalOf(ask: Ask, at: number): string | undefined {
    const { books } = this.model;
    switch (ask.does) {
      case 'update_transfer': {
        const { card = '', destination = null } = books.transfers.get(ask.transfer) ?? {};
        return this.#erased.has(card) || this.#erased.has(destination ?? '') ? 'card_erased' : undefined;
      }
      case 'erase':
        if (this.#erased.has(ask.card)) return 'unchanged';
        return books.card(ask.card).status === 'closed' ? undefined : 'card_not_closed';
      case 'create_webhook': {
        const own = [...this.webhooks.values()].filter(({ program }) => program === ask.program);
        return own.length < MAX_WEBHOOKS ? undefined : 'webhook_limit';
      }
      case 'update_webhook': {
        const webhook = this.webhooks.get(ask.webhook);
        if (webhook === undefined) return 'webhook_not_found';
        return webhook.status === ask.status ? 'unchanged' : undefined;
      }
      case 'delete_webhook':
        return this.webhooks.has(ask.webhook) ? undefined : 'webhook_not_found';
      case 'update_program':
        if (ask.member === 'name') return this.names[ask.program] === nameOf(ask) ? 'unchanged' : undefined;
    }
    books.now = at;
    return this.model.refuse(this.#changeOf(ask, ''))?.code;
  }

  /** Carries out a request at a time. `newId` is the id of a new transfer or webhook. */
  apply(ask: Ask, newId: string, at: number): void {
    this.model.books.now = at;
    switch (ask.does) {
      case 'update_transfer':
        this.metadata.set(ask.transfer, { ...this.metadata.get(ask.transfer), [ask.name]: ask.value });
        return;
      case 'erase':
        this.#erased.add(ask.card);
        return;
      case 'create_webhook':
        this.webhooks.set(newId, { program: ask.program, status: 'enabled' });
        return;
      case 'update_webhook': {
        const webhook = this.webhooks.get(ask.webhook);
        if (webhook !== undefined) webhook.status = ask.status;
        return;
      }
      case 'delete_webhook':
        this.webhooks.delete(ask.webhook);
        return;
      case 'update_program':
        if (ask.member === 'name') this.names[ask.program] = nameOf(ask);
    }
    if (ask.does !== 'update_program' || ask.member !== 'name') this.model.apply(this.#changeOf(ask, newId));
  }

  /** Translates a request about money into a change of the model. */
  #changeOf(ask: Exclude<Ask, { does: 'update_transfer' | 'erase' | `${string}_webhook` }>, newId: string): Change {
    const program = String(ask.program);
    switch (ask.does) {
      case 'create': {
        const { does, type, amount, card, destination, reference, expiresAt, scheduledFor } = ask;
        const capture = ask.holds ? 'manual' : 'automatic';
        const terms = { program, type, amount, card, destination, currency: null, reference, capture } as const;
        return { does, id: newId, asked: { ...terms, expiresAt, scheduledFor } };
      }
      case 'update_card': {
        const balanceTo = ask.status === 'closed' ? 'funding' : null;
        return { ...ask, program, balanceTo, sweep: newId };
      }
      case 'limit_card': {
        const limits = withLimit(this.model.books.card(ask.card).limits, ask);
        return { does: 'update_card', program, card: ask.card, limits, sweep: newId };
      }
      case 'update_program': {
        const { does, member, value } = ask;
        const { limits, cardLimits } = this.model.books.program(program);
        if (member === 'limits') return { does, program, limits: withLimit(limits, ask) };
        if (member === 'card_limits') return { does, program, cardLimits: withLimit(cardLimits, ask) };
        return { does, program, threshold: value };
      }
      case 'deposit':
      case 'withdraw':
        return { ...ask, program, currency: CURRENCY };
      case 'change_switch': {
        const { does, scope, disabled, until } = ask;
        const type = scope === 'service' || scope === 'program' ? null : scope;
        return { does, program: scope === 'service' ? null : program, type, disabled, until };
      }
      default:
        return ask;
    }
  }

  /**
   * Carries out a change without a request: a hold ends, a scheduled transfer is made, held or fails with a code, or a
   * processor has reported. Returns the reason if this is wrong.
   */
  settle(id: string, to: TransferStatus, code: string | undefined, at: number): string | undefined {
    const { model } = this;
    const transfer = model.books.transfers.get(id);
    if (transfer === undefined) return 'does not exist';
    model.books.now = at;
    if (transfer.status === 'pending' && transfer.isElsewhere) {
      if (to === 'pending') return undefined;
      if (to !== 'completed' && to !== 'failed') return `waits for its processor and cannot become ${to}`;
      model.apply({ does: 'report', transfer: id, wasExecuted: to === 'completed' });
      return undefined;
    }
    // A process knows earlier than the others that a processor cannot be reached.
    const isDown = code === 'processor_unavailable' && transfer.isElsewhere && transfer.status === 'scheduled';
    if (isDown) model.fail(id, code);
    else {
      const does = transfer.status === 'pending' ? 'expire' : 'execute';
      const refused = model.perform({ does, transfer: id });
      if (refused !== null) return `is ${transfer.status} and cannot become ${to}: ${refused.code}`;
    }
    const { status, errorCode } = model.books.transfer(id);
    const isEqual = status === to && errorCode === (code ?? null);
    return isEqual ? undefined : `becomes ${status} (${errorCode}), not ${to} (${code})`;
  }

  /** Carries out a failed transfer whose processor has moved the money after all. Returns the reason if this is wrong. */
  moveLate(id: string): string | undefined {
    const isKnown = this.model.books.transfers.has(id);
    const refused = isKnown ? this.model.perform({ does: 'report_late', transfer: id })?.code : 'transfer_not_found';
    return refused === undefined ? undefined : `has not failed at a processor: ${refused}`;
  }

  /** Whether a due transfer waits for the switch. */
  waits(id: string, at: number): boolean {
    const transfer = this.model.books.transfers.get(id);
    this.model.books.now = at;
    return transfer !== undefined && this.model.isDisabled(transfer.program, transfer.type);
  }

  /** Whether a processor may have moved the money of a failed transfer that has the same reference as a new one. */
  isInDoubt({ program, reference }: Extract<Ask, { does: 'create' }>): boolean {
    const isFailed = ({ status, isElsewhere }: Transfer): boolean => status === 'failed' && isElsewhere;
    return this.model.namesakes(String(program), reference).some(isFailed);
  }
}

function nameOf({ value }: Extract<Ask, { does: 'update_program' }>): string {
  return `Program ${value}`;
}

/** The limits after one of them was set or removed. */
function withLimit(
  limits: Limits | null,
  { limit, value }: { readonly limit: string; readonly value: bigint | null },
): Limits {
  const before = limits ?? { in: {}, out: {}, maximumBalance: null };
  const [direction, name] = limit.split(' ');
  if (direction !== 'in' && direction !== 'out') return { ...before, maximumBalance: value };
  return { ...before, [direction]: { ...before[direction], [name ?? '']: value ?? undefined } };
}

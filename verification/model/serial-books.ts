import type { TransferStatus } from '../../domain/transfers/transfer.ts';
import { type Books, fundingOf, type Transfer, worldOf } from './books.ts';
import { type Opening, type Request, withLimit } from './commands.ts';
import { type Change, Model, type Refused } from './model.ts';

/** The maximum number of webhooks of a program. */
const MAX_WEBHOOKS = 20;

const no = (code: string): Refused => ({ code, about: null });

/**
 * Computes the answers and the books that result if commands run one after another. The model covers the money. This
 * class translates commands into its changes, and adds names, metadata and webhooks.
 */
export class SerialBooks {
  readonly model = new Model();
  /** The names of programs, by their names in the model. */
  readonly names = new Map<string, string>();
  /** The metadata of transfers. */
  readonly metadata = new Map<string, Readonly<Record<string, string>>>();
  /** Webhooks, without deleted ones. A paused webhook counts as enabled here. */
  readonly webhooks = new Map<string, { readonly program: string; status: 'enabled' | 'disabled' }>();

  constructor({ now, programs }: Opening) {
    const { books } = this.model;
    books.now = now;
    for (const [index, { name, funding, cards, ...rules }] of programs.entries()) {
      const program = String(index);
      this.names.set(program, name);
      books.programs.set(program, { ...rules });
      for (const [currency, amount] of Object.entries(funding)) {
        books.move(worldOf(program, currency), fundingOf(program, currency), amount);
      }
      for (const { name: card, balance, ...opening } of cards) {
        books.cards.set(card, { ...opening, program });
        books.move(worldOf(program, opening.currency), card, balance);
      }
    }
  }

  get books(): Books {
    return this.model.books;
  }

  /** The refusal that a request would get at a time. `unchanged` is the code of a success that changes nothing. */
  refuse(command: Request, at = this.books.now): Refused | null {
    const { books } = this;
    switch (command.does) {
      case 'update_transfer':
        return null;
      case 'create_webhook': {
        const own = [...this.webhooks.values()].filter(({ program }) => program === command.program);
        return own.length < MAX_WEBHOOKS ? null : no('webhook_limit');
      }
      case 'update_webhook': {
        const webhook = this.webhooks.get(command.webhook);
        if (webhook === undefined) return no('webhook_not_found');
        return webhook.status === command.status ? no('unchanged') : null;
      }
      case 'delete_webhook':
        return this.webhooks.has(command.webhook) ? null : no('webhook_not_found');
      case 'update_program':
        if (command.name !== undefined && command.name === this.names.get(command.program)) return no('unchanged');
    }
    books.now = at;
    const change = this.#changeOf(command, '');
    return change === undefined ? null : this.model.refuse(change);
  }

  /** Carries out a command at a time. `newId` is the id of a new transfer or webhook. */
  apply(command: Request, newId: string, at = this.books.now): void {
    const { books } = this;
    books.now = at;
    const change = this.#changeOf(command, newId);
    if (change !== undefined) this.model.apply(change);
    switch (command.does) {
      case 'update_transfer': {
        const before = this.metadata.get(command.transfer);
        this.metadata.set(command.transfer, { ...before, [command.name]: command.value });
        break;
      }
      case 'create_webhook':
        this.webhooks.set(newId, { program: command.program, status: 'enabled' });
        break;
      case 'update_webhook': {
        const webhook = this.webhooks.get(command.webhook);
        if (webhook !== undefined) webhook.status = command.status;
        break;
      }
      case 'delete_webhook':
        this.webhooks.delete(command.webhook);
        break;
      case 'update_program':
        if (command.name !== undefined) this.names.set(command.program, command.name);
    }
  }

  /** Translates a command about money into a change of the model. Undefined for any other command. */
  #changeOf(command: Request, newId: string): Change | undefined {
    switch (command.does) {
      case 'create':
        return { does: 'create', id: newId, asked: command.asked };
      case 'update_card':
        return { ...command, sweep: newId };
      case 'limit_card': {
        const { program, card, limit } = command;
        const limits = withLimit(this.books.card(card).limits, limit);
        return { does: 'update_card', program, card, limits, sweep: newId };
      }
      case 'update_program': {
        const { does, program, threshold, limit, cardLimit } = command;
        const { limits, cardLimits } = this.books.program(program);
        if (limit !== undefined) return { does, program, limits: withLimit(limits, limit) };
        if (cardLimit !== undefined) return { does, program, cardLimits: withLimit(cardLimits, cardLimit) };
        return threshold === undefined ? undefined : { does, program, threshold };
      }
      case 'change_switch':
        return { ...command.setting, does: 'change_switch' };
      case 'capture':
      case 'reverse':
      case 'cancel':
      case 'resolve':
      case 'deposit':
      case 'withdraw':
        return command;
      default:
        return undefined;
    }
  }

  /**
   * Carries out a change that no request caused: a hold ends, a scheduled transfer is executed, held or fails with a code, or a
   * processor has reported an outcome. Returns the reason if this is wrong.
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
    // One process can know earlier than the others that a processor cannot be reached.
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
    const isKnown = this.books.transfers.has(id);
    const refused = isKnown ? this.model.perform({ does: 'report_late', transfer: id })?.code : 'transfer_not_found';
    return refused === undefined ? undefined : `has not failed at a processor: ${refused}`;
  }

  /** Whether a due transfer waits for the switch. */
  waits(id: string, at: number): boolean {
    const transfer = this.books.transfers.get(id);
    this.books.now = at;
    return transfer !== undefined && this.model.isDisabled(transfer.program, transfer.type);
  }

  /** Whether a processor may have moved the money of a failed transfer that has the same reference as a new one. */
  isInDoubt({ program, reference }: Pick<Transfer, 'program' | 'reference'>): boolean {
    const isFailed = ({ status, isElsewhere }: Transfer): boolean => status === 'failed' && isElsewhere;
    return this.model.namesakes(program, reference).some(isFailed);
  }
}

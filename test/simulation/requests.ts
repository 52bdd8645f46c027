import type { OperationId } from '../../contract/operations.ts';
import { toWireId } from '../../domain/identifier.ts';
import { NO_API_KEY } from '../../domain/transfers/transfer.ts';
import type { AnyCall, Call, Caller } from '../../server/calls/call.ts';
import type { RequestTrace } from '../../server/calls/trace.ts';
import type { Random } from '../fuzz/random.ts';
import type { Ask } from './serial-books.ts';
import { PROGRAMS } from './world.ts';

const OPERATION: Readonly<Record<Ask['does'], OperationId>> = {
  create: 'create_transfer',
  capture: 'capture_transfer',
  cancel: 'cancel_transfer',
  reverse: 'reverse_transfer',
  update_transfer: 'update_transfer',
  update_card: 'update_card',
  erase: 'erase_card_holder',
  create_webhook: 'create_webhook',
  update_webhook: 'update_webhook',
  delete_webhook: 'delete_webhook',
};

/** Operations that can have an idempotency key. */
const KEYED: ReadonlySet<Ask['does']> = new Set(['create', 'capture', 'cancel', 'reverse', 'erase', 'create_webhook']);

/** Makes what callers ask for. */
export class Asking {
  readonly #random: Random;
  /** Ids on the wire of transfers that callers know, with the index of their program. */
  readonly known: { readonly id: string; readonly program: number }[] = [];
  /** The same of webhooks. */
  readonly webhooks = PROGRAMS.map(({ webhookId }, program) => ({ id: toWireId('wh', webhookId), program }));
  #count = 0;
  /** Each kind as often as it is likely in this schedule. */
  readonly #kinds: readonly Ask['does'][];

  /** `asksAll`: every kind is asked for. */
  constructor(random: Random, asksAll = false) {
    this.#random = random;
    const chance = (from: number): number => (asksAll || random.chance(0.6) ? random.below(from) + 1 : 0);
    const weights: readonly (readonly [Ask['does'], number])[] = [
      ['create', 4],
      ['capture', chance(4)],
      ['cancel', chance(3)],
      ['reverse', chance(3)],
      ['update_transfer', chance(5)],
      ['update_card', chance(2)],
      ['erase', chance(1)],
      ...this.#webhookWeights(asksAll),
    ];
    this.#kinds = weights.flatMap(([kind, weight]) => Array.from({ length: weight }, () => kind));
  }

  /** Few requests are about webhooks, and in many schedules none. */
  #webhookWeights(asksAll: boolean): readonly (readonly [Ask['does'], number])[] {
    if (!asksAll && !this.#random.chance(0.4)) return [];
    return [
      ['create_webhook', 1],
      ['update_webhook', 3],
      ['delete_webhook', 1],
    ];
  }

  next(): Ask {
    const random = this.#random;
    const does = random.pick(this.#kinds);
    if (does === 'create_webhook' || does === 'update_webhook' || does === 'delete_webhook') return this.#webhook(does);
    const isOfCard = does === 'update_card' || does === 'erase';
    if (does === 'create' || (!isOfCard && this.known.length === 0)) return this.#create();
    if (does === 'update_card' || does === 'erase') return this.#card(does);
    // Mostly the transfers of late, about which others ask, too.
    const recent = this.known.slice(-3);
    const { id: transfer, program } = random.pick(random.chance(0.8) ? recent : this.known);
    if (does === 'update_transfer') {
      this.#count += 1;
      return { does, program, transfer, name: random.pick(['color', 'order']), value: `v${this.#count}` };
    }
    const isPart = does !== 'cancel' && random.chance(0.5);
    return { does, program, transfer, amount: isPart ? BigInt(1 + random.below(20)) : null };
  }

  #create(): Ask {
    const random = this.#random;
    const program = random.chance(0.85) ? 0 : 1;
    const cards = (PROGRAMS[program]?.cards ?? []).map(({ name }) => name);
    const type = random.pick(['load', 'load', 'unload', 'card_to_card'] as const);
    const card = random.pick(cards);
    const others = cards.filter((name) => name !== card);
    const isBetween = type === 'card_to_card' && others.length > 0;
    return {
      does: 'create',
      program,
      type: type === 'card_to_card' && !isBetween ? 'load' : type,
      card,
      destination: isBetween ? random.pick(others) : null,
      amount: BigInt(1 + random.below(random.chance(0.3) ? 120 : 20)),
      holds: random.chance(0.5),
      reference: random.chance(0.1) ? `order ${random.below(3)}` : null,
      isPoison: random.chance(0.03),
    };
  }

  #card(does: 'update_card' | 'erase'): Ask {
    const random = this.#random;
    const program = random.chance(0.85) ? 0 : 1;
    const card = random.pick(PROGRAMS[program]?.cards ?? []).name;
    if (does === 'erase') return { does, program, card };
    const status = random.pick(['active', 'inactive', 'lost', 'active', 'inactive', 'closed'] as const);
    return { does, program, card, status };
  }

  #webhook(does: 'create_webhook' | 'update_webhook' | 'delete_webhook'): Ask {
    const random = this.#random;
    const { id: webhook, program } = random.pick(this.webhooks);
    if (does === 'create_webhook') return { does, program, fromFirst: random.chance(0.5) };
    if (does === 'delete_webhook') return { does, program, webhook };
    const status = random.pick(['enabled', 'disabled'] as const);
    return { does, program, webhook, status, skips: status === 'enabled' && random.chance(0.4) };
  }
}

/** What is sent for it. */
export type Sending = {
  readonly requestId: string;
  readonly key: string | null;
  readonly deadline: number;
  readonly trace: RequestTrace | undefined;
};

/** Whether it can have an idempotency key. */
export function canHaveKey({ does }: Ask): boolean {
  return KEYED.has(does);
}

/** The call that a handler gets. */
export function toCall<Id extends OperationId>(ask: Ask, sending: Sending): Call<Id> {
  const { requestId, key, deadline, trace } = sending;
  const { params, body } = membersOf(ask);
  const programId = PROGRAMS[ask.program]?.programId ?? '';
  const call: AnyCall = {
    operation: OPERATION[ask.does],
    requestId,
    trace,
    caller: callerOf(ask, programId),
    programId,
    params,
    sent: body as AnyCall['sent'],
    idempotencyKey: key,
    deadline,
    query: {},
    body,
  };
  return call as Call<Id>;
}

/** Operators do what is done with webhooks: then it is in the audit log. */
function callerOf({ does }: Ask, programId: string): Caller {
  const key = { keyId: NO_API_KEY, scopes: [] };
  return does.endsWith('_webhook') ? { kind: 'operator_key', ...key } : { kind: 'program_key', programId, ...key };
}

function membersOf(ask: Ask): {
  readonly params: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
} {
  switch (ask.does) {
    case 'create': {
      const { type, card, destination, holds, reference, isPoison, amount } = ask;
      const body = {
        type,
        card_id: card,
        amount: asSent(amount),
        ...(destination === null ? {} : { destination_card_id: destination }),
        ...(holds ? { capture: 'manual' } : {}),
        ...(reference === null ? {} : { reference }),
        // PostgreSQL stores no text with a null character.
        ...(isPoison ? { description: 'poison \0' } : {}),
      };
      return { params: {}, body };
    }
    case 'update_transfer':
      return { params: { transfer_id: ask.transfer }, body: { metadata: { [ask.name]: ask.value } } };
    case 'update_card': {
      const balanceTo = ask.status === 'closed' ? { balance_to: 'funding' } : {};
      return { params: { card_id: ask.card }, body: { status: ask.status, ...balanceTo } };
    }
    case 'erase':
      return { params: { card_id: ask.card }, body: {} };
    case 'create_webhook':
      return { params: {}, body: { url: 'https://example.com', ...(ask.fromFirst ? { after: 0 } : {}) } };
    case 'update_webhook':
      return {
        params: { webhook_id: ask.webhook },
        body: { status: ask.status, ...(ask.skips ? { resume: 'now' } : {}) },
      };
    case 'delete_webhook':
      return { params: { webhook_id: ask.webhook }, body: {} };
    default: {
      const body = ask.amount === null ? {} : { amount: asSent(ask.amount) };
      return { params: { transfer_id: ask.transfer }, body };
    }
  }
}

function asSent(amount: bigint): { readonly source: string; readonly quoted: boolean } {
  return { source: String(amount), quoted: false };
}

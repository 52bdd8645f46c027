import type { OperationId } from '../../../contract/operations.ts';
import { toWireId } from '../../../domain/identifier.ts';
import type { LimitName } from '../../../domain/ledger/limits.ts';
import { NO_API_KEY } from '../../../domain/transfers/transfer.ts';
import type { AnyCall, Call, Caller } from '../../../server/calls/call.ts';
import type { RequestTrace } from '../../../server/calls/trace.ts';
import type { Random } from '../../../test/harness/random.ts';
import { type Ask, isOfOperators } from './ask.ts';
import { PROGRAMS } from './world.ts';

const OPERATION: Readonly<Record<Ask['does'], OperationId>> = {
  create: 'create_transfer',
  capture: 'capture_transfer',
  cancel: 'cancel_transfer',
  reverse: 'reverse_transfer',
  update_transfer: 'update_transfer',
  update_card: 'update_card',
  limit_card: 'update_card',
  update_program: 'update_program',
  deposit: 'create_deposit',
  withdraw: 'create_withdrawal',
  change_switch: 'change_switch',
  erase: 'erase_card_holder',
  create_webhook: 'create_webhook',
  update_webhook: 'update_webhook',
  delete_webhook: 'delete_webhook',
  resolve: 'resolve_attempt',
};

/** Operations that accept an idempotency key. */
const KEYED: ReadonlySet<Ask['does']> = new Set([
  ...(['create', 'capture', 'cancel', 'reverse', 'erase', 'create_webhook'] as const),
  ...(['deposit', 'withdraw', 'change_switch'] as const),
]);

/** The subjects of requests, in addition to transfers, cards and webhooks. */
export type Subjects = {
  /** Whether holds end and transfers are scheduled. */
  readonly due: boolean;
  readonly limits: boolean;
  readonly programs: boolean;
  readonly switch: boolean;
  /** What an operator can report about attempts at a processor. Undefined without a processor. */
  readonly findResolvable?: (isWrong: boolean) => readonly Ask[];
};

export const EVERY_SUBJECT: Subjects = { due: true, limits: true, programs: true, switch: true };

/** Transfers become due, and holds end, within this time. */
const SOON_MILLISECONDS = 2_000;

/** Draws the requests of callers. */
export class Asking {
  readonly #random: Random;
  /** The ids of the transfers that callers know, on the wire, with the index of their program. */
  readonly known: { readonly id: string; readonly program: number }[] = [];
  /** The same for webhooks. */
  readonly webhooks = PROGRAMS.map(({ webhookId }, program) => ({ id: toWireId('wh', webhookId), program }));
  #count = 0;
  /** Each kind appears in proportion to its probability in this schedule. */
  readonly #kinds: readonly Ask['does'][];

  readonly #clock: () => number;
  readonly #subjects: Subjects;

  /** With `asksAll` every kind of request has a chance. */
  constructor(random: Random, clock: () => number, subjects: Subjects, asksAll = false) {
    this.#random = random;
    this.#clock = clock;
    this.#subjects = subjects;
    const chance = (from: number): number => (asksAll || random.chance(0.6) ? random.below(from) + 1 : 0);
    const weights: readonly (readonly [Ask['does'], number])[] = [
      ['create', 4],
      ['capture', chance(4)],
      ['cancel', chance(3)],
      ['reverse', chance(3)],
      ['update_transfer', chance(5)],
      ['update_card', chance(2)],
      ['erase', chance(1)],
      ['limit_card', subjects.limits ? 1 : 0],
      ['update_program', subjects.limits || subjects.programs ? 2 : 0],
      ['deposit', subjects.programs ? 1 : 0],
      ['withdraw', subjects.programs ? 2 : 0],
      ['change_switch', subjects.switch ? 3 : 0],
      ['resolve', subjects.findResolvable === undefined ? 0 : 2],
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
    if (does === 'update_card' || does === 'erase' || does === 'limit_card') return this.#card(does);
    if (does === 'update_program') return this.#updateProgram();
    if (does === 'deposit' || does === 'withdraw') return this.#moveFunding(does);
    if (does === 'change_switch') return this.#changeSwitch();
    if (does === 'resolve') return this.#resolve();
    if (does === 'create' || this.known.length === 0) return this.#create();
    // Mostly recent transfers, so that several requests are about the same one.
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
    const isAtProcessor = this.#subjects.findResolvable !== undefined && random.chance(0.8);
    const type = random.pick(isAtProcessor ? WITH_PROCESSOR : ANY_TYPE);
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
      ...this.#times(),
      reference: random.chance(0.1) ? `order ${random.below(3)}` : null,
      waits: this.#isWaitedFor() ? 1 + random.below(8) : null,
      isPoison: random.chance(0.03),
    };
  }

  #isWaitedFor(): boolean {
    return this.#subjects.findResolvable !== undefined && this.#random.chance(0.2);
  }

  /** Whether money is held, until when, and when the transfer is due. */
  #times(): Pick<Extract<Ask, { does: 'create' }>, 'holds' | 'expiresAt' | 'scheduledFor'> {
    const random = this.#random;
    // A processor holds no money for a caller.
    const holds = random.chance(this.#subjects.findResolvable === undefined ? 0.5 : 0.15);
    if (!this.#subjects.due) return { holds, expiresAt: null, scheduledFor: null };
    const scheduledFor = random.chance(0.4) ? this.#soon(this.#clock()) : null;
    const expiresAt = holds && random.chance(0.6) ? this.#soon(scheduledFor ?? this.#clock()) : null;
    return { holds, expiresAt, scheduledFor };
  }

  #soon(from: number): number {
    return Math.round(from) + 2 + this.#random.below(this.#random.chance(0.3) ? 30 : SOON_MILLISECONDS);
  }

  #updateProgram(): Ask {
    const random = this.#random;
    const program = random.chance(0.85) ? 0 : 1;
    const { limits, programs } = this.#subjects;
    const member = random.pick([
      ...(limits ? (['limits', 'card_limits', 'limits', 'card_limits'] as const) : []),
      ...(programs ? (['name', 'funding_low_threshold', 'name', 'funding_low_threshold'] as const) : []),
    ]);
    this.#count += 1;
    if (member === 'name') return { does: 'update_program', program, member, limit: '', value: BigInt(this.#count) };
    if (member === 'funding_low_threshold') {
      const value = random.chance(0.2) ? null : BigInt(60 + random.below(70));
      return { does: 'update_program', program, member, limit: '', value };
    }
    return { does: 'update_program', program, member, ...this.#limit(member === 'card_limits') };
  }

  /** A limit for a card, or for all cards together. A few limits are removed again. */
  #limit(isOfCard: boolean): { readonly limit: string; readonly value: bigint | null } {
    const random = this.#random;
    const name = random.pick(isOfCard ? CARD_LIMITS : PERIOD_LIMITS);
    const [from, below] = RANGES[name];
    const limit = name === 'maximum_balance' ? name : `${random.pick(['in', 'out'] as const)} ${name}`;
    return { limit, value: random.chance(0.15) ? null : BigInt(from + random.below(below)) };
  }

  #moveFunding(does: 'deposit' | 'withdraw'): Ask {
    const random = this.#random;
    return {
      does,
      program: random.chance(0.85) ? 0 : 1,
      amount: BigInt(1 + random.below(60)),
      reference: random.chance(0.2) ? `movement ${random.below(3)}` : null,
    };
  }

  #changeSwitch(): Ask {
    const random = this.#random;
    const scope = random.pick(['service', 'program', 'program', 'load', 'unload', 'card_to_card'] as const);
    const disabled = random.chance(0.5);
    const until = disabled && random.chance(0.5) ? this.#soon(this.#clock()) : null;
    return { does: 'change_switch', program: random.chance(0.85) ? 0 : 1, scope, disabled, until };
  }

  /** Resolves an attempt, or sends another request if there is none. */
  #resolve(): Ask {
    const random = this.#random;
    const found = this.#subjects.findResolvable?.(random.chance(0.1)) ?? [];
    return found.length === 0 ? this.#create() : random.pick(found);
  }

  #card(does: 'update_card' | 'erase' | 'limit_card'): Ask {
    const random = this.#random;
    const program = random.chance(0.85) ? 0 : 1;
    const card = random.pick(PROGRAMS[program]?.cards ?? []).name;
    if (does === 'erase') return { does, program, card };
    if (does === 'limit_card') return { does, program, card, ...this.#limit(true) };
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

const ANY_TYPE = ['load', 'load', 'unload', 'card_to_card'] as const;
const WITH_PROCESSOR = ['load', 'load', 'unload'] as const;

/** The values of limits, from the lowest. One transfer or a few use them up. The minimum is below the maximum. */
const RANGES: Readonly<Record<LimitName | 'maximum_balance', readonly [from: number, below: number]>> = {
  daily_amount: [10, 40],
  daily_count: [1, 3],
  weekly_amount: [15, 50],
  weekly_count: [1, 4],
  monthly_amount: [20, 60],
  monthly_count: [2, 4],
  minimum_amount: [1, 4],
  maximum_amount: [10, 30],
  maximum_balance: [20, 60],
};

const CARD_LIMITS = Object.keys(RANGES) as readonly (keyof typeof RANGES)[];

/** The limits of all cards together. Only limits of periods exist there. */
const PERIOD_LIMITS = CARD_LIMITS.filter((name) => !/^m(?:in|ax)imum_/.test(name));

export type Sending = {
  readonly requestId: string;
  readonly key: string | null;
  readonly deadline: number;
  readonly trace: RequestTrace | undefined;
};

/** Whether the request accepts an idempotency key. */
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
    ...(ask.does === 'create' && ask.waits !== null ? { waitSeconds: ask.waits } : {}),
  };
  return call as Call<Id>;
}

function callerOf(ask: Ask, programId: string): Caller {
  const key = { keyId: NO_API_KEY, scopes: [] };
  return isOfOperators(ask) ? { kind: 'operator_key', ...key } : { kind: 'program_key', programId, ...key };
}

function membersOf(ask: Ask): {
  readonly params: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
} {
  switch (ask.does) {
    case 'create': {
      const { type, card, destination, holds, expiresAt, scheduledFor, reference, isPoison, amount } = ask;
      const body = {
        type,
        card_id: card,
        amount: asSent(amount),
        ...(destination === null ? {} : { destination_card_id: destination }),
        ...(holds ? { capture: 'manual' } : {}),
        ...(expiresAt === null ? {} : { expires_at: asMoment(expiresAt) }),
        ...(scheduledFor === null ? {} : { scheduled_for: asMoment(scheduledFor) }),
        ...(reference === null ? {} : { reference }),
        // PostgreSQL cannot store text with a null character.
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
    case 'limit_card':
      return { params: { card_id: ask.card }, body: { limits: asPatch(ask) } };
    case 'update_program':
      return { params: { program_id: idOf(ask) }, body: { [ask.member]: asMember(ask) } };
    case 'deposit':
    case 'withdraw': {
      const reference = ask.reference === null ? {} : { reference: ask.reference };
      return { params: { program_id: idOf(ask) }, body: { amount: asSent(ask.amount), ...reference } };
    }
    case 'change_switch': {
      const { scope, disabled, until } = ask;
      const body = {
        disabled,
        ...(disabled ? { reason: 'an incident' } : {}),
        ...(until === null ? {} : { until: asMoment(until) }),
        ...(scope === 'service' ? {} : { program_id: idOf(ask) }),
        ...(scope === 'service' || scope === 'program' ? {} : { type: scope }),
      };
      return { params: {}, body };
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
    case 'resolve': {
      const outcome = ask.wasExecuted ? 'executed' : 'not_executed';
      return { params: { attempt_id: ask.attempt }, body: { outcome, note: 'the processor has said so' } };
    }
    default: {
      const body = ask.amount === null ? {} : { amount: asSent(ask.amount) };
      return { params: { transfer_id: ask.transfer }, body };
    }
  }
}

function asSent(amount: bigint): { readonly source: string; readonly quoted: boolean } {
  return { source: String(amount), quoted: false };
}

function asMoment(time: number): string {
  return new Date(time).toISOString();
}

function idOf({ program }: Ask): string {
  return toWireId('prog', PROGRAMS[program]?.programId ?? '');
}

function asMember({ member, limit, value }: Extract<Ask, { does: 'update_program' }>): unknown {
  if (member === 'name') return `Program ${value}`;
  return member === 'funding_low_threshold' ? asNumber(value) : asPatch({ limit, value });
}

/** A patch that sets or removes one limit. */
function asPatch({ limit, value }: { readonly limit: string; readonly value: bigint | null }): unknown {
  const [direction = '', name] = limit.split(' ');
  return { [direction]: name === undefined ? asNumber(value) : { [name]: asNumber(value) } };
}

function asNumber(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}

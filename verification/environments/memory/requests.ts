import type { OperationId } from '../../../contract/operations.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { NO_API_KEY } from '../../../domain/transfers/transfer.ts';
import type { AnyCall, AnyReply, Caller } from '../../../server/calls/call.ts';
import type { RequestTrace } from '../../../server/calls/trace.ts';
import type { AnyService } from '../../../server/handlers.ts';
import { updateCard } from '../../../server/subjects/cards/update-card.ts';
import { createDeposit, createWithdrawal } from '../../../server/subjects/programs/funding.ts';
import { updateProgram } from '../../../server/subjects/programs/manage-programs.ts';
import { changeSwitch } from '../../../server/subjects/switch/switch.ts';
import {
  cancelTransfer,
  captureTransfer,
  reverseTransfer,
  updateTransfer,
} from '../../../server/subjects/transfers/change-transfer.ts';
import { createTransfer } from '../../../server/subjects/transfers/create-transfer.ts';
import { resolveAttempt } from '../../../server/subjects/transfers/resolve-attempt.ts';
import { deleteWebhook, updateWebhook } from '../../../server/subjects/webhooks/change-webhook.ts';
import { createWebhook } from '../../../server/subjects/webhooks/create-webhook.ts';
import type { LimitChange, Request } from '../../model/commands.ts';
import { programOf } from './world.ts';

type Kind = Request['does'];

/** How the service carries out a kind of request, and whether it accepts an idempotency key. */
type Handling = {
  readonly operation: OperationId;
  readonly handler: (service: AnyService, call: never) => Promise<AnyReply>;
  readonly hasKey?: true;
  /** Whether the request may move money. If so, a failure says whether money moved. */
  readonly movesMoney?: true;
  /** Whether only operators may send the request. If so, it is in the audit log. */
  readonly isOfOperators?: true;
};

const money = { movesMoney: true, hasKey: true } as const;
const operator = { isOfOperators: true } as const;

const HANDLING: Readonly<Record<Kind, Handling>> = {
  create: { operation: 'create_transfer', handler: createTransfer, ...money },
  capture: { operation: 'capture_transfer', handler: captureTransfer, ...money },
  cancel: { operation: 'cancel_transfer', handler: cancelTransfer, ...money },
  reverse: { operation: 'reverse_transfer', handler: reverseTransfer, ...money },
  update_transfer: { operation: 'update_transfer', handler: updateTransfer },
  update_card: { operation: 'update_card', handler: updateCard },
  limit_card: { operation: 'update_card', handler: updateCard },
  update_program: { operation: 'update_program', handler: updateProgram, ...operator },
  deposit: { operation: 'create_deposit', handler: createDeposit, ...money, ...operator },
  withdraw: { operation: 'create_withdrawal', handler: createWithdrawal, ...money, ...operator },
  change_switch: { operation: 'change_switch', handler: changeSwitch, hasKey: true, ...operator },
  resolve: { operation: 'resolve_attempt', handler: resolveAttempt, movesMoney: true, ...operator },
  create_webhook: { operation: 'create_webhook', handler: createWebhook, hasKey: true, ...operator },
  update_webhook: { operation: 'update_webhook', handler: updateWebhook, ...operator },
  delete_webhook: { operation: 'delete_webhook', handler: deleteWebhook, ...operator },
};

export function canHaveKey({ does }: Request): boolean {
  return HANDLING[does].hasKey === true;
}

export function movesMoney({ does }: Request): boolean {
  return HANDLING[does].movesMoney === true;
}

export function isOfOperators({ does }: Request): boolean {
  return HANDLING[does].isOfOperators === true;
}

/** Describes a request for messages. */
export function describeRequest({ does, ...members }: Request): string {
  const shown = (_: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : (value ?? undefined));
  return `${does} ${JSON.stringify(members, shown)}`;
}

export type Sending = {
  readonly requestId: string;
  readonly key: string | null;
  readonly deadline: number;
  readonly trace: RequestTrace | undefined;
};

/** Carries out a request. */
export async function handle(service: AnyService, request: Request, sending: Sending): Promise<AnyReply> {
  const { operation, handler } = HANDLING[request.does];
  const { requestId, key, deadline, trace } = sending;
  const { params, body } = membersOf(request);
  const { programId } = programOf(request.program);
  const call: AnyCall = {
    ...{ operation, requestId, trace, deadline, programId, params, body, query: {}, idempotencyKey: key },
    sent: body as AnyCall['sent'],
    caller: callerOf(request, programId),
    ...(request.does === 'create' && request.waits !== null ? { waitSeconds: request.waits } : {}),
  };
  const reply = handler(service, call as never);
  return request.does === 'create' ? waitFor(await reply, deadline) : reply;
}

/** The reply of a request that waits for a processor. It waits in the same way as the HTTP server. */
async function waitFor(first: AnyReply, deadline: number): Promise<AnyReply> {
  let reply = first;
  while ('wait' in reply) {
    const isOver = performance.now() >= deadline;
    if (!isOver) await reply.wait.forNews(new AbortController().signal);
    reply = await reply.wait.resume(isOver);
  }
  return reply;
}

function callerOf(request: Request, programId: string): Caller {
  const key = { keyId: NO_API_KEY, scopes: [] };
  return isOfOperators(request) ? { kind: 'operator_key', ...key } : { kind: 'program_key', programId, ...key };
}

type Members = {
  readonly params: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
};

function membersOf(request: Request): Members {
  switch (request.does) {
    case 'create': {
      const { type, card, destination, amount, currency, reference, capture, expiresAt, scheduledFor } = request.asked;
      const body = {
        ...{ type, card_id: card, amount: asSent(amount), destination_card_id: destination },
        ...{ capture: capture === 'manual' ? capture : null, currency, reference },
        ...{ expires_at: asMoment(expiresAt), scheduled_for: asMoment(scheduledFor) },
        // PostgreSQL cannot store text with a null character.
        description: request.isPoison ? 'poison \0' : null,
      };
      return { params: {}, body: given(body) };
    }
    case 'capture':
    case 'cancel':
    case 'reverse': {
      const { amount = null } = request as { amount?: bigint | null };
      return { params: { transfer_id: request.transfer }, body: given({ amount: amount && asSent(amount) }) };
    }
    case 'update_transfer':
      return { params: { transfer_id: request.transfer }, body: { metadata: { [request.name]: request.value } } };
    case 'update_card': {
      const { status, expiresOn: expires_on, balanceTo: balance_to } = request;
      return { params: { card_id: request.card }, body: given({ status, expires_on, balance_to }) };
    }
    case 'limit_card':
      return { params: { card_id: request.card }, body: { limits: asPatch(request.limit) } };
    case 'update_program':
      return { params: { program_id: idOf(request) }, body: asProgram(request) };
    case 'deposit':
    case 'withdraw': {
      const { amount, reference, currency } = request;
      const body = { amount: asSent(amount), currency, ...given({ reference }) };
      return { params: { program_id: idOf(request) }, body };
    }
    case 'change_switch': {
      const { program, type, disabled, until } = request.setting;
      const reason = disabled ? 'an incident' : null;
      const scope = { program_id: program && toWireId('prog', programOf(program).programId), type };
      return { params: {}, body: { disabled, ...given({ reason, until: asMoment(until), ...scope }) } };
    }
    case 'create_webhook':
      return { params: {}, body: { url: 'https://example.com', ...(request.fromFirst ? { after: 0 } : {}) } };
    case 'update_webhook': {
      const { webhook: webhook_id, status, skips } = request;
      return { params: { webhook_id }, body: { status, ...(skips ? { resume: 'now' } : {}) } };
    }
    case 'delete_webhook':
      return { params: { webhook_id: request.webhook }, body: {} };
    case 'resolve': {
      const outcome = request.wasExecuted ? 'executed' : 'not_executed';
      return { params: { attempt_id: request.attempt }, body: { outcome, note: 'the processor has confirmed it' } };
    }
  }
}

/** The members that are not null. */
function given(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

function asSent(amount: bigint): { readonly source: string; readonly quoted: boolean } {
  return { source: String(amount), quoted: false };
}

function asMoment(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

function idOf({ program }: Request): string {
  return toWireId('prog', programOf(program).programId);
}

function asProgram(request: Extract<Request, { does: 'update_program' }>): Readonly<Record<string, unknown>> {
  const { name, threshold, limit, cardLimit } = request;
  if (name !== undefined) return { name };
  if (limit !== undefined) return { limits: asPatch(limit) };
  if (cardLimit !== undefined) return { card_limits: asPatch(cardLimit) };
  return { funding_low_threshold: asNumber(threshold ?? null) };
}

/** A patch that sets or removes one limit. */
function asPatch({ direction, name, value }: LimitChange): Readonly<Record<string, unknown>> {
  const patch = { [name]: asNumber(value) };
  return direction === null ? patch : { [direction]: patch };
}

function asNumber(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}

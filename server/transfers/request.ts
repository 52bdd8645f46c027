import type { CreateTransferBody } from '../../contract/transfers.ts';
import { fromWireId } from '../../domain/identifier.ts';
import type { AmountAsSent } from '../../domain/ledger/money.ts';
import { readAmount } from '../../domain/ledger/money.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { TransferNotes, TransferTerms } from '../../domain/transfers/transfer.ts';
import { operatorOf } from '../audit/actor.ts';
import { fingerprintOf } from '../commit/fingerprint.ts';
import type { Call } from '../operations/call.ts';

/** What every request about a transfer has: its ids and, where it has one, its idempotency key. */
type Common = {
  readonly programId: string;
  readonly requestId: string;
  readonly key: { readonly text: string; readonly fingerprint: string } | null;
  /** The operator that asks for it, as the audit log names them; null when a card program does. */
  readonly operator: string | null;
};

/** What a request about a transfer that is there has besides; `transferId` is its inner UUID. */
type Standing = Common & { readonly transferId: string };

/** A transfer that is asked for. It gets its id when it is decided, with the time of that moment. */
export type TransferRequest = Common & {
  readonly command: 'create';
  readonly terms: TransferTerms;
  readonly notes: TransferNotes;
};

/** Something that a caller wants done with a transfer; `asked` is its id as the caller wrote it. */
export type ChangeRequest = Standing & { readonly asked: string } & (
    | { readonly command: 'capture'; readonly amount: bigint | null }
    | { readonly command: 'cancel' }
    | {
        readonly command: 'reverse';
        readonly amount: bigint | null;
        readonly description: string | null;
      }
  );

/** Something that has come due: a hold past its end, a scheduled transfer. Nobody waits for an answer. */
export type DueRequest = Standing & {
  readonly command: 'expire' | 'execute';
  readonly key: null;
  readonly operator: null;
};

/** Whatever is committed in groups. */
export type AnyRequest = TransferRequest | ChangeRequest | DueRequest;

/** A UUID that no transfer has: what a malformed id stands for, so that it is looked for and not found in its turn. */
const NO_TRANSFER = '00000000-0000-0000-0000-000000000000';

/** The request that a call makes for an amount (minor units), which has been read from the body. */
export function toTransferRequest(call: Call, amount: bigint): TransferRequest {
  const body = call.members as CreateTransferBody;
  return {
    command: 'create',
    programId: call.programId,
    requestId: call.requestId,
    key: keyOf(call),
    operator: operatorOf(call.caller),
    terms: {
      type: body.type ?? 'load',
      amount,
      cardName: body.card_id,
      destinationCardName: body.destination_card_id ?? null,
      currency: body.currency ?? null,
      reference: body.reference ?? null,
      capture: body.capture ?? 'automatic',
      expiresAt: body.expires_at === undefined ? null : Date.parse(body.expires_at),
      scheduledFor: body.scheduled_for === undefined ? null : Date.parse(body.scheduled_for),
    },
    notes: { description: body.description ?? null, metadata: body.metadata ?? {} },
  };
}

/** What a call about an existing transfer says of itself. */
export function toCommon(call: Call): Standing & { readonly asked: string } {
  const asked = call.parameters.transfer_id ?? '';
  return {
    programId: call.programId,
    transferId: fromWireId('tr', asked) ?? NO_TRANSFER,
    asked,
    requestId: call.requestId,
    key: keyOf(call),
    operator: operatorOf(call.caller),
  };
}

function keyOf(call: Call): Common['key'] {
  return call.idempotencyKey === null ? null : { text: call.idempotencyKey, fingerprint: fingerprintOf(call) };
}

/** Reads an amount, or refuses it with `invalid_amount`; null where none was sent. */
export function readOptionalAmount(sent: AmountAsSent | undefined): bigint | null {
  if (sent === undefined) return null;
  const reading = readAmount(sent);
  if ('amount' in reading) return reading.amount;
  throw new Refusal('invalid_amount', reading.problem, { field: '/amount' });
}

/** Refuses members that do not fit each other, which a schema cannot say: `<operation>_schema`. */
export function checkTerms(call: Call, body: CreateTransferBody): void {
  const destination = findDestinationProblem(body.type ?? 'load', body.card_id, body.destination_card_id);
  if (destination !== undefined) {
    throw new Refusal(`${call.operation}_schema`, destination, { field: '/destination_card_id' });
  }
  if (body.expires_at === undefined || body.capture === 'manual') return;
  const message = "'expires_at' goes with capture 'manual' only: it says when the hold ends.";
  throw new Refusal(`${call.operation}_schema`, message, { field: '/expires_at' });
}

function findDestinationProblem(type: string, card: string, destination: string | undefined): string | undefined {
  if (type === 'card_to_card' && destination === undefined) {
    return "The required field 'destination_card_id' is missing: a card_to_card transfer needs the card that receives.";
  }
  if (type !== 'card_to_card' && destination !== undefined) {
    return `'destination_card_id' goes with the type 'card_to_card' only, but 'type' is '${type}'.`;
  }
  if (destination === card) return "'destination_card_id' must name another card than 'card_id'.";
  return undefined;
}

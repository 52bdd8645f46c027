import { randomUUIDv7 } from 'node:crypto';
import type { CreateTransferBody } from '../../contract/schemas.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { TransferNotes, TransferTerms } from '../../domain/transfer.ts';
import type { Call } from './call.ts';
import { fingerprintOf } from './idempotency.ts';

/** A transfer that is asked for, with the ids that it will have. */
export type TransferRequest = {
  readonly programId: string;
  readonly transferId: string;
  readonly requestId: string;
  readonly terms: TransferTerms;
  readonly notes: TransferNotes;
  readonly key: { readonly text: string; readonly fingerprint: string } | null;
};

/** The request that a call makes for an amount (minor units), which has been read from the body. */
export function toTransferRequest(call: Call, amount: bigint): TransferRequest {
  const body = call.members as CreateTransferBody;
  return {
    programId: call.programId,
    transferId: randomUUIDv7(),
    requestId: call.requestId,
    key: call.idempotencyKey === null ? null : { text: call.idempotencyKey, fingerprint: fingerprintOf(call) },
    terms: {
      type: body.type ?? 'load',
      amount,
      cardName: body.card_id,
      destinationCardName: body.destination_card_id ?? null,
      currency: body.currency ?? null,
      reference: body.reference ?? null,
    },
    notes: { description: body.description ?? null, metadata: body.metadata ?? {} },
  };
}

/** Refuses cards that do not fit the type, which a schema cannot say: `<operation>_schema`. */
export function checkCards(call: Call, body: CreateTransferBody): void {
  const problem = findDestinationProblem(body.type ?? 'load', body.card_id, body.destination_card_id);
  if (problem === undefined) return;
  throw new Refusal(`${call.operation}_schema`, problem, { field: '/destination_card_id' });
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

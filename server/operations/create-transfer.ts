import { randomUUIDv7 } from 'node:crypto';
import type { CreateTransferBody } from '../../contract/schemas.ts';
import { readAmount } from '../../domain/money.ts';
import { Refusal } from '../../domain/refusal.ts';
import { readTransfer, toTransfer } from '../store/transfer.ts';
import type { Call, Reply } from './call.ts';
import { fingerprintOf } from './idempotency.ts';
import { toTransferRecord } from './records.ts';
import type { Service } from './service.ts';
import { readRows } from './transaction.ts';
import { type TransferRequest, transferPath } from './transfer-group.ts';

/**
 * create_transfer (specification, section 4): 201 with the transfer, or the first refusal that applies.
 * With an idempotency key the first answer is given again, to the letter.
 */
export async function createTransfer(service: Service, call: Call): Promise<Reply> {
  const request = readTransferRequest(call);
  const answer = await service.transfers.submit(request, call.deadline);
  if (answer instanceof Refusal) throw answer;
  if (!('replayOf' in answer)) return answer;
  const [row] = await readRows(service.database, readTransfer(call.programId, answer.replayOf));
  if (row === undefined) throw new Error('a kept answer names a transfer that is not there');
  const body = JSON.stringify(toTransferRecord(toTransfer(row)));
  return { status: 201, body, location: transferPath(answer.replayOf), replayed: true };
}

/** The rules about the body that a schema cannot say: which cards a type needs, and what an amount is. */
export function readTransferRequest(call: Call): TransferRequest {
  const body = call.members as CreateTransferBody;
  const type = body.type ?? 'load';
  const destination = body.destination_card_id ?? null;
  const problem = findDestinationProblem(type, body.card_id, destination);
  if (problem !== undefined) {
    throw new Refusal(`${call.operation}_schema`, problem, { field: '/destination_card_id' });
  }
  const reading = readAmount(body.amount);
  if ('problem' in reading) throw new Refusal('invalid_amount', reading.problem, { field: '/amount' });
  return {
    programId: call.programId,
    transferId: randomUUIDv7(),
    requestId: call.requestId,
    key: call.idempotencyKey === null ? null : { text: call.idempotencyKey, fingerprint: fingerprintOf(call) },
    terms: {
      type,
      amount: reading.amount,
      cardName: body.card_id,
      destinationCardName: destination,
      currency: body.currency ?? null,
      reference: body.reference ?? null,
    },
    notes: { description: body.description ?? null, metadata: body.metadata ?? {} },
  };
}

function findDestinationProblem(type: string, card: string, destination: string | null): string | undefined {
  if (type === 'card_to_card' && destination === null) {
    return "The required field 'destination_card_id' is missing: a card_to_card transfer needs the card that receives.";
  }
  if (type !== 'card_to_card' && destination !== null) {
    return `'destination_card_id' goes with the type 'card_to_card' only, but 'type' is '${type}'.`;
  }
  if (destination === card) return "'destination_card_id' must name another card than 'card_id'.";
  return undefined;
}

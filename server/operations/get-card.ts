import { Refusal } from '../../domain/refusal.ts';
import { readCardDetails, toCardDetails } from '../store/card.ts';
import type { Call, Reply } from './call.ts';
import { toCardRecord } from './records.ts';
import type { Service } from './service.ts';
import { readRows } from './transaction.ts';

/** get_card: the card with its balance, or `card_dne`. */
export async function getCard(service: Service, call: Call): Promise<Reply> {
  const name = call.parameters.card_id ?? '';
  const [row] = await readRows(service.database, readCardDetails(call.programId, name));
  if (row === undefined) throw new Refusal('card_dne', `There is no card '${name}' in this card program.`);
  return { status: 200, body: JSON.stringify(toCardRecord(toCardDetails(row))) };
}

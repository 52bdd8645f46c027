import { Refusal } from '../../domain/refusal.ts';
import { readRows } from '../commit/transaction.ts';
import type { Call, Reply } from '../operations/call.ts';
import { toCardRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { readCardDetails, toCardDetails } from '../store/card.ts';

/** get_card: the card with its balance, or `card_not_found`. */
export async function getCard(service: Service, call: Call): Promise<Reply> {
  const name = call.parameters.card_id ?? '';
  const [row] = await readRows(service.database, readCardDetails(call.programId, name));
  if (row === undefined) throw new Refusal('card_not_found', `There is no card '${name}' in this card program.`);
  return { status: 200, body: JSON.stringify(toCardRecord(toCardDetails(row))) };
}

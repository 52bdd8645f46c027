import { Refusal } from '../../domain/refusal.ts';
import { readRows } from '../commit/transaction.ts';
import type { Call, Reply } from '../operations/call.ts';
import { readPage } from '../operations/page.ts';
import type { Service } from '../operations/service.ts';
import { listCards as listStatement, readCardDetails, toCardDetails } from '../store/card.ts';
import { toCardRecord } from './record.ts';

/** get_card: the card with its balance, or `card_not_found`. */
export async function getCard(service: Service, call: Call<'get_card'>): Promise<Reply<'get_card'>> {
  const { card_id: name } = call.params;
  const [row] = await readRows(service.database, readCardDetails(call.programId, name));
  if (row === undefined) throw cardMissing(name);
  return { record: toCardRecord(toCardDetails(row)) };
}

/** list_cards: a page, newest first. */
export async function listCards(service: Service, call: Call<'list_cards'>): Promise<Reply<'list_cards'>> {
  const record = await readPage(service, call, {
    prefix: 'card',
    statement: (after, count) => listStatement(call.programId, after, count),
    read: toCardDetails,
    idOf: ({ card }) => card.cardId,
    show: toCardRecord,
  });
  return { record };
}

/** The refusal of a card id that the card program does not have. */
export function cardMissing(name: string): Refusal {
  return new Refusal('card_not_found', `There is no card '${name}' in this card program.`);
}

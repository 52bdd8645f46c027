import { Refusal } from '../refusal.ts';
import { CARD_RULES, type Card } from './card.ts';

/**
 * Refuses to erase the holder of a card that does not exist or is not closed. Undefined if the holder may be erased. A card in
 * use still needs its holder, and new data about the holder would be stored immediately.
 */
export function refuseErasure(cardName: string, card: Pick<Card, 'status'> | undefined): Refusal | undefined {
  if (card === undefined) {
    return new Refusal('card_not_found', `There is no card '${cardName}' in this card program.`);
  }
  if (card.status === 'closed') return undefined;
  const message =
    `The card '${cardName}' ${CARD_RULES[card.status].meaning}, and only the holder of a closed card can be erased. ` +
    'Close the card first.';
  return new Refusal('card_not_closed', message, { saw: { card_id: cardName, status: card.status } });
}

/** Refuses free text for a transfer of the card `cardName`, whose holder was erased. */
export function refuseTexts(cardName: string): Refusal {
  const message =
    `The holder of the card '${cardName}' was erased, with the texts of its transfers. ` +
    'The metadata of this transfer can no longer be set.';
  return new Refusal('card_erased', message, { field: '/metadata', saw: { card_id: cardName } });
}

type WireRecord = Readonly<Record<string, unknown>>;

/** The replacement for each field of free text about a holder after an erasure, by its name on the wire. */
const ERASED: WireRecord = { holder_reference: null, last_four: null, description: null, metadata: {} };

/** Fields of cards, transfers and reversals that can contain data about a holder, by their names on the wire. */
export const HOLDER_FIELDS: readonly string[] = Object.keys(ERASED);

/** Removes the free text about the card's holder from a record. The fields and their order stay the same. */
export function withoutHolder(record: WireRecord): WireRecord {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, Object.hasOwn(ERASED, name) ? ERASED[name] : value]),
  );
}

/** Whether a record is about a card. It names the card or, as a reversal does, only a transfer of the card. */
export function isAboutCard(record: WireRecord, cardName: string): boolean {
  if (record.reversal_id !== undefined) return true;
  return record.card_id === cardName || record.destination_card_id === cardName;
}

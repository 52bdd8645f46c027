import type { CreateTransferBody, TransferService } from '../../sdk/client.ts';

/** The optional settings of a transfer, in addition to its amount and card. */
export type Terms = Partial<Omit<CreateTransferBody, 'amount' | 'card_id'>>;

/** Creates a card that only the calling test uses, so that no other test moves its money. */
export async function newCard({ cards, transfers }: TransferService, balance = 0, currency?: string): Promise<string> {
  const { card_id } = await cards.create({ currency });
  if (balance > 0) await transfers.create({ amount: balance, card_id });
  return card_id;
}

/** Creates a completed transfer and returns its id. Amounts are in minor units. */
export async function made({ transfers }: TransferService, cardId: string, amount = 5, terms: Terms = {}) {
  return (await transfers.create({ amount, card_id: cardId, ...terms })).transfer_id;
}

/** Creates a hold that is not yet captured, and returns the id of the transfer. */
export function held(client: TransferService, cardId: string, amount = 5, terms: Terms = {}): Promise<string> {
  return made(client, cardId, amount, { capture: 'manual', ...terms });
}

/** Loads a card and unloads the money again, so that the card is empty. Returns the ids of both transfers. */
export async function spent(client: TransferService, cardId: string, amount = 5) {
  return { load: await made(client, cardId, amount), unload: await made(client, cardId, amount, { type: 'unload' }) };
}

/** Returns the amounts in a card's record. */
export async function moneyOf({ cards }: TransferService, cardId: string) {
  const { balance, held: onHold, available, incoming } = await cards.get(cardId);
  return { balance, held: onHold, available, incoming };
}

/** Returns the time this many seconds from now, in the format of a request. */
export function inSeconds(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toISOString();
}

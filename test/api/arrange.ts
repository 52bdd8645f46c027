import type { CreateTransferBody, TransferService } from '../../sdk/client.ts';

/** What a request may say of a transfer beyond its amount and card. */
export type Terms = Partial<Omit<CreateTransferBody, 'amount' | 'card_id'>>;

/** A card of a test's own, so that no test counts another's money. */
export async function newCard({ cards, transfers }: TransferService, balance = 0, currency?: string): Promise<string> {
  const { card_id } = await cards.create({ currency });
  if (balance > 0) await transfers.create({ amount: balance, card_id });
  return card_id;
}

/** A transfer that is there when this ends; gives its id. Amounts in minor units. */
export async function made({ transfers }: TransferService, cardId: string, amount = 5, terms: Terms = {}) {
  return (await transfers.create({ amount, card_id: cardId, ...terms })).transfer_id;
}

/** Money that a transfer holds and that waits to be captured; gives the id of the transfer. */
export function held(client: TransferService, cardId: string, amount = 5, terms: Terms = {}): Promise<string> {
  return made(client, cardId, amount, { capture: 'manual', ...terms });
}

/** A load that has been unloaded again, whole: the card is empty and what the load brought has gone. */
export async function spent(client: TransferService, cardId: string, amount = 5) {
  return { load: await made(client, cardId, amount), unload: await made(client, cardId, amount, { type: 'unload' }) };
}

/** What a card's record says of its money. */
export async function moneyOf({ cards }: TransferService, cardId: string) {
  const { balance, held: onHold, available, incoming } = await cards.get(cardId);
  return { balance, held: onHold, available, incoming };
}

/** A moment so many seconds from now, as a request writes it. */
export function inSeconds(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toISOString();
}

import type { CreateTransferBody, TransferRecord, TransferService } from '../../sdk/client.ts';
import type { Need } from './draft.ts';
import { CARDS } from './making.ts';
import { CLOSED_CARD, NEEDED_AMOUNT, QUIET_CARD } from './standing.ts';

/** A card with more on it than the holds of a campaign come to. */
const RICH_CARD = 'with-much-money';
const MUCH = 999_999_999;

/** Makes what requests need, all at once, and gives the ids of the transfers. */
export type Provide = (needs: readonly Need[]) => Promise<readonly string[]>;

/** Makes the cards of a campaign. */
export async function openCards({ cards }: TransferService): Promise<void> {
  for (const card_id of [...CARDS, RICH_CARD, QUIET_CARD, CLOSED_CARD]) await cards.create({ card_id });
}

/** Puts money where holds need it; gives what makes them. `heed` hears of every transfer that is made. */
export async function openNeeds(
  { transfers }: TransferService,
  heed: (record: TransferRecord) => void,
): Promise<Provide> {
  heed(await transfers.create({ amount: MUCH, card_id: RICH_CARD }));
  const started = Date.now();
  let turn = 0;
  return async (needs) => {
    if (needs.length === 0) return [];
    const rows = needs.map((need) => {
      turn += 1;
      return { ...termsOf(need, CARDS[turn % CARDS.length] ?? ''), idempotency_key: `need-${started}-${turn}` };
    });
    const { data } = await transfers.createBatch(rows);
    return data.map(({ transfer, error }) => {
      if (transfer === null) throw new Error(`what a request needs was refused: ${error?.Message}`);
      heed(transfer);
      return transfer.transfer_id;
    });
  };
}

function termsOf(need: Need, card_id: string): CreateTransferBody {
  const amount = NEEDED_AMOUNT;
  switch (need) {
    case 'load':
      return { amount, card_id };
    case 'scheduled':
      return { amount, card_id, scheduled_for: new Date(Date.now() + 30 * 86_400_000).toISOString() };
    case 'held load':
      return { amount, card_id, capture: 'manual' };
    case 'held unload':
      return { amount, card_id: RICH_CARD, type: 'unload', capture: 'manual' };
    case 'held between cards':
      return { amount, card_id: RICH_CARD, type: 'card_to_card', destination_card_id: card_id, capture: 'manual' };
  }
}

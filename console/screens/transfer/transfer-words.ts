import type { TransferRecord } from '../../../sdk/client.ts';
import { formatAmount } from '../../format/amounts.ts';
import { sentenceCase } from '../../format/names.ts';

/** What can be done with a transfer, and the text of its button. */
export const ACTIONS = { capture: 'Capture', cancel: 'Cancel', reverse: 'Reverse' } as const;

/** One of {@link ACTIONS}. */
export type TransferAction = keyof typeof ACTIONS;

/** What the status of a transfer allows. Only the processor ends what is at a processor. */
export function actionsFor(transfer: TransferRecord, isAtProcessor = false): readonly TransferAction[] {
  if (isAtProcessor) return [];
  switch (transfer.status) {
    case 'scheduled':
      return ['cancel'];
    case 'pending':
      // What waits for the processor of its card is ended by that alone.
      return transfer.capture === 'automatic' ? [] : ['capture', 'cancel'];
    case 'completed':
      return leftOf(transfer, 'reverse') > 0 ? ['reverse'] : [];
    default:
      return [];
  }
}

/** The most that can be captured or reversed, in minor units. */
export function leftOf(transfer: TransferRecord, action: 'capture' | 'reverse'): number {
  const { amount, captured_amount: captured, reversed_amount: reversed } = transfer;
  return action === 'capture' ? amount : captured - reversed;
}

const TYPES = { load: 'load', unload: 'unload', card_to_card: 'transfer' } as const;

/** What people call a transfer of a type: `load`, `unload`, `transfer`. */
export function nameOfType(type: TransferRecord['type']): string {
  return TYPES[type];
}

/** What a transfer is, as a title: `Load of 50.00 USD to Priya Raman ··4242`; without a name only its amount. */
export function titleOf(
  { type, amount, currency }: Pick<TransferRecord, 'type' | 'amount' | 'currency'>,
  nameOfCard: string | undefined,
): string {
  const what = `${sentenceCase(nameOfType(type))} of ${formatAmount(amount, currency)}`;
  return nameOfCard === undefined ? what : `${what} ${type === 'load' ? 'to' : 'from'} ${nameOfCard}`;
}

/** The two ends of a transfer in words. */
export function endsOf(
  transfer: Pick<TransferRecord, 'type' | 'card_id' | 'destination_card_id'>,
  nameOfCard: (cardId: string) => string = (cardId) => cardId,
): {
  readonly source: string;
  readonly destination: string;
} {
  const funding = "the program's funding";
  const card = `the card ${nameOfCard(transfer.card_id)}`;
  if (transfer.type === 'load') return { source: funding, destination: card };
  const other = transfer.type === 'unload' ? funding : `the card ${nameOfCard(transfer.destination_card_id ?? '')}`;
  return { source: card, destination: other };
}

/** How long after its last change a transfer is still polled: its events are being delivered. */
const POLLED_AFTER_CHANGE_MILLISECONDS = 10 * 60_000;

/** Whether a transfer may still change soon, so that it is worth polling. */
export function mayChangeSoon(transfer: TransferRecord, now: number): boolean {
  if (transfer.outcome !== 'final') return true;
  return now - Date.parse(transfer.updated_at) < POLLED_AFTER_CHANGE_MILLISECONDS;
}

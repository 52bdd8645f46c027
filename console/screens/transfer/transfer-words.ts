import type { TransferRecord } from '../../../sdk/client.ts';
import { formatAmount } from '../../format/amounts.ts';
import { sentenceCase } from '../../format/names.ts';

export const ACTIONS = { capture: 'Capture', cancel: 'Cancel', reverse: 'Reverse' } as const;

export type TransferAction = keyof typeof ACTIONS;

/** The fields of a transfer that decide which actions it allows. */
type Acted = Pick<TransferRecord, 'status' | 'capture' | 'amount' | 'captured_amount' | 'reversed_amount'>;

/** Returns the actions that the status of a transfer allows. Only the processor can end a transfer at a processor. */
export function actionsFor(transfer: Acted, isAtProcessor = false): readonly TransferAction[] {
  if (isAtProcessor) return [];
  switch (transfer.status) {
    case 'scheduled':
      return ['cancel'];
    case 'pending':
      // The transfer waits for the card's processor, and only the processor can end it.
      return transfer.capture === 'automatic' ? [] : ['capture', 'cancel'];
    case 'completed':
      return leftOf(transfer, 'reverse') > 0 ? ['reverse'] : [];
    default:
      return [];
  }
}

/**
 * Returns the action that undoes a transfer, or undefined if none can now. If the money of the card is at a processor, a transfer
 * can only be undone before it has been sent there.
 */
export function undoOf(transfer: Acted, isAtProcessor = false): 'cancel' | 'reverse' | undefined {
  return actionsFor(transfer, isAtProcessor && transfer.status !== 'scheduled').find((action) => action !== 'capture');
}

/** Returns the largest amount that can be captured or reversed, in minor units. */
export function leftOf(transfer: Acted, action: 'capture' | 'reverse'): number {
  const { amount, captured_amount: captured, reversed_amount: reversed } = transfer;
  return action === 'capture' ? amount : captured - reversed;
}

const TYPES = { load: 'load', unload: 'unload', card_to_card: 'transfer' } as const;

/** Returns the name of a type of transfer: `load`, `unload`, `transfer`. */
export function nameOfType(type: TransferRecord['type']): string {
  return TYPES[type];
}

/** Returns the title of a transfer: `Load of 50.00 USD to Priya Raman ··4242`. Without a name it has only the amount. */
export function titleOf(
  { type, amount, currency }: Pick<TransferRecord, 'type' | 'amount' | 'currency'>,
  nameOfCard: string | undefined,
): string {
  const what = `${sentenceCase(nameOfType(type))} of ${formatAmount(amount, currency)}`;
  return nameOfCard === undefined ? what : `${what} ${type === 'load' ? 'to' : 'from'} ${nameOfCard}`;
}

/** Returns where the money of a transfer comes from and goes to, in words. */
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

/** How long a transfer is polled after its last change, because its events are still being delivered. */
const POLLED_AFTER_CHANGE_MILLISECONDS = 10 * 60_000;

/** Whether a transfer may change soon, so that polling it is useful. */
export function mayChangeSoon(transfer: TransferRecord, now: number): boolean {
  if (transfer.outcome !== 'final') return true;
  return now - Date.parse(transfer.updated_at) < POLLED_AFTER_CHANGE_MILLISECONDS;
}

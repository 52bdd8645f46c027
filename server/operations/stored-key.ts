import { hash } from 'node:crypto';
import { readsAsCardNumber } from '../../domain/cards/card-number.ts';

/**
 * An idempotency key as it is stored and looked up: as it was sent, or, when it has digits in it that could be a card
 * number, as its SHA-256 digest. Such a key is accepted, because a counter followed by the time in milliseconds has the
 * form of a card number in one case out of thirty; but no card number is ever stored readably.
 */
export function storedKeyOf(sent: string): string {
  return readsAsCardNumber(sent) ? `sha256:${hash('sha256', sent)}` : sent;
}

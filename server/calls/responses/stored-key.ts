import { hash } from 'node:crypto';
import { readsAsCardNumber } from '../../../domain/cards/card-number.ts';

// Invariant: Every version stores and looks up a key in the same form
// Tested by: `server/calls/responses/stored-key.test.ts`

/**
 * Returns the form of an idempotency key for storage and look-up. Usually, that is the key as sent. If the key contains digits that
 * could be a card number, it is the SHA-256 digest. Such a key is accepted, because a counter followed by the time in milliseconds
 * looks like a card number in one case out of thirty. But a card number is never stored in clear text.
 */
export function storedKeyOf(sent: string): string {
  return readsAsCardNumber(sent) ? `sha256:${hash('sha256', sent)}` : sent;
}

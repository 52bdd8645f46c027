import { hrefTo, navigate } from '../../data/location.ts';
import { hasCardNumber } from '../../format/card-numbers.ts';
import { pathOf } from '../../format/ids.ts';
import { isRequestId } from './hits.ts';

/** What is said instead of searching for a card number. */
export const CARD_NUMBER =
  'This looks like a card number. It was not sent. Search the last four digits, or the id of the card.';

/** What is wrong with a text to search for; undefined if it can be sent. */
export function problemOf(text: string): string | undefined {
  if (hasCardNumber(text)) return CARD_NUMBER;
  return text.trim().length > 255 ? 'Write at most 255 characters.' : undefined;
}

/** Searches for a text that can be sent: a request opens at once, anything else if it is the only hit. */
export function openSearch(text: string): void {
  const q = text.trim();
  const path = isRequestId(q) ? pathOf(q) : undefined;
  navigate(path === undefined ? hrefTo('/console/search', { q, open: '1' }) : hrefTo(path));
}

import { hrefTo, navigate } from '../../data/location.ts';
import { hasCardNumber } from '../../format/card-numbers.ts';
import { pathOf } from '../../format/ids.ts';
import { readWhen } from './when.ts';

/** Shown instead of searching for a card number. */
const CARD_NUMBER =
  'This looks like a card number. It was not sent. Search for the last four digits or the id of the card.';

/** Returns the problem with a search term, or undefined if it can be sent. */
export function problemOf(text: string): string | undefined {
  if (hasCardNumber(text)) return CARD_NUMBER;
  return text.trim().length > 255 ? 'Enter at most 255 characters.' : undefined;
}

export const LABEL = 'Name, id, reference, card, last four digits, amount or error code';

/** Shorter terms match too many names. */
const MIN_LENGTH = 3;

/** A short amount matches no names: `75`. */
const SHORT_AMOUNT = /^[1-9]\d$/;

/** Long runs of digits. A half-typed card number has no valid check digit, but must not be sent either. */
const LONG_DIGITS = /\d(?:[ -]?\d){6,}/;

/** Whether a search term can be sent while it is being typed. */
export function isSearchable(text: string): boolean {
  const plain = text.replaceAll(/\b[a-z]+_[0-9a-f]*|\b\d{4}-\d\d-\d\d\b/g, '');
  const isLong = text.length >= MIN_LENGTH || SHORT_AMOUNT.test(text);
  return isLong && problemOf(text) === undefined && !LONG_DIGITS.test(plain);
}

/**
 * The screens of requests find successful and failed requests. The screens of cases and incidents also work for callers who can't
 * search. A search does not find breaks and settlement files.
 */
const WITH_SCREEN = /^(?:req|case|inc|brk|stl)_[0-9a-f]{32}$/;

/** Returns the link to the results of a search. */
export function hrefOfSearch(text: string): string {
  const { q, from, to } = readWhen(text, Date.now());
  return hrefTo('/console/search', { q, from, to, period: from === '' ? '' : 'exact' });
}

/** Runs a search. A request, a case, an incident, a break or a settlement file opens at once, as does any other single hit. */
export function openSearch(text: string): void {
  const q = text.trim();
  const path = WITH_SCREEN.test(q) ? pathOf(q) : undefined;
  navigate(path === undefined ? `${hrefOfSearch(q)}&open=1` : hrefTo(path));
}

/** The pause in typing after which a search is sent. */
export const DEBOUNCE_MILLISECONDS = 300;

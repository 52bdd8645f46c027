import { useEffect, useState } from 'preact/hooks';
import type { SearchQuery, SearchResults } from '../../../sdk/client.ts';
import { hrefTo, navigate } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { type OperationState, useOperation } from '../../data/use-operation.ts';
import { hasCardNumber } from '../../format/card-numbers.ts';
import { pathOf } from '../../format/ids.ts';
import { type Group, type Hit, pathOfHit } from './hits.ts';
import { searchOwnProgram } from './search-own-program.ts';
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
 * search. A search does not find breaks, settlement files, move-ins and comparisons.
 */
const WITH_SCREEN = /^(?:req|case|inc|brk|stl|mvi|cmp)_[0-9a-f]{32}$/;

/** Returns the link to the results of a search. */
export function hrefOfSearch(text: string): string {
  const { q, from, to } = readWhen(text, Date.now());
  return hrefTo('/console/search', { q, from, to, period: from === '' ? '' : 'exact' });
}

/** Runs a search. The id of a record with {@link WITH_SCREEN} opens at once, as does any other single hit. */
export function openSearch(text: string): void {
  const q = text.trim();
  const path = WITH_SCREEN.test(q) ? pathOf(q) : undefined;
  navigate(path === undefined ? `${hrefOfSearch(q)}&open=1` : hrefTo(path));
}

/** The pause in typing after which a search is sent. */
export const DEBOUNCE_MILLISECONDS = 300;

/** Returns the link to a hit, in the card program of the hit. */
export function hrefOfHit(kind: Group['kind'], hit: Hit): string | undefined {
  const path = pathOfHit(kind, hit);
  if (path === undefined || !path.startsWith('/console/')) return path;
  return hrefTo(path, hit.program_id === null ? {} : { program: hit.program_id });
}

/** Searches every card program for operators, or the caller's card program for others. Without a query nothing is sent. */
export function useFound(query: SearchQuery | undefined): OperationState<SearchResults> {
  const { has } = useSession();
  const isOperator = has('operator:read');
  const scopes = {
    transfers: has('transfers:read'),
    cards: has('cards:read'),
    errors: has('errors:read'),
    events: has('events:read'),
  };
  return useOperation(
    query === undefined
      ? undefined
      : (api, options) =>
          isOperator ? api.search.find(query, options) : searchOwnProgram(api, options, query, scopes),
    // The search of one program tries to read records of several kinds, and most of them don't exist.
    { deps: [JSON.stringify(query), isOperator], isOwn: !isOperator },
  );
}

/** Returns the typed text once typing has paused for a moment. */
export function useDebounced(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(text), DEBOUNCE_MILLISECONDS);
    return () => window.clearTimeout(timer);
  }, [text]);
  return settled;
}

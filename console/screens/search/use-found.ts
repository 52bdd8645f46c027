import { useEffect, useState } from 'preact/hooks';
import type { SearchQuery, SearchResults } from '../../../sdk/client.ts';
import { useSession } from '../../data/session.ts';
import { type OperationState, useOperation } from '../../data/use-operation.ts';
import { searchOwnProgram } from './search-own-program.ts';

/** Searches all card programs for operators, their own for everybody else. Without a query nothing is sent. */
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
          isOperator ? api.search.find(query, options) : searchOwnProgram(api, options, query.q, scopes),
    // It tries several kinds of ids, most of which do not exist.
    { deps: [JSON.stringify(query), isOperator], isOwn: !isOperator },
  );
}

/** Not every letter starts a search. */
export const DEBOUNCE_MILLISECONDS = 300;

/** A text once nothing has been typed for a moment. */
export function useDebounced(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(text), DEBOUNCE_MILLISECONDS);
    return () => window.clearTimeout(timer);
  }, [text]);
  return settled;
}

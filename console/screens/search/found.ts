import { useEffect, useState } from 'preact/hooks';
import type { SearchQuery, SearchResults } from '../../../sdk/client.ts';
import { hrefTo } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { type OperationState, useOperation } from '../../data/use-operation.ts';
import { type Group, type Hit, pathOfHit } from './hits.ts';
import { DEBOUNCE_MILLISECONDS } from './search.ts';
import { searchOwnProgram } from './search-own-program.ts';

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

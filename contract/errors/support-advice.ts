import type { ErrorDefinition, SupportAdvice } from '../error.ts';

/** The problems of a request that names a record which does not exist. */
const NOT_FOUND: ReadonlySet<string> = new Set<ErrorDefinition['problem']>([
  'A card, a transfer or a reversal',
  'A card program or a key',
  'A request, an error or an event',
  'A case or an incident',
  'A connector, an attempt or a break',
  'A settlement file',
]);

/**
 * The advice for support about an error. Most errors that the caller can resolve are mistakes of the calling software, so the
 * customer's developers need the meaning and the resolution. All other definitions have their own advice.
 */
export function supportAdvice({ support, meaning, resolution, status, problem }: ErrorDefinition): SupportAdvice {
  const tell = support?.tell ?? `${meaning} ${resolution}`;
  return { tell, next: support?.next ?? (status === 404 && NOT_FOUND.has(problem) ? SEARCH : CORRECT) };
}

const SEARCH =
  'Search for the id in the request: it may be misspelled, or belong to a different card program. Ask the customer which ' +
  'record they mean.';

const CORRECT = "Ask the customer's developers to correct the request. There is nothing to change on our side.";

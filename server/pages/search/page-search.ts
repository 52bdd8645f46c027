import { errorEntries } from '../../../contract/search/error-entries.ts';
import { type ErrorHit, errorSearch } from '../../../contract/search/error-search.ts';
import { type EntryKind, type Found, nearest, SearchIndex } from '../../../contract/search/search-index.ts';
import { pageEntries } from './search-entries.ts';

/** The search of the pages. */
export type PageSearch = {
  readonly errors: (query: string) => readonly ErrorHit[];
  /** All entries except errors, best first; in live mode, without those of the sandbox. */
  readonly others: (query: string, mode: 'sandbox' | 'live') => readonly Found[];
};

let made: Promise<PageSearch> | undefined;

/** The search over everything. Its index is built once, at the first search, because many services are never searched. */
export function pageSearch(): Promise<PageSearch> {
  if (made === undefined) {
    made = make();
    // After a failure, the next search tries again.
    made.catch(() => {
      made = undefined;
    });
  }
  return made;
}

async function make(): Promise<PageSearch> {
  const errors = errorEntries();
  const index = await SearchIndex.inTurns([...errors, ...(await pageEntries())]);
  const entryOf = new Map<object, (typeof errors)[number]>(errors.map((entry) => [entry, entry]));
  const find = (text: string) =>
    index
      .find(text, ({ kind }) => kind === 'error')
      .flatMap((found) => {
        const entry = entryOf.get(found.entry);
        return entry === undefined ? [] : [{ ...found, entry }];
      });
  return {
    errors: errorSearch(errors, find),
    others: (query, mode) =>
      index.find(query, ({ kind, isOfSandbox }) => kind !== 'error' && (mode === 'sandbox' || isOfSandbox !== true)),
  };
}

/** The results of one kind whose scores are close to the best of that kind. */
export function nearestOf(found: readonly Found[], kind: EntryKind): readonly Found[] {
  return nearest(found.filter(({ entry }) => entry.kind === kind));
}

import { ERRORS, FAMILY_PATTERNS } from '../../../contract/errors/catalogue.ts';
import { type ErrorHit, FAMILY_MEANINGS } from '../../../contract/search/error-search.ts';
import type { EntryKind, Found } from '../../../contract/search/search-index.ts';
import { nearestOf, pageSearch } from './page-search.ts';

/** A result of `/search.json`. */
type SearchRecord = {
  readonly kind: EntryKind;
  readonly name: string;
  /** The page that explains it, with the anchor of the section. */
  readonly path: string;
  readonly summary: string;
};

type Scored = { readonly record: SearchRecord; readonly score: number };

/** Maximum results of each kind. */
const MAX_OF_KIND = 5;

/** Returns what the search page finds, as data: the kinds with the best results first. */
export async function searchData(
  query: string,
  mode: 'sandbox' | 'live',
): Promise<{ readonly data: readonly SearchRecord[] }> {
  if (query.trim() === '') return { data: [] };
  const search = await pageSearch();
  const others = search.others(query, mode);
  const groups = [
    search.errors(query).map(errorResult),
    ...(['operation', 'field', 'event', 'guide'] as const).map((kind) => nearestOf(others, kind).map(result)),
  ];
  const best = ([first]: readonly Scored[]): number => first?.score ?? 0;
  const sorted = groups.toSorted((left, right) => best(right) - best(left));
  return { data: sorted.flatMap((group) => group.slice(0, MAX_OF_KIND).map(({ record }) => record)) };
}

function result({ entry: { kind, name, path, summary }, score }: Found): Scored {
  return { record: { kind, name, path, summary }, score };
}

function errorResult({ code, cause, family, score }: ErrorHit): Scored {
  const about = family === undefined ? ERRORS[code].meaning : FAMILY_MEANINGS[family.kind];
  const record = {
    kind: 'error',
    name: family === undefined ? code : FAMILY_PATTERNS[family.kind],
    path: `/errors/${code}`,
    summary: cause === undefined ? about : `${about} ${cause}`,
  } as const;
  return { record, score };
}

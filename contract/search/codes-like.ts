import MiniSearch from 'minisearch';

/** More suggestions would not help. */
const MAX_SUGGESTED = 3;

/** The given names that may have been meant by a name that was written, most likely first. */
export function codesLike<Code extends string>(written: string, names: readonly Code[]): readonly Code[] {
  const index = new MiniSearch<{ readonly id: Code; readonly whole: string; readonly words: string }>({
    fields: ['whole', 'words'],
    searchOptions: { boost: { whole: 5 }, fuzzy: 0.34, prefix: true },
  });
  // Indexed as separate words and as one word, to match `card-closed`, `CardClosed` and `card_closd`.
  index.addAll(names.map((id) => ({ id, whole: id.replaceAll('_', ''), words: id.replaceAll('_', ' ') })));
  const together = written.replaceAll(/[^\p{L}\p{N}]/gu, '');
  const hits = index.search(`${together} ${written.replaceAll(/[^\p{L}\p{N}]+/gu, ' ')}`.slice(0, 200));
  const [best] = hits;
  const near = hits.filter(({ score }) => best !== undefined && score >= best.score / 2);
  return near.slice(0, MAX_SUGGESTED).flatMap(({ id }) => names.find((name) => name === id) ?? []);
}

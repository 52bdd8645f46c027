import MiniSearch from 'minisearch';

/** More than these are no help. */
const MAX_SUGGESTED = 3;

/** The names among those given that somebody may have meant who wrote another, the likeliest first. */
export function codesLike<Code extends string>(written: string, names: readonly Code[]): readonly Code[] {
  const index = new MiniSearch<{ readonly id: Code; readonly whole: string; readonly words: string }>({
    fields: ['whole', 'words'],
    searchOptions: { boost: { whole: 5 }, fuzzy: 0.34, prefix: true },
  });
  // Once with the words apart, and once together: `card-closed`, `CardClosed` and `card_closd` are all meant.
  index.addAll(names.map((id) => ({ id, whole: id.replaceAll('_', ''), words: id.replaceAll('_', ' ') })));
  const together = written.replaceAll(/[^\p{L}\p{N}]/gu, '');
  const hits = index.search(`${together} ${written.replaceAll(/[^\p{L}\p{N}]+/gu, ' ')}`.slice(0, 200));
  const [best] = hits;
  const near = hits.filter(({ score }) => best !== undefined && score >= best.score / 2);
  return near.slice(0, MAX_SUGGESTED).flatMap(({ id }) => names.find((name) => name === id) ?? []);
}

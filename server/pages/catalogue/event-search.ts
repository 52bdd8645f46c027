import { EVENT_CATALOGUE } from '../../../contract/events/catalogue.ts';
import { EVENT_TYPES, type EventType } from '../../../domain/event.ts';

/** Longer than what people type or paste to find an event. */
const MAX_QUERY_CHARACTERS = 1_000;
const MAX_WORDS = 40;

const STOP_WORDS: ReadonlySet<string> = new Set(
  'a an and are as at be by for from has have how if in is it of on or that the to was what when which with'.split(' '),
);

type Indexed = {
  readonly type: EventType;
  /** The texts of an entry in lower case, and the weight of a match there. */
  readonly parts: readonly { readonly weight: number; readonly words: readonly string[] }[];
};

const INDEX: readonly Indexed[] = EVENT_TYPES.map((type) => {
  const { summary, sent, notes, data, sample, operation = '' } = EVENT_CATALOGUE[type];
  return {
    type,
    parts: [
      { weight: 20, words: [type] },
      { weight: 10, words: wordsOf(type) },
      { weight: 5, words: wordsOf(summary) },
      { weight: 3, words: wordsOf([...sent, operation].join(' ')) },
      { weight: 2, words: wordsOf([...notes, sample.reproduce].join(' ')) },
      { weight: 1, words: Object.keys(data.properties) },
    ],
  };
});

/** The types that contain all words of a query, best first; if none does, those that contain some of them. */
export function searchEventTypes(query: string): { readonly hits: readonly EventType[]; readonly isExact: boolean } {
  const all = [...new Set(wordsOf(query.slice(0, MAX_QUERY_CHARACTERS)))].slice(0, MAX_WORDS);
  const significant = all.filter((word) => !STOP_WORDS.has(word));
  const words = significant.length > 0 ? significant : all;
  const scored = INDEX.map((entry) => {
    const weights = words.map((word) => weightIn(entry, word));
    const score = weights.reduce((sum, weight) => sum + weight, 0);
    return { type: entry.type, score, hasAll: words.length > 0 && weights.every((weight) => weight > 0) };
  }).sort((left, right) => right.score - left.score);
  const exact = scored.filter(({ hasAll }) => hasAll);
  const best = scored[0]?.score ?? 0;
  const near = scored.filter(({ score }) => score > 0 && score >= best / 2);
  return { isExact: exact.length > 0, hits: (exact.length > 0 ? exact : near).map(({ type }) => type) };
}

function weightIn({ parts }: Indexed, word: string): number {
  const whole = parts.find(({ words }) => words.includes(word))?.weight ?? 0;
  if (word.length <= 2) return whole;
  // The beginning of a word is less: `hold` also begins `holder`.
  const begun = parts.find(({ words }) => words.some((known) => known.startsWith(word)))?.weight ?? 0;
  return Math.max(whole, begun / 4);
}

/** Words, and what they are made of: `transfer.failed` and `card_id` are found by either part. */
function wordsOf(text: string): readonly string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+(?:\.[\p{L}\p{N}_]+)*/gu) ?? [];
  return [...words, ...words.filter((word) => word.includes('.')).flatMap((word) => word.split('.'))];
}

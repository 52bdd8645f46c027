import { ERROR_CODES, ERRORS } from '../../contract/errors/catalogue.ts';
import { exampleRecord } from '../../contract/errors/examples.ts';
import type { ErrorCode } from '../../contract/operations.ts';

/** The result of a search. */
export type SearchResult = {
  readonly hits: readonly SearchHit[];
  /** Whether each hit contains all words. If not, no code does, and these are the best matches. */
  readonly isExact: boolean;
};

/** One code in the result. */
export type SearchHit = {
  readonly code: ErrorCode;
  /** The cause that matches, if the code and its meaning do not show why it was found. */
  readonly cause: string | undefined;
};

type Indexed = {
  readonly code: ErrorCode;
  /** The words of each part of an entry, and the weight of a match there. */
  readonly parts: readonly { readonly weight: number; readonly words: ReadonlySet<string> }[];
};

/** Longer than any error record, the longest text that people paste. */
const MAX_QUERY_CHARACTERS = 1_000;
const MAX_WORDS = 40;

/** A complete code in a pasted record weighs more than all the words of its message. */
const CODE_WEIGHT = 50;

const STOP_WORDS: ReadonlySet<string> = new Set(
  'a an and are as at be but by can for from has have i if in is it its not of on or so than that the there this to was what which with you your'.split(
    ' ',
  ),
);

const INDEX: readonly Indexed[] = ERROR_CODES.map((code) => {
  const { status, type, meaning, causes, resolution, sample } = ERRORS[code];
  const { Message } = exampleRecord(code, '');
  return {
    code,
    parts: [
      { weight: CODE_WEIGHT, words: new Set([code]) },
      { weight: 8, words: new Set([String(status)]) },
      { weight: 8, words: new Set(code.split('_')) },
      { weight: 5, words: wordsOf(meaning) },
      { weight: 5, words: wordsOf(Message) },
      { weight: 3, words: wordsOf(causes.join(' ')) },
      { weight: 2, words: wordsOf(`${type} ${resolution} ${sample.reproduce}`) },
    ],
  };
});

/**
 * Codes that match a code, a status, words, a message or a complete record, best first. All words must match; if no code
 * matches all of them, the codes that match the rarest words are returned.
 */
export function searchCatalogue(query: string): SearchResult {
  const all = [...wordsOf(query.slice(0, MAX_QUERY_CHARACTERS))].slice(0, MAX_WORDS);
  const significant = all.filter((word) => word.length > 1 && !STOP_WORDS.has(word));
  const words = significant.length > 0 ? significant : all;
  const weights = words.map((word) => INDEX.map((entry) => weightIn(entry, word)));
  const rarity = weights.map((ofWord) => Math.log(1 + INDEX.length / Math.max(1, ofWord.filter(Boolean).length)));
  const scored = INDEX.map(({ code }, at) => {
    const score = weights.reduce((sum, ofWord, word) => sum + (ofWord[at] ?? 0) * (rarity[word] ?? 0), 0);
    return { code, score, hasAll: words.length > 0 && weights.every((ofWord) => ofWord[at] !== 0) };
  }).sort((left, right) => right.score - left.score);
  const exact = scored.filter(({ hasAll }) => hasAll);
  const best = scored[0]?.score ?? 0;
  const near = scored.filter(({ score }) => score > 0 && score >= best / 2);
  const hits = exact.length > 0 ? exact : near;
  return { isExact: exact.length > 0, hits: hits.map(({ code }) => ({ code, cause: matchingCause(code, words) })) };
}

/** The id of a request in the query: people also search for the id that they are asked to quote. */
export function requestIdIn(query: string): string | undefined {
  return /\breq_[0-9a-f]{32}\b/.exec(query.slice(0, MAX_QUERY_CHARACTERS))?.[0];
}

function weightIn({ parts }: Indexed, word: string): number {
  return parts.find(({ words }) => words.has(word) || (word.length > 2 && hasBeginning(words, word)))?.weight ?? 0;
}

function hasBeginning(words: ReadonlySet<string>, beginning: string): boolean {
  for (const word of words) if (word.startsWith(beginning)) return true;
  return false;
}

function matchingCause(code: ErrorCode, words: readonly string[]): string | undefined {
  const { meaning, causes } = ERRORS[code];
  const shown = new Set([...wordsOf(meaning), ...code.split('_'), code, String(ERRORS[code].status)]);
  const hidden = words.filter((word) => !hasBeginning(shown, word));
  return causes.find((cause) => hidden.some((word) => hasBeginning(wordsOf(cause), word)));
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []);
}

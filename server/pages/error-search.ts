import { ERRORS } from '../../contract/errors/catalogue.ts';
import { exampleRecord } from '../../contract/errors/examples.ts';
import { ERROR_CODES, type ErrorCode } from '../../domain/error-codes.ts';

/** What a search of the catalogue came to. */
export type SearchResult = {
  readonly hits: readonly SearchHit[];
  /** Whether each hit has all the words; if not, no code has, and these are the ones that fit best. */
  readonly isExact: boolean;
};

/** One code that was found. */
export type SearchHit = {
  readonly code: ErrorCode;
  /** The cause that fits best, where the code and its meaning alone would not show why it was found. */
  readonly cause: string | undefined;
};

type Indexed = {
  readonly code: ErrorCode;
  /** Words of one part of an entry, and how much it means that a word stands there. */
  readonly parts: readonly { readonly weight: number; readonly words: ReadonlySet<string> }[];
};

/** Longer than any record, which is the longest thing that anyone pastes. */
const QUERY_MOST = 1_000;
const WORDS_MOST = 40;

/** A whole code or status in a pasted record says more than all the words of its message. */
const WHOLE = 50;

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
      { weight: WHOLE, words: new Set([code]) },
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
 * Codes that fit what somebody typed or pasted: a code, a status, words, a message, or a whole record. Best first; all
 * words must fit, and where no code has all of them, those count that have the rarest.
 */
export function searchCatalogue(query: string): SearchResult {
  const all = [...wordsOf(query.slice(0, QUERY_MOST))].slice(0, WORDS_MOST);
  const telling = all.filter((word) => word.length > 1 && !STOP_WORDS.has(word));
  const words = telling.length > 0 ? telling : all;
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
  return { isExact: exact.length > 0, hits: hits.map(({ code }) => ({ code, cause: tellingCause(code, words) })) };
}

/** The id of a request in what was typed: people search for what support asked them to quote. */
export function requestIdIn(query: string): string | undefined {
  return /\breq_[0-9a-f]{32}\b/.exec(query.slice(0, QUERY_MOST))?.[0];
}

function weightIn({ parts }: Indexed, word: string): number {
  return parts.find(({ words }) => words.has(word) || (word.length > 2 && hasBeginning(words, word)))?.weight ?? 0;
}

function hasBeginning(words: ReadonlySet<string>, beginning: string): boolean {
  for (const word of words) if (word.startsWith(beginning)) return true;
  return false;
}

function tellingCause(code: ErrorCode, words: readonly string[]): string | undefined {
  const { meaning, causes } = ERRORS[code];
  const shown = new Set([...wordsOf(meaning), ...code.split('_'), code, String(ERRORS[code].status)]);
  const hidden = words.filter((word) => !hasBeginning(shown, word));
  return causes.find((cause) => hidden.some((word) => hasBeginning(wordsOf(cause), word)));
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []);
}

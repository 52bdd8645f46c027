import type { ErrorCode } from '../../operations.ts';
import { type CodeFamily, ERROR_CODES, ERRORS, familyOf, isErrorCode } from '../catalogue.ts';
import { groupOf, type Phrase, searchIndex, templateOf, withoutValues } from './search-index.ts';
import { stemsIn, typosBetween } from './search-words.ts';

/** The result of a search. */
export type SearchResult = {
  readonly hits: readonly SearchHit[];
  /** Whether each hit contains all words. If not, no code does, and these are the best matches. */
  readonly isExact: boolean;
};

/** One code in the result, or a family of codes. */
export type SearchHit = {
  /** Of a family, the code that fits best. */
  readonly code: ErrorCode;
  /** The cause that matches, if the code and its meaning do not show why it was found. */
  readonly cause: string | undefined;
  /** Set where it stands for codes of a family, of which there is one for each operation. */
  readonly family: FoundFamily | undefined;
};

/** The codes of a family that were found. */
export type FoundFamily = {
  readonly kind: CodeFamily['kind'];
  /** Best first. */
  readonly codes: readonly ErrorCode[];
};

/** Longer than any error record with its support contact, the longest text that people paste. */
const MAX_QUERY_CHARACTERS = 1_000;
const MAX_WORDS = 40;

/** More than any words can score: the query is a code, or contains it as records and log lines do. */
const NAMED = 20;
/** The query contains a whole message of the code. */
const QUOTED = 10;

/** A text that names more codes than this lists them, and is about something else. */
const MAX_NAMED = 4;

/** The query names the operation of a code of a family. */
const OF_OPERATION = 0.5;

/** A word that begins with what was typed, and one that was probably mistyped, say less than the word itself. */
const BEGUN = 0.8;
const MISTYPED = 0.6;

/** How much it counts that the words of the query are in a phrase, that those of the phrase are in the query, and a word as such. */
const IN_PHRASE = 0.55;
const IN_QUERY = 0.45;
const SHARE = 0.6;

/** Letters from which on a message says which code it is of. */
const MIN_QUOTE = 9;

/** Of the best score: what scores less is not shown. */
const NEAR = 0.45;

/** A word of the query, and the known words that it can stand for. */
type Sought = {
  readonly weight: number;
  /** By known word: 1 for the word itself. */
  readonly stems: ReadonlyMap<string, number>;
};

/**
 * Codes that match a code, a status, words, a message or a complete record, best first. Codes that have all words come alone;
 * if the best one does not have them, those that have some.
 */
export function searchCatalogue(query: string): SearchResult {
  const text = query.slice(0, MAX_QUERY_CHARACTERS);
  const names = namesIn(text);
  const listed = names.filter(isErrorCode);
  const named = listed.length > MAX_NAMED ? [] : listed;
  const sought = soughtIn(text);
  const { scores, missing } = scoresOf(sought);
  const quotes = quotesIn(text);
  const scored = ERROR_CODES.map((code, at) => {
    const place = named.indexOf(code);
    const quoted = quotes.get(code);
    const quote = quoted === undefined ? 0 : QUOTED + quoted / 1_000;
    const operation = names.includes(familyOf(code)?.operation ?? '') ? OF_OPERATION : 0;
    const score = (scores[at] ?? 0) + quote + operation + (place === -1 ? 0 : NAMED - place);
    return { code, score, hasAll: place !== -1 || missing[at] === 0 };
  })
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score || reachOf(right.code) - reachOf(left.code));
  const [best] = scored;
  const near = scored.filter(({ score }) => score >= (best?.score ?? 0) * NEAR);
  const hits = best?.hasAll === true ? near.filter(({ hasAll }) => hasAll) : near;
  return {
    isExact: best?.hasAll === true,
    hits: folded(
      hits.map(({ code }) => code),
      named,
      sought,
    ),
  };
}

/** The id of a request in the query: people also search for the id that they are asked to quote. */
export function requestIdIn(query: string): string | undefined {
  return /\breq_[0-9a-f]{32}\b/.exec(query.slice(0, MAX_QUERY_CHARACTERS))?.[0];
}

/**
 * Names of codes and operations as they are written in records and log lines, in their order. What a message quotes is a
 * value, such as the id of a card.
 */
function namesIn(text: string): readonly string[] {
  const namesOf = (of: string) => of.toLowerCase().match(/[a-z0-9]+(?:_[a-z0-9]+)+|[a-z]+/g) ?? [];
  const names = namesOf(withoutValues(text));
  return [...new Set(names.length > 0 ? names : namesOf(text))];
}

function soughtIn(text: string): readonly Sought[] {
  const plain = stemsIn(withoutValues(text));
  return (plain.length > 0 ? plain : stemsIn(text)).slice(0, MAX_WORDS).map(soughtAs);
}

function soughtAs(stem: string): Sought {
  const { weightOf } = searchIndex();
  const stems = new Map<string, number>();
  if (weightOf.has(stem)) stems.set(stem, 1);
  for (const known of weightOf.keys()) {
    if (stem.length > 2 && known !== stem && known.startsWith(stem)) stems.set(known, BEGUN);
  }
  if (stems.size === 0) {
    for (const known of weightOf.keys()) {
      const typos = typosBetween(stem, known);
      if (typos !== undefined) stems.set(known, MISTYPED / typos);
    }
  }
  const weight = Math.max(0, ...[...stems.keys()].map((known) => weightOf.get(known) ?? 0));
  return { weight: weightOf.get(stem) ?? weight, stems };
}

const PLACES: ReadonlyMap<ErrorCode, number> = new Map(ERROR_CODES.map((code, at) => [code, at]));

/**
 * By the place of each code: its score, and how many words it does not have. A code is worth what its best phrase is, which
 * is how much of the query is in the phrase, and of the phrase in the query; and a little for every word, wherever it is.
 */
function scoresOf(sought: readonly Sought[]): { readonly scores: Float64Array; readonly missing: Uint8Array } {
  const { phrasesWith } = searchIndex();
  const known = sought.filter(({ stems }) => stems.size > 0);
  const whole = known.reduce((sum, { weight }) => sum + weight, 0);
  const matched = new Map<Phrase, number>();
  const shares = new Float64Array(ERROR_CODES.length);
  const missing = new Uint8Array(ERROR_CODES.length).fill(sought.length);
  for (const { weight, stems } of known) {
    const [inPhrases, inCodes] = [new Map<Phrase, number>(), new Map<number, number>()];
    for (const [stem, quality] of stems) {
      for (const phrase of phrasesWith.get(stem) ?? []) keepMost(inPhrases, phrase, quality);
    }
    for (const [phrase, quality] of inPhrases) {
      matched.set(phrase, (matched.get(phrase) ?? 0) + quality * weight);
      for (const code of phrase.codes) keepMost(inCodes, PLACES.get(code) ?? 0, quality);
    }
    for (const [place, quality] of inCodes) {
      shares[place] = (shares[place] ?? 0) + (SHARE * quality * weight) / whole;
      missing[place] = (missing[place] ?? 0) - 1;
    }
  }
  const best = new Float64Array(ERROR_CODES.length);
  for (const [phrase, sum] of matched) {
    const likeness = phrase.weight * (IN_PHRASE * (sum / whole) + IN_QUERY * Math.min(1, sum / phrase.total));
    for (const code of phrase.codes) {
      const place = PLACES.get(code) ?? 0;
      best[place] = Math.max(best[place] ?? 0, likeness);
    }
  }
  return { scores: best.map((score, place) => score + (shares[place] ?? 0)), missing };
}

function keepMost<Key>(map: Map<Key, number>, key: Key, value: number): void {
  if (value > (map.get(key) ?? 0)) map.set(key, value);
}

/** The places of codes whose message the text contains, with its length: one message can contain another. */
function quotesIn(text: string): ReadonlyMap<ErrorCode, number> {
  const template = templateOf(text);
  const quotes = new Map<ErrorCode, number>();
  for (const { codes, template: message = '' } of searchIndex().phrases) {
    if (message.length < MIN_QUOTE || !template.includes(message)) continue;
    for (const code of codes) keepMost(quotes, code, message.length);
  }
  return quotes;
}

/** Of codes that fit alike, such as those of a status, the one comes first that more operations have. */
function reachOf(code: ErrorCode): number {
  return searchIndex().reachOf.get(groupOf(code)) ?? 0;
}

/** The codes of a family become one hit, at the place of the best one; a code that the query names is a hit of its own. */
function folded(
  codes: readonly ErrorCode[],
  named: readonly ErrorCode[],
  sought: readonly Sought[],
): readonly SearchHit[] {
  const ofGroup = Map.groupBy(codes, (code) => (named.includes(code) ? code : groupOf(code)));
  return [...ofGroup.values()].flatMap((members) => {
    const [code] = members;
    // Whoever names one code of a family does not want the others.
    if (code === undefined || (!named.includes(code) && named.some((one) => groupOf(one) === groupOf(code)))) return [];
    const kind = named.includes(code) ? undefined : familyOf(code)?.kind;
    const family = kind === undefined ? undefined : { kind, codes: members };
    return [{ code, cause: matchingCause(code, sought), family }];
  });
}

function matchingCause(code: ErrorCode, sought: readonly Sought[]): string | undefined {
  const { meaning, causes, status } = ERRORS[code];
  const shown = new Set([...stemsIn(`${code} ${meaning}`), String(status)]);
  const isIn = (stems: ReadonlySet<string>) => (word: Sought) => [...word.stems.keys()].some((stem) => stems.has(stem));
  const hidden = sought.filter((word) => !isIn(shown)(word));
  return causes.find((cause) => hidden.some(isIn(new Set(stemsIn(cause)))));
}

import MiniSearch from 'minisearch';
import {
  type CodeFamily,
  ERROR_CODES,
  ERRORS,
  FAMILY_PATTERNS,
  familyCodes,
  familyOf,
  isErrorCode,
  operationsWith,
} from '../errors/catalogue.ts';
import { type ErrorCode, OPERATION_IDS } from '../operations.ts';
import { KNOWN_MESSAGES } from './known-messages.ts';
import {
  type EntryText,
  type Found,
  MAX_QUERY_CHARACTERS,
  nearest,
  type SearchEntry,
  SearchIndex,
} from './search-index.ts';
import { templateOf, withoutValues } from './words.ts';

/** One code in a result, or a family of codes. */
export type ErrorHit = {
  /** The code; of a family, the best match. */
  readonly code: ErrorCode;
  /** The matching cause, if the hit is a cause. */
  readonly cause: string | undefined;
  /** Set if the hit is a family of codes, one for each operation. */
  readonly family: FoundFamily | undefined;
  readonly score: number;
  readonly hasAll: boolean;
};

/** The codes of a family, best match first. */
export type FoundFamily = { readonly kind: CodeFamily['kind']; readonly codes: readonly ErrorCode[] };

/** Finds error codes. */
export type ErrorSearch = (query: string) => readonly ErrorHit[];

/** The score of a code that the query contains, far above the score of any words. */
const NAMED = 1_000_000;
/** The score of each character of a message that the query quotes, above the score of any words. */
const QUOTED = 10_000;

/** A text with more codes than this is a list of codes, and not about one of them. */
const MAX_NAMED = 4;

/** Minimum length of a message that finds its code. */
const MIN_QUOTE = 9;
/** Minimum length of the beginning of a message that finds its code. */
const MIN_BEGINNING = 24;

/** Minimum length of a query that may be the beginning of a code. */
const MIN_PREFIX = 5;

let made: ErrorSearch | undefined;

/** Finds only error codes. The command line uses it. The first search builds the index. */
export function searchErrors(query: string): readonly ErrorHit[] {
  if (made === undefined) {
    const entries = errorEntries();
    const index = SearchIndex.of(entries);
    made = errorSearch(entries, (text) => index.find(text));
  }
  return made(query);
}

/**
 * Finds the codes that match a query, best first. The query can be a code, a status, words, a message or a complete record. A code
 * or a message in the query is looked up. The search for words, `find`, handles everything else.
 */
export function errorSearch(
  entries: readonly ErrorEntry[],
  find: (text: string) => readonly Found<ErrorEntry>[],
): ErrorSearch {
  return (query) => {
    const text = query.slice(0, MAX_QUERY_CHARACTERS);
    const named = codesIn(text);
    const plain = withoutValues(text);
    const found = find(/\p{L}|\p{N}/u.test(plain) ? plain : text);
    const quoted = quotesIn(entries, text);
    const operations = new Set(text.match(/[a-z]+(?:_[a-z]+)*/g));
    const scored = entries.map((entry): ErrorHit & { readonly entry: ErrorEntry } => {
      const hit = found.find((one) => one.entry === entry);
      const quote = quoted.get(entry);
      const best = entry.codes.filter(
        (code) => code === quote?.code || operations.has(familyOf(code)?.operation ?? ''),
      );
      const codes = [...new Set([...best, ...entry.codes])];
      const [code = 'unknown_request'] = codes;
      return {
        entry,
        code,
        cause: hit?.shown,
        family: entry.family && { kind: entry.family, codes },
        score: (hit?.score ?? 0) + (quote === undefined ? 0 : QUOTED * quote.length),
        hasAll: hit?.hasAll === true || quote !== undefined,
      };
    });
    // A query with one code of a family is not about its other codes.
    const own = named.map((code, at): ErrorHit => {
      const hit = scored.find(({ entry }) => entry.codes.includes(code));
      return { code, cause: hit?.cause, family: undefined, score: NAMED - at, hasAll: true };
    });
    const others = scored.filter(({ score, entry }) => score > 0 && !entry.codes.some((code) => named.includes(code)));
    const all = [...own, ...others].toSorted((left, right) => right.score - left.score);
    return matchingPrefixFirst(nearest(all), entries, bare(text));
  };
}

/**
 * Moves the codes that begin with the query to the front, because someone who types `insufficient` is about to type a code.
 * Another name of an error, such as `incident`, is not the beginning of a code.
 */
function matchingPrefixFirst(
  hits: readonly ErrorHit[],
  entries: readonly ErrorEntry[],
  typed: string,
): readonly ErrorHit[] {
  if (typed.length < MIN_PREFIX || entries.some(({ texts }) => texts.some(({ text }) => text === typed))) return hits;
  const prefix = typed.replaceAll(/[\s-]+/g, '_');
  const hasPrefix = ({ code, family }: ErrorHit) => family === undefined && code.startsWith(prefix);
  return [...hits.filter(hasPrefix), ...hits.filter((hit) => !hasPrefix(hit))];
}

/** The id of a request in the query: people also search for the id that they are asked to quote. */
export function requestIdIn(query: string): string | undefined {
  return /\breq_[0-9a-f]{32}\b/.exec(query.slice(0, MAX_QUERY_CHARACTERS))?.[0];
}

/** The codes in a text, such as a record or a log line, in their order, except in values that a message quotes. */
function codesIn(text: string): readonly ErrorCode[] {
  const names =
    withoutValues(text)
      .toLowerCase()
      .match(/[a-z0-9]+(?:_[a-z0-9]+)*/g) ?? [];
  const codes = [...new Set(names)].filter(isErrorCode);
  if (codes.length === 0) return [bare(text)].filter(isErrorCode);
  return codes.length > MAX_NAMED ? [] : codes;
}

function bare(text: string): string {
  return text
    .trim()
    .replaceAll(/^['"]|['"]$/g, '')
    .toLowerCase();
}

type Quote = {
  readonly length: number;
  /** Undefined if several codes have the message. */
  readonly code: ErrorCode | undefined;
};

/**
 * The entries with a message that the text contains, or that begins with the text, each with its longest such message.
 */
function quotesIn(entries: readonly ErrorEntry[], text: string): ReadonlyMap<ErrorEntry, Quote> {
  const written = templateOf(text);
  const isQuoted = (template: string): boolean =>
    (template.length >= MIN_QUOTE && written.includes(template)) ||
    (written.length >= MIN_BEGINNING && template.startsWith(written));
  return new Map(
    entries.flatMap((entry): [ErrorEntry, Quote][] => {
      const quoted = entry.templates.filter(({ template }) => isQuoted(template));
      const length = Math.max(...quoted.map(({ template }) => template.length));
      const codes = new Set(quoted.filter(({ template }) => template.length === length).map(({ code }) => code));
      return quoted.length === 0 ? [] : [[entry, { length, code: codes.size === 1 ? [...codes][0] : undefined }]];
    }),
  );
}

/** The code itself, or the kind of its family. */
export function groupOf(code: ErrorCode): string {
  return familyOf(code)?.kind ?? code;
}

/** Maximum number of suggested names. */
const MAX_SUGGESTED = 3;

/** The names that a misspelled name may mean, most likely first. */
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

/** An error code, or a family of codes, which differ only in the operation. */
type ErrorEntry = SearchEntry & {
  readonly kind: 'error';
  /** The code; for a family all of them, in the order of the catalogue. */
  readonly codes: readonly ErrorCode[];
  readonly family: CodeFamily['kind'] | undefined;
  /** The messages without their values, and the code of each. */
  readonly templates: readonly { readonly template: string; readonly code: ErrorCode | undefined }[];
};

const WEIGHTS = { called: 1, message: 1, meaning: 0.9, cause: 0.7, remedy: 0.35 } as const;

/** Describes each family in a sentence. */
export const FAMILY_MEANINGS: Readonly<Record<CodeFamily['kind'], string>> = {
  schema: 'The request does not have the fields that the operation requires: the message says what is wrong with it.',
  unknown: 'The operation failed because of an internal error.',
};

/**
 * The entries of all error codes, with the codes of many operations before those of few. This decides between equal
 * scores.
 */
export function errorEntries(): readonly ErrorEntry[] {
  const shared = ERROR_CODES.filter((code) => familyOf(code) === undefined).map((code) => entryOf([code]));
  const families = (['schema', 'unknown'] as const).map((kind) => entryOf(familyCodes(kind), kind));
  return [...shared, ...families].toSorted((left, right) => reachOf(right) - reachOf(left));
}

function reachOf({ codes: [code], family }: ErrorEntry): number {
  if (family !== undefined) return OPERATION_IDS.length + 1;
  return code === undefined ? 0 : operationsWith(code).length;
}

function entryOf(codes: readonly ErrorCode[], family?: CodeFamily['kind']): ErrorEntry {
  const [first = 'unknown_request'] = codes;
  const { meaning, alsoCalled } = ERRORS[first];
  const further = KNOWN_MESSAGES[family ?? first] ?? [];
  const called = (alsoCalled === '' ? [] : alsoCalled.split(', ')).map((text) => ({ text, weight: WEIGHTS.called }));
  const messages = further.map((text) => ({ text: withoutValues(text), weight: WEIGHTS.message }));
  return {
    kind: 'error',
    name: family === undefined ? first : FAMILY_PATTERNS[family],
    path: family === undefined ? `/errors/${first}` : `/errors#family-${family}`,
    summary: family === undefined ? meaning : FAMILY_MEANINGS[family],
    codes,
    family,
    texts: [...called, ...messages, ...textsOf(first)],
    templates: [
      ...further.map((message) => ({ template: templateOf(message), code: undefined })),
      ...codes.flatMap((code) =>
        [ERRORS[code].sample.message, ERRORS[code].meaning].map((text) => ({ template: templateOf(text), code })),
      ),
    ],
  };
}

function textsOf(code: ErrorCode): readonly EntryText[] {
  const { status, type, meaning, causes, resolution, sample } = ERRORS[code];
  return [
    { text: code, weight: WEIGHTS.called },
    { text: String(status), weight: WEIGHTS.called },
    { text: withoutValues(sample.message), weight: WEIGHTS.message },
    { text: meaning, weight: WEIGHTS.meaning },
    ...causes.map((text) => ({ text, weight: WEIGHTS.cause, isShown: true })),
    { text: `${type} ${resolution} ${sample.reproduce}`, weight: WEIGHTS.remedy },
  ];
}

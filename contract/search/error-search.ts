import { type CodeFamily, familyOf, isErrorCode } from '../errors/catalogue.ts';
import type { ErrorCode } from '../operations.ts';
import { type ErrorEntry, errorEntries } from './error-entries.ts';
import { type Found, MAX_QUERY_CHARACTERS, nearest, SearchIndex } from './search-index.ts';
import { templateOf, withoutValues } from './words.ts';

/** One code in a result, or a family of codes. */
export type ErrorHit = {
  /** Of a family, the code that fits best. */
  readonly code: ErrorCode;
  /** The cause that matches, if it is what was found. */
  readonly cause: string | undefined;
  /** Set where it stands for the codes of a family, of which there is one for each operation. */
  readonly family: FoundFamily | undefined;
  readonly score: number;
  readonly hasAll: boolean;
};

/** The codes of a family, the one that fits best first. */
export type FoundFamily = { readonly kind: CodeFamily['kind']; readonly codes: readonly ErrorCode[] };

/** Finds error codes. */
export type ErrorSearch = (query: string) => readonly ErrorHit[];

/** More than words score: the query is a code, or contains it as records and log lines do; or it contains a whole message. */
const NAMED = 1_000_000;
const QUOTED = 10_000;

/** A text that names more codes than this lists them, and is about something else. */
const MAX_NAMED = 4;

/** Letters from which on a message says which code it is of. */
const MIN_QUOTE = 9;
/** And letters from which on its beginning does. */
const MIN_BEGINNING = 24;

let made: ErrorSearch | undefined;

/** Finds codes without anything else that a service can find, as the command line does. */
export function searchErrors(query: string): readonly ErrorHit[] {
  if (made === undefined) {
    const entries = errorEntries();
    const index = SearchIndex.of(entries);
    made = errorSearch(entries, (text) => index.find(text));
  }
  return made(query);
}

/**
 * Finds the codes that match a code, a status, words, a message or a complete record, best first. A code or a message that
 * the query contains is looked up; everything else is for `find`, the search for words.
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
    // Whoever names one code of a family does not want the others.
    const own = named.map((code, at): ErrorHit => {
      const hit = scored.find(({ entry }) => entry.codes.includes(code));
      return { code, cause: hit?.cause, family: undefined, score: NAMED - at, hasAll: true };
    });
    const others = scored.filter(({ score, entry }) => score > 0 && !entry.codes.some((code) => named.includes(code)));
    const all = [...own, ...others].toSorted((left, right) => right.score - left.score);
    return nearest(all);
  };
}

/** The id of a request in the query: people also search for the id that they are asked to quote. */
export function requestIdIn(query: string): string | undefined {
  return /\breq_[0-9a-f]{32}\b/.exec(query.slice(0, MAX_QUERY_CHARACTERS))?.[0];
}

/** Codes as they are written in records and log lines, in their order. What a message quotes is a value, such as the id of a card. */
function codesIn(text: string): readonly ErrorCode[] {
  const names =
    withoutValues(text)
      .toLowerCase()
      .match(/[a-z0-9]+(?:_[a-z0-9]+)*/g) ?? [];
  const codes = [...new Set(names)].filter(isErrorCode);
  if (codes.length === 0) return [bare(text)].filter(isErrorCode);
  return codes.length > MAX_NAMED ? [] : codes;
}

/** A text without the quotation marks around it. */
function bare(text: string): string {
  return text
    .trim()
    .replaceAll(/^['"]|['"]$/g, '')
    .toLowerCase();
}

/** The message of an entry that a text quotes. */
type Quote = {
  readonly length: number;
  /** Undefined where several codes have the message. */
  readonly code: ErrorCode | undefined;
};

/** The entries whose message the text contains, or of whose message it is the beginning: one message can contain another. */
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

/** How a hit is called: the code, or the form of the codes of its family. */
export function groupOf(code: ErrorCode): string {
  return familyOf(code)?.kind ?? code;
}

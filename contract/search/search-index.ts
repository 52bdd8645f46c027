import MiniSearch from 'minisearch';
import { termsIn } from './words.ts';

/** What can be found. */
export type EntryKind = 'error' | 'operation' | 'field' | 'event' | 'guide';

/** One thing that can be found, such as an error code. */
export type SearchEntry = {
  readonly kind: EntryKind;
  /** Unique among the entries of its kind, and what a result shows. */
  readonly name: string;
  /** Where it is explained, a path of the service. */
  readonly path: string;
  /** A sentence about it. */
  readonly summary: string;
  /** Whether only a sandbox has it. */
  readonly isOfSandbox?: boolean;
  /** What it is called and what is said about it. */
  readonly texts: readonly EntryText[];
};

/** A name or a sentence by which an entry is found. */
export type EntryText = {
  readonly text: string;
  /** How much it says about the entry that a word is in this text: 1 for its name. */
  readonly weight: number;
  /** Whether it is long, such as a section of a guide, and is compared with other long ones. */
  readonly isLong?: boolean;
  /** Shown with the result if the text was what was found, because the name and the summary do not have the words. */
  readonly isShown?: boolean;
};

/** An entry that matches a query. */
export type Found<Entry extends SearchEntry = SearchEntry> = {
  readonly entry: Entry;
  readonly score: number;
  /** Whether its texts have all words of the query. */
  readonly hasAll: boolean;
  /** The text that was found, if it is one that a result shows. */
  readonly shown: string | undefined;
};

/** Longer than any error record with its support contact, the longest text that people paste. */
export const MAX_QUERY_CHARACTERS = 1_000;
const MAX_TERMS = 40;

/** Letters of a word from which on it finds words that it begins, and words that differ in a letter or two. */
const MIN_LENGTH_OF_PREFIX = 3;
const MIN_LENGTH_OF_TYPO = 5;

/** How much of a word may be mistyped: one letter in five. */
const TYPOS = 0.2;

/** Of the best score: what scores less is not shown. */
const NEAR = 0.45;

/** How much it adds to the best text of an entry that another one has words of the query, too. */
const FURTHER = 0.1;

/** How many texts are indexed before others get their turn: about a millisecond's work. */
const TEXTS_AT_A_TIME = 50;

type Indexed<Entry> = EntryText & { readonly id: number; readonly entry: Entry };

/** An index of entries in memory, with MiniSearch: each text of an entry is a document. */
export class SearchIndex<Entry extends SearchEntry = SearchEntry> {
  readonly #texts: readonly Indexed<Entry>[];
  readonly #known = new Set<string>();
  readonly #index: MiniSearch<{ readonly id: number; readonly phrase?: string; readonly passage?: string }>;

  private constructor(entries: readonly Entry[]) {
    this.#texts = entries
      .flatMap((entry) => entry.texts.map((text) => ({ ...text, entry })))
      .map((text, id) => ({ ...text, id }));
    this.#index = new MiniSearch({
      fields: ['phrase', 'passage'],
      tokenize: (text, field) => {
        const terms = termsIn(text);
        for (const term of terms) this.#known.add(term);
        // Of a phrase that has a word twice, it says no more.
        return field === 'phrase' ? [...new Set(terms)] : terms;
      },
      processTerm: (term) => term,
      searchOptions: {
        tokenize: termsIn,
        processTerm: (term) => term,
        boostDocument: (id) => this.#texts[id]?.weight ?? 0,
        prefix: (term) => term.length >= MIN_LENGTH_OF_PREFIX && !/\p{N}/u.test(term),
        // A word that is known is not taken for another one.
        fuzzy: (term) => term.length >= MIN_LENGTH_OF_TYPO && !/\p{N}/u.test(term) && !this.#isBegun(term) && TYPOS,
      },
    });
  }

  /** The index of some entries, made in one go. */
  static of<Entry extends SearchEntry>(entries: readonly Entry[]): SearchIndex<Entry> {
    const made = new SearchIndex(entries);
    made.#index.addAll(made.#documents());
    return made;
  }

  /** The same, with turns for others in between: a service goes on serving requests. */
  static async inTurns<Entry extends SearchEntry>(entries: readonly Entry[]): Promise<SearchIndex<Entry>> {
    const made = new SearchIndex(entries);
    await made.#index.addAllAsync(made.#documents(), { chunkSize: TEXTS_AT_A_TIME });
    return made;
  }

  /** The entries that have words of a query, best first. */
  find(query: string, isWanted: (entry: Entry) => boolean = () => true): readonly Found<Entry>[] {
    const terms = new Set(termsIn(query.slice(0, MAX_QUERY_CHARACTERS)).slice(0, MAX_TERMS));
    const hits = this.#index.search([...terms].join(' '), { filter: ({ id }) => isWanted(this.#entryOf(id)) });
    const ofEntry = Map.groupBy(hits, ({ id }) => this.#entryOf(id));
    return [...ofEntry]
      .map(([entry, own]): Found<Entry> => {
        const has = new Set(own.flatMap(({ queryTerms }) => queryTerms));
        const texts = own.flatMap(({ id }) => this.#texts[id] ?? []);
        const [best = 0, ...further] = own.map(({ score }) => score);
        return {
          entry,
          // The best text decides, and of two alike the entry that has more of the words, and has them more often.
          score: (best + FURTHER * Math.max(0, ...further)) * (1 + has.size / terms.size),
          hasAll: has.size === terms.size,
          shown: texts[0]?.isShown === true ? texts[0].text : undefined,
        };
      })
      .toSorted((left, right) => right.score - left.score);
  }

  #documents(): { readonly id: number; readonly phrase?: string; readonly passage?: string }[] {
    return this.#texts.map(({ id, text, isLong }) => (isLong ? { id, passage: text } : { id, phrase: text }));
  }

  #entryOf(id: number): Entry {
    const text = this.#texts[id];
    if (text === undefined) throw new RangeError(`There is no text ${id}.`);
    return text.entry;
  }

  #isBegun(term: string): boolean {
    return this.#known.has(term) || [...this.#known].some((known) => known.startsWith(term));
  }
}

/** Without those that are much worse than the best one, and, if some have all words, without those that have not. */
export function nearest<Result extends Pick<Found, 'score' | 'hasAll'>>(found: readonly Result[]): readonly Result[] {
  const best = Math.max(...found.map(({ score }) => score));
  const near = found.filter(({ score }) => score >= best * NEAR);
  const whole = near.filter(({ hasAll }) => hasAll);
  return whole.length > 0 ? whole : near;
}

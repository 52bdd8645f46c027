import MiniSearch from 'minisearch';
import { termsIn } from './words.ts';

/** The kinds of entries that can be found. */
export type EntryKind = 'error' | 'operation' | 'field' | 'event' | 'guide';

/** One thing that can be found, such as an error code. */
export type SearchEntry = {
  readonly kind: EntryKind;
  /** Unique among the entries of its kind. Results show it. */
  readonly name: string;
  /** Where it is explained, a path of the service. */
  readonly path: string;
  readonly summary: string;
  /** Whether only a sandbox has it. */
  readonly isOfSandbox?: boolean;
  readonly texts: readonly EntryText[];
};

/** A name or a sentence that an entry is found by. */
export type EntryText = {
  readonly text: string;
  /** How strongly a word in this text indicates the entry: 1 for its name. */
  readonly weight: number;
  /** Whether it is long, such as a section of a guide, and is compared with other long texts. */
  readonly isLong?: boolean;
  /** Whether a result shows the text if it is the best match, because name and summary do not have its words. */
  readonly isShown?: boolean;
};

/** An entry that matches a query. */
export type Found<Entry extends SearchEntry = SearchEntry> = {
  readonly entry: Entry;
  readonly score: number;
  /** Whether its texts contain all words of the query. */
  readonly hasAll: boolean;
  /** The text that matches best, if a result shows it. */
  readonly shown: string | undefined;
};

/** Longer than any error record with its support contact, the longest text that people paste. */
export const MAX_QUERY_CHARACTERS = 1_000;
const MAX_TERMS = 40;

/**
 * With up to this many words, a query also finds words that begin with them or are similar. A longer query is a pasted text, with
 * few typos.
 */
const MAX_LOOSE_TERMS = 6;

/**
 * Maximum texts that a search scores: about twice the number of texts with one of the words `card not found`. The
 * rarest words are searched first, because a word in many texts says little.
 */
const MAX_SCORED_TEXTS = 4_000;

/** Minimum letters of a word to find words that begin with it. */
const MIN_LENGTH_OF_PREFIX = 3;
/** Minimum letters of a word to find words despite typos. */
const MIN_LENGTH_OF_TYPO = 5;

/** Share of a word that may be mistyped: one letter in five, up to two. */
const TYPOS = 0.2;
const MAX_TYPOS = 2;

/** Results with less than this share of the best score are not shown. */
const NEAR = 0.45;

/** The share of the score of an entry's second-best text that is added to the score of its best text. */
const FURTHER = 0.1;

/** Texts that are indexed at a time, before other work continues: about a millisecond's work. */
const TEXTS_AT_A_TIME = 50;

/** How a term of a query is found: exactly, in words that begin with it, or also in similar words. */
type Match = 'exact' | 'beginning' | 'similar';

type Indexed<Entry> = EntryText & { readonly id: number; readonly entry: Entry };

/** An index of entries in memory, with MiniSearch: each text of an entry is a document. */
export class SearchIndex<Entry extends SearchEntry = SearchEntry> {
  readonly #texts: readonly Indexed<Entry>[];
  /** The words of the index, and how many texts have each. */
  readonly #known = new Map<string, number>();
  readonly #index: MiniSearch<{ readonly id: number; readonly phrase?: string; readonly passage?: string }>;

  private constructor(entries: readonly Entry[]) {
    this.#texts = entries
      .flatMap((entry) => entry.texts.map((text) => ({ ...text, entry })))
      .map((text, id) => ({ ...text, id }));
    this.#index = new MiniSearch({
      fields: ['phrase', 'passage'],
      tokenize: (text, field) => {
        const terms = termsIn(text);
        const own = new Set(terms);
        for (const term of own) this.#known.set(term, (this.#known.get(term) ?? 0) + 1);
        // A repeated word counts once in a phrase.
        return field === 'phrase' ? [...own] : terms;
      },
      processTerm: (term) => term,
      searchOptions: {
        // A query already consists of terms.
        tokenize: (terms) => terms.split(' '),
        processTerm: (term) => term,
        boostDocument: (id) => this.#texts[id]?.weight ?? 0,
        maxFuzzy: MAX_TYPOS,
      },
    });
  }

  /** The index of some entries, built at once. */
  static of<Entry extends SearchEntry>(entries: readonly Entry[]): SearchIndex<Entry> {
    const made = new SearchIndex(entries);
    made.#index.addAll(made.#documents());
    return made;
  }

  /** The index of some entries, built in small steps so that a service can handle requests in between. */
  static async inTurns<Entry extends SearchEntry>(entries: readonly Entry[]): Promise<SearchIndex<Entry>> {
    const made = new SearchIndex(entries);
    await made.#index.addAllAsync(made.#documents(), { chunkSize: TEXTS_AT_A_TIME });
    return made;
  }

  /** The entries that have words of a query, best first. */
  find(query: string, isWanted: (entry: Entry) => boolean = () => true): readonly Found<Entry>[] {
    const terms = this.#termsOf(query);
    if (terms.size === 0) return [];
    const hits = this.#index.search([...terms.keys()].join(' '), {
      filter: ({ id }) => isWanted(this.#entryOf(id)),
      prefix: (term) => terms.get(term) === 'beginning',
      fuzzy: (term) => terms.get(term) === 'similar' && TYPOS,
    });
    // Not with Map.groupBy, because the command line searches the error codes on Node 20, which does not have it.
    const ofEntry = new Map<Entry, (typeof hits)[number][]>();
    for (const hit of hits) {
      const entry = this.#entryOf(hit.id);
      ofEntry.set(entry, [...(ofEntry.get(entry) ?? []), hit]);
    }
    return [...ofEntry]
      .map(([entry, own]): Found<Entry> => {
        const has = new Set(own.flatMap(({ queryTerms }) => queryTerms));
        const texts = own.flatMap(({ id }) => this.#texts[id] ?? []);
        const [best = 0, ...further] = own.map(({ score }) => score);
        return {
          entry,
          // The best text counts most. A second text, and the share of the query's words that were found, raise the score.
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

  /**
   * Returns the terms of a query to search for, and how to match each. Prefers the terms in the fewest texts, up to {@link
   * MAX_SCORED_TEXTS} texts.
   */
  #termsOf(query: string): ReadonlyMap<string, Match> {
    const stems = termsIn(query.slice(0, MAX_QUERY_CHARACTERS)).slice(0, MAX_TERMS);
    // Removes a second ending, as the index does. Otherwise a stem such as `releas` would match only as the beginning of a word,
    // which counts less.
    const terms = [...new Set(termsIn(stems.join(' ')))];
    const words = terms.filter((term) => term.length >= MIN_LENGTH_OF_PREFIX && !/\p{N}/u.test(term));
    // A word that is not in the index can only match the beginning of a word or a similar word.
    const unknown = words.filter((term) => !this.#known.has(term));
    const loose = new Set([...unknown, ...words].slice(0, MAX_LOOSE_TERMS));
    const weighed = terms.map((term) => this.#weigh(term, loose.has(term)));
    let texts = 0;
    const searched = weighed
      .toSorted((left, right) => left.texts - right.texts)
      .filter((one, at) => {
        texts += one.texts;
        return at === 0 || texts <= MAX_SCORED_TEXTS;
      });
    return new Map(searched.map(({ term, match }) => [term, match]));
  }

  /** How a term is matched, and about how many texts match. */
  #weigh(term: string, isLoose: boolean): { readonly term: string; readonly match: Match; readonly texts: number } {
    if (!isLoose) return { term, match: 'exact', texts: this.#known.get(term) ?? 0 };
    const beginning = [...this.#known].filter(([known]) => known.startsWith(term));
    // A word that the index contains is not treated as a typo.
    if (beginning.length > 0 || term.length < MIN_LENGTH_OF_TYPO) {
      return { term, match: 'beginning', texts: beginning.reduce((sum, [, texts]) => sum + texts, 0) };
    }
    // Assume the most frequent word, because a similar term may match any word.
    return { term, match: 'similar', texts: Math.max(0, ...this.#known.values()) };
  }
}

/** The results with a score close to the best one. If some have all words of the query, only these. */
export function nearest<Result extends Pick<Found, 'score' | 'hasAll'>>(found: readonly Result[]): readonly Result[] {
  const best = Math.max(...found.map(({ score }) => score));
  const near = found.filter(({ score }) => score >= best * NEAR);
  const whole = near.filter(({ hasAll }) => hasAll);
  return whole.length > 0 ? whole : near;
}

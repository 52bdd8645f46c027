import MiniSearch from 'minisearch';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ERROR_CODES, ERRORS } from '../../contract/errors/catalogue.ts';
import { termsIn, withoutValues } from '../../contract/search/words.ts';
import { type PageSearch, pageSearch } from '../../server/pages/search/page-search.ts';

/** A query that matches many entries and that people often type. */
const USUAL = 'card not found';

/** Words of the documentation, most frequent first. */
const FREQUENT =
  'transfer card not service no request key program event money error webhook one id database see creat api only read chang operator start null first cannot send log statu every mean limit noth each last fail process time second run risk balanc solv mov';

const HOSTILE: readonly (readonly [what: string, query: string])[] = [
  ['the most frequent words', FREQUENT],
  ['their beginnings', [...new Set(FREQUENT.split(' ').map((word) => word.slice(0, 3)))].join(' ')],
  ['frequent words with typos', FREQUENT.replaceAll(/\b(\w{3})(\w{2,})/g, '$1q$2')],
  ['long unknown words', Array.from({ length: 40 }, (_, at) => `transactionidempot${at * 7}`).join(' ')],
  ['words that differ in one letter', [...'abcdefghijklmnopqrstuvwxyz'].map((letter) => `transf${letter}r`).join(' ')],
];

let search: PageSearch;
beforeAll(async () => {
  search = await pageSearch();
});

/** Measures the work of a search: the number of scored entries, and the number of words for which similar words are looked up. */
function workOf(query: string): { readonly scored: number; readonly loose: number; readonly words: number } {
  let scored = 0;
  let loose = 0;
  let longest = 0;
  const plain = MiniSearch.prototype.search;
  const spy = vi.spyOn(MiniSearch.prototype, 'search').mockImplementation(function (this: MiniSearch, words, options) {
    const { prefix, fuzzy } = options ?? {};
    const terms = String(words).split(' ');
    longest = Math.max(longest, terms.length);
    for (const [at, term] of terms.entries()) {
      const isLoose = [prefix, fuzzy].some((how) => typeof how === 'function' && how(term, at, []) !== false);
      loose += isLoose ? 1 : 0;
    }
    return plain.call(this, words, {
      ...options,
      boostDocument: () => {
        scored += 1;
        return 1;
      },
    });
  });
  onTestFinished(() => spy.mockRestore());
  search.errors(query);
  search.others(query, 'sandbox');
  spy.mockRestore();
  return { scored, loose, words: longest };
}

describe('a search', () => {
  it.each(HOSTILE)('for %s scores at most three times as many entries as an ordinary search', (_what, query) => {
    const usual = workOf(USUAL);
    expect(usual.scored).toBeGreaterThan(1_000);
    const { scored, loose } = workOf(query.slice(0, 1_000));
    expect(scored).toBeLessThanOrEqual(3 * usual.scored);
    // The two searches look up at most six words each.
    expect(loose).toBeLessThanOrEqual(12);
  });

  it('uses all words of a whole message', () => {
    for (const code of ERROR_CODES) {
      const { message } = ERRORS[code].sample;
      const words = new Set(termsIn(withoutValues(message))).size;
      expect([message, workOf(message).words >= words]).toEqual([message, true]);
    }
  });
});

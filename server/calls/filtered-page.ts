import { performance } from 'node:perf_hooks';
import { readInTurn, type TurnCall } from './turns.ts';

/** A chunk of a list: the items that match, and where the next chunk begins; null at the end. */
export type Chunk<Item> = { readonly items: readonly Item[]; readonly next: string | null };

/** How to read a list with a filter that no index covers. */
type FilteredRead<Item> = {
  readonly call: TurnCall;
  /** Number of items on the page. */
  readonly limit: number;
  /** The last item of the previous page (inner UUID). */
  readonly after: string | null;
  /** Whether more items are compared than returned. */
  readonly isFiltered: boolean;
  /** Reads at most `count` items among the `maxExamined` after the one with the inner UUID `after`. */
  readonly read: (after: string | null, count: number, maxExamined: number) => Promise<Chunk<Item>>;
  readonly idOf: (item: Item) => string;
};

/** The first statement of a filtered list examines this many times as many items as the page can show. */
const FIRST_EXAMINED_RATIO = 10;

/** Each further statement examines this many times more, up to a maximum that takes a few hundredths of a second. */
const EXAMINED_GROWTH = 10;
/** Maximum number of items that one statement compares with a filter. */
export const MAX_EXAMINED = 5000;

/** Time to fill a page, in milliseconds. After that the page is sent as short as it is. */
const SEARCH_MILLISECONDS = 1000;

/**
 * Reads a page. If matches are very rare it can be short or empty, with a cursor to continue from: only `next` says
 * whether there is more.
 */
export async function readFiltered<Item>(filtered: FilteredRead<Item>): Promise<Chunk<Item>> {
  const { call, limit, after, isFiltered, read, idOf } = filtered;
  const giveUpAt = performance.now() + SEARCH_MILLISECONDS;
  let maxExamined = isFiltered ? FIRST_EXAMINED_RATIO * (limit + 1) : limit + 1;
  let { items: found, next } = await read(after, limit + 1, maxExamined);
  while (next !== null && found.length <= limit && performance.now() < giveUpAt) {
    maxExamined = Math.min(maxExamined * EXAMINED_GROWTH, MAX_EXAMINED);
    const from = next;
    const more = await readInTurn(call, () => read(from, limit + 1 - found.length, maxExamined));
    found = [...found, ...more.items];
    next = more.next;
  }
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, next: found.length > limit && last !== undefined ? idOf(last) : next };
}

import { performance } from 'node:perf_hooks';
import { fromWireId, type IdentifierPrefix, toWireId } from '../../domain/identifier.ts';
import type { Refusal } from '../../domain/refusal.ts';
import type { Row, Statement } from '../store/connection/database.ts';
import { type CallContext, type Service, schemaRefusal } from './call.ts';
import { confirmReplicated, readRows } from './read-rows.ts';
import { readInTurn, type TurnCall } from './turns.ts';

export const DEFAULT_LIMIT = 20;

/** How one kind of item is listed: ordered by inner UUID, newest first. */
export type Listing<Item, Shown> = {
  /** Prefix of a cursor of this list: the wire id of the last item. */
  readonly prefix: IdentifierPrefix;
  /** Returns the statement for `count` items after the item with the inner UUID `after`. */
  readonly statement: (after: string | null, count: number) => Statement;
  /**
   * Finds the item with the inner UUID `after`, for a list that is not in the order of ids. Without this check, the page after an
   * unknown item would be empty.
   */
  readonly find?: (after: string) => Statement;
  /**
   * Whether callers take the rows as proof of an earlier change. If so, the rows have the column `replicated`: see
   * `confirmReplicated`.
   */
  readonly isProof?: boolean;
  readonly read: (row: Row) => Item;
  readonly idOf: (item: Item) => string;
  readonly show: (item: Item) => Shown;
};

type ListCall = CallContext & { readonly query: { readonly limit?: number; readonly cursor?: string } };

/**
 * Reads a page. A cursor is the last item's id, so pages stay correct while items are added: new items appear before the first
 * page, never between two pages.
 */
export async function readPage<Item, Shown>(
  service: Service,
  call: ListCall,
  listing: Listing<Item, Shown>,
): Promise<{ data: Shown[]; next_cursor: string | null }> {
  const { limit = DEFAULT_LIMIT, cursor } = call.query;
  const after = readCursor(call, listing.prefix, cursor);
  const rows = await readRows(service.database, listing.statement(after, limit + 1));
  if (rows.length === 0 && after !== null && listing.find !== undefined) {
    await refuseUnknown(service, call, listing.find(after));
  }
  if (listing.isProof === true) await confirmReplicated(service.database, call.deadline, rows);
  const items = rows.slice(0, limit).map(listing.read);
  const last = items.at(-1);
  const hasMore = rows.length > limit && last !== undefined;
  return {
    data: items.map(listing.show),
    next_cursor: hasMore ? toWireId(listing.prefix, listing.idOf(last)) : null,
  };
}

/** Returns the inner UUID in a cursor that is an id. Null if there is no cursor. */
export function readCursor(call: CallContext, prefix: IdentifierPrefix, cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  const after = fromWireId(prefix, cursor);
  if (after !== undefined) return after;
  throw cursorFault(call);
}

/** Refuses a cursor whose item does not exist, because an empty page would look like the end of the list. */
export async function refuseUnknown(service: Service, call: CallContext, find: Statement): Promise<void> {
  if ((await readRows(service.database, find)).length === 0) throw cursorFault(call);
}

export function cursorFault(call: CallContext): Refusal {
  return schemaRefusal(call, "'cursor' must be the next_cursor of the previous page, unchanged.", '/cursor');
}

/** A chunk of a list: the matching items, and the start of the next chunk, or null at the end. */
export type Chunk<Item> = { readonly items: readonly Item[]; readonly next: string | null };

/** Describes how to read a list with a filter that no index covers. */
type FilteredRead<Item> = {
  readonly call: TurnCall;
  readonly limit: number;
  /** The last item of the previous page (inner UUID). */
  readonly after: string | null;
  /** Whether more items are compared than returned. */
  readonly isFiltered: boolean;
  /** Reads at most `count` items among the `maxExamined` items after the item with the inner UUID `after`. */
  readonly read: (after: string | null, count: number, maxExamined: number) => Promise<Chunk<Item>>;
  readonly idOf: (item: Item) => string;
};

/** For a filtered list, the first statement examines this many items for each item of the page. */
const FIRST_EXAMINED_RATIO = 10;

/** With each further statement, the number of examined items grows by this factor, up to {@link MAX_EXAMINED}. */
const EXAMINED_GROWTH = 10;
/** Maximum number of items that one statement compares with a filter. That takes a few hundredths of a second. */
export const MAX_EXAMINED = 5000;

/** Time limit for filling a page, in milliseconds. After this time, the page is sent even if it is short. */
const SEARCH_MILLISECONDS = 1000;

/** Reads a page. If matches are very rare, it can be short. Only `next` shows whether there are more. */
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

import type { PageQuery } from '../../contract/schema-parts.ts';
import { fromWireId, type IdentifierPrefix, toWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import { readRows } from '../commit/transaction.ts';
import type { Row, Statement } from '../store/connection/database.ts';
import type { Call, Reply } from './call.ts';
import type { Service } from './service.ts';

/** Items of a page when the caller does not say. */
export const DEFAULT_LIMIT = 20;

/** How one kind of item is listed: by its inner UUID, newest first. */
export type Listing<Item> = {
  /** What a cursor of this list looks like: the id on the wire of the last item. */
  readonly prefix: IdentifierPrefix;
  /** The statement for `count` items after the one with the inner UUID `after`. */
  readonly statement: (after: string | null, count: number) => Statement;
  readonly read: (row: Row) => Item;
  readonly idOf: (item: Item) => string;
  readonly show: (item: Item) => object;
};

/**
 * Answers a list operation with a page. A cursor is the last item's id, so pages stay right while items are added:
 * new ones come before the first page, never between two. `beside` is shown next to the items.
 */
export async function answerPage<Item>(
  service: Service,
  call: Call,
  listing: Listing<Item>,
  beside: object = {},
): Promise<Reply> {
  const { limit, cursor } = call.members as PageQuery;
  const count = limit ?? DEFAULT_LIMIT;
  const rows = await readRows(service.database, listing.statement(readCursor(call, listing.prefix, cursor), count + 1));
  const items = rows.slice(0, count).map(listing.read);
  const last = items.at(-1);
  const more = rows.length > count && last !== undefined;
  const page = {
    data: items.map(listing.show),
    next_cursor: more ? toWireId(listing.prefix, listing.idOf(last)) : null,
    ...beside,
  };
  return { status: 200, body: JSON.stringify(page) };
}

/** The inner UUID in a cursor that is an id; null without one. */
export function readCursor(call: Call, prefix: IdentifierPrefix, cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  const after = fromWireId(prefix, cursor);
  if (after !== undefined) return after;
  throw cursorFault(call);
}

/** The refusal of a cursor that is none of the list's. */
export function cursorFault(call: Call): Refusal {
  const message = "'cursor' must be the next_cursor of the page before, exactly as it was answered.";
  return new Refusal(`${call.operation}_schema`, message, { field: '/cursor' });
}

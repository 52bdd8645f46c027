import type { Page } from './records.ts';

/** Every item of a list, page by page as they are asked for. Rejects as the list itself does. */
export async function* everyItem<Item>(
  list: (cursor: string | undefined) => Promise<Page<Item>>,
  from: string | undefined,
): AsyncGenerator<Item, void, undefined> {
  let cursor = from;
  do {
    const page = await list(cursor);
    yield* page.data;
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
}

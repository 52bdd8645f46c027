import { expect, onTestFinished, test, vi } from 'vitest';
import { EventCursor } from '../../../server/background/delivery/endpoint/event-cursor.ts';
import { EventFeed, FeedReader } from '../../../server/background/delivery/endpoint/event-feed.ts';
import { Places } from '../../../server/background/delivery/endpoint/places.ts';
import { useLedger, useServer } from '../../harness/use-ledger.ts';
import { commitEvents, eventOf, newProgram, readAll, relayOnce } from '../events/relayed.ts';

const server = await useServer();
const { database } = useLedger(server.connection);
const programId = newProgram();

/** Creates an event and gives it its number. */
async function make(subjectId: string): Promise<void> {
  await commitEvents(database, [eventOf(programId, subjectId)]);
  await relayOnce(database);
}

/**
 * Opens a cursor over the events of all programs that looks for one event. `more` resolves when the cursor may find
 * more events.
 */
function open(feed: EventFeed, start: number, subjectId: string) {
  const more = Promise.withResolvers<void>();
  const reports = { onMore: more.resolve, onDeleted: () => undefined, onFailure: more.reject };
  const wants = ({ event }: { readonly event: { readonly subjectId: string } }) => event.subjectId === subjectId;
  return { cursor: new EventCursor(feed, new Places(start), wants, reports), more: more.promise };
}

test('a cursor finds an event that is announced during its read, even if the read of another cursor ends first', async () => {
  const start = (await readAll(database, {})).at(-1)?.number ?? 0;
  await make('first');
  const feed = new EventFeed(database, null, new FeedReader(database));
  const [slow, quick] = [open(feed, start, 'second'), open(feed, start, 'first')];
  const read = vi.spyOn(database, 'read');
  onTestFinished(() => read.mockRestore());
  const delay = Promise.withResolvers<readonly []>();
  read.mockReturnValueOnce(delay.promise);
  expect(slow.cursor.take()).toBeUndefined();
  feed.noteNews();
  expect(quick.cursor.take()).toBeUndefined();
  await quick.more;
  expect(quick.cursor.take()?.found.event.subjectId).toBe('first');
  // The cursor reads the other cursor's page while its own read is still in progress.
  expect(slow.cursor.take()).toBeUndefined();
  await make('second');
  feed.noteNews();
  expect(slow.cursor.take()).toBeUndefined();
  delay.resolve([]);
  await slow.more;
  expect(slow.cursor.take()).toBeUndefined();
  await expect.poll(() => slow.cursor.take()?.found.event.subjectId).toBe('second');
});

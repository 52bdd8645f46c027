import { expect, test } from 'vitest';
import { EVERY_PROGRAM } from '../../../domain/event.ts';
import { readEventPage, readEventPages } from '../../../server/store/events/read-events.ts';
import { dropOldEvents } from '../../../server/store/events/retention.ts';
import { checkBalances, useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';
import { commitEvents, eventOf, newProgram, relayOnce } from './relayed.ts';

// Tests that reading pages of several programs together gives the same pages as reading one at a time.

const server = await useServer();
const ledger = useLedger(server.connection);
checkBalances(ledger);
const owner = await useConnection(server.connection);
const { background } = ledger.databases;
const [FIRST, SECOND, EMPTY] = [newProgram(), newProgram(), newProgram()] as const;

async function relayAll(): Promise<void> {
  while ((await relayOnce(background)).found > 0);
}

/** Reads ranges together and compares each range with a separate read. */
async function expectSame(ranges: readonly (readonly [programId: string, after: number])[], limit: number) {
  const wanted = ranges.map(([programId, after]) => ({ programId, after }));
  const alone = await Promise.all(wanted.map((range) => readEventPage(background, { ...range, limit })));
  const together = await readEventPages(background, wanted, limit);
  const comparable = (page: unknown) => ({ ...(page as object), places: undefined });
  expect(together.map(comparable)).toEqual(alone.map(comparable));
  return together;
}

test('pages of several programs are the same, whether they are read together or separately', async () => {
  for (const batch of [1, 2, 3]) {
    const names = [`${batch}-a`, `${batch}-b`, `${batch}-c`];
    await commitEvents(background, [
      ...names.map((name) => eventOf(FIRST, name)),
      eventOf(SECOND, `${batch}-d`),
      eventOf(null, `${batch}-of-the-service`),
    ]);
  }
  await relayAll();
  const ranges = [
    [FIRST, 0],
    [FIRST, 4],
    [FIRST, 9],
    [SECOND, 1],
    [EMPTY, 0],
  ] as const;
  for (const limit of [1, 2, 4, 100]) await expectSame(ranges, limit);
  const pages = await expectSame(ranges, 4);
  expect(pages.map((page) => 'end' in page && [page.events.length, page.end, page.isFull])).toEqual([
    [4, 4, true],
    [4, 8, true],
    [0, 9, false],
    [2, 3, false],
    [0, 0, false],
  ]);
});

test('an event that all programs share is in the page of each program', async () => {
  await owner.query(
    `insert into program (program_id, name, currency, time_zone, created_at)
        select program_id, 'of events', 'USD', 'UTC', now()
      from unnest($1::uuid[]) as program_id`,
    [[FIRST, SECOND]],
  );
  await commitEvents(background, [eventOf(EVERY_PROGRAM, 'for all')]);
  await relayAll();
  const pages = await expectSame(
    [FIRST, SECOND].map((programId) => [programId, 3]),
    100,
  );
  for (const page of pages) {
    expect('events' in page && page.events.at(-1)).toMatchObject({ subjectId: 'for all', isShared: true });
  }
});

test("the other programs can be read if one program's events are deleted or missing", async () => {
  const [old, broken, whole] = [newProgram(), newProgram(), newProgram()];
  const day = new Date(Date.now() - 60 * 86_400_000);
  await owner.query('select make_event_partition($1, $2)', ['event', day.toISOString().slice(0, 10)]);
  await commitEvents(background, [eventOf(old, 'old')], undefined, day.getTime());
  await relayAll();
  await dropOldEvents(background, 31);
  await commitEvents(background, [eventOf(broken, 'lost')]);
  await commitEvents(background, [eventOf(whole, 'there')]);
  await relayAll();
  await owner.query("delete from event where subject_id = 'lost'");
  const pages = await readEventPages(
    background,
    [old, broken, whole].map((programId) => ({ programId, after: 0 })),
    10,
  );
  expect(pages[0]).toEqual({ oldest: 2 });
  expect(pages[1]).toEqual(new Error('an event that has a position is missing'));
  expect(pages[2]).toMatchObject({ events: [{ subjectId: 'there', position: 1 }], end: 1, isFull: false });
});

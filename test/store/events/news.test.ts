import { afterEach, expect, test } from 'vitest';
import { SERVICE_ITSELF } from '../../../domain/event.ts';
import type { Service } from '../../../server/calls/call.ts';
import type { Database, Statement } from '../../../server/store/connection/database.ts';
import { ALL_EVENTS, EventNews } from '../../../server/subjects/events/event-news.ts';
import { type ListCall, readForWait } from '../../../server/subjects/events/read-events.ts';
import { openLedger, startServer } from '../../harness/ledger.ts';
import { useLedger, useServer } from '../../harness/use-ledger.ts';
import { commitEvents, eventOf, newProgram, relayOnce } from './relayed.ts';

const { connection } = await useServer();
const { database } = useLedger(connection);

/** The duration of the longest waits in milliseconds. Only a wait that nothing wakes lasts this long. */
const LONG = 200_000;

const ends: AbortController[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end.abort();
});

/** Begins a wait. `isOver` says whether the wait has ended. */
function begin(news: EventNews, programId: string, position: number, milliseconds = LONG) {
  const end = new AbortController();
  ends.push(end);
  const wait = { isOver: false, end: () => end.abort() };
  void news.wait(programId, position, milliseconds, end.signal).then(() => {
    wait.isOver = true;
  });
  return wait;
}

/** Commits an event and gives it its position, without a notification. */
async function publish(programId: string | null): Promise<void> {
  await commitEvents(database, [eventOf(programId, 'x')]);
  await relayOnce(database);
}

test('a reader that begins to wait after the event is woken immediately', async () => {
  const programId = newProgram();
  await publish(programId);
  const news = new EventNews(database);
  const [behind, atEnd] = [begin(news, programId, 0), begin(news, programId, 1)];
  await expect.poll(() => behind.isOver).toBe(true);
  expect(atEnd.isOver).toBe(false);
  expect(news.waiting).toBe(1);
});

test('an event of another process wakes only the readers that wait for it', async () => {
  const [mine, other] = [newProgram(), newProgram()];
  const news = new EventNews(database);
  const waits = [begin(news, mine, 0), begin(news, mine, 0)];
  const [ofOther, later] = [begin(news, other, 0), begin(news, mine, 1)];
  await publish(mine);
  await expect.poll(() => waits.every(({ isOver }) => isOver)).toBe(true);
  expect([ofOther.isOver, later.isOver]).toEqual([false, false]);
  await publish(mine);
  await expect.poll(() => later.isOver).toBe(true);
  expect(ofOther.isOver).toBe(false);
});

test('a reader of all events is woken by the events of every program and of the service', async () => {
  const news = new EventNews(database);
  for (const programId of [newProgram(), null]) {
    const number = await lastNumber();
    const wait = begin(news, ALL_EVENTS, number);
    await publish(programId);
    await expect.poll(() => wait.isOver).toBe(true);
  }
});

test('readers are woken immediately by events of their own relay, even while the database does not respond', async () => {
  const own = await startServer();
  const ledger = openLedger(own.connection);
  try {
    const news = new EventNews(ledger.database);
    const [program, other] = [newProgram(), newProgram()];
    const [wait, all, ofOther] = [begin(news, program, 5), begin(news, ALL_EVENTS, 5), begin(news, other, 5)];
    await own.stop();
    news.announce([program]);
    await expect.poll(() => [wait.isOver, all.isOver, ofOther.isOver]).toEqual([true, true, false]);
    news.announce([SERVICE_ITSELF]);
    expect(ofOther.isOver).toBe(false);
    ofOther.end();
    await expect.poll(() => news.waiting).toBe(0);
  } finally {
    await ledger.close();
  }
});

test('a wait ends at its time limit, or when it is canceled', async () => {
  const news = new EventNews(database);
  const program = newProgram();
  const [short, aborted] = [begin(news, program, 0, 50), begin(news, program, 0)];
  await expect.poll(() => short.isOver).toBe(true);
  expect(aborted.isOver).toBe(false);
  aborted.end();
  await expect.poll(() => aborted.isOver).toBe(true);
  expect(news.waiting).toBe(0);
});

test('waits that one event wakes share one read, even if some of their callers have disconnected', async () => {
  const programId = newProgram();
  await publish(programId);
  let statements = 0;
  const counted = {
    read: (statement: Statement) => {
      statements += 1;
      return database.read(statement);
    },
  } as Database;
  const call = { operation: 'list_events', programId } as ListCall;
  const source = {
    programId,
    headOf: programId,
    onlyOf: undefined,
    types: undefined,
    subjectId: undefined,
    write: String,
  };
  const wait = (types: readonly string[] | undefined, isGone: () => boolean) =>
    readForWait(
      { database: counted } as Service,
      call,
      { programId, deadline: Number.POSITIVE_INFINITY, isGone },
      {
        source: { ...source, types },
        limit: 10,
      },
      0,
    );
  const alone = await wait(undefined, () => false);
  expect(alone.events).toHaveLength(1);
  const ofOne = statements;
  statements = 0;
  const all = await Promise.all(Array.from({ length: 50 }, (_, at) => wait(undefined, () => at === 0)));
  expect(all).toEqual(Array(50).fill(alone));
  expect(statements).toBe(ofOne);
  // Waits with other filters, and a later wait with the same filter, need another read.
  expect(
    (await Promise.all([wait(undefined, () => false), wait(['card.*'], () => false)])).map(
      ({ events }) => events.length,
    ),
  ).toEqual([1, 0]);
  expect(statements).toBe(3 * ofOne);
});

test('a wait that shares a read has its own deadline', async () => {
  const programId = newProgram();
  await publish(programId);
  const reading = Promise.withResolvers<void>();
  const slow = {
    read: async (statement: Statement) => {
      await reading.promise;
      return database.read(statement);
    },
  } as Database;
  const source = { programId, headOf: programId, onlyOf: undefined, types: undefined, subjectId: undefined };
  const wait = (limit: number, milliseconds: number) =>
    readForWait(
      { database: slow } as Service,
      { operation: 'list_events', programId } as ListCall,
      { programId, deadline: performance.now() + milliseconds },
      { source: { ...source, write: String }, limit },
      0,
    );
  // At most three reads run at a time, so the next read waits.
  const begun = [1, 2, 3].map((limit) => wait(limit, 1));
  const [short, long] = [wait(4, 50), wait(4, 600_000)];
  await expect(short).rejects.toMatchObject({ busy: true });
  await expect(wait(4, -1)).rejects.toMatchObject({ busy: true });
  reading.resolve();
  expect((await long).events).toHaveLength(1);
  for (const read of begun) expect((await read).events).toHaveLength(1);
});

async function lastNumber(): Promise<number> {
  const text = `select coalesce((select position from event_head where program_id = '${ALL_EVENTS}'), 0) as last`;
  const [row] = await database.read({ name: 'last_number', text, values: [] });
  return Number(row?.last);
}

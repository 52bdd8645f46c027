import { expect, test } from 'vitest';
import { STARTS } from '../../../server/store/connection/connections.ts';
import { openDatabases } from '../../../server/store/connection/databases.ts';
import { readEventPage, type StoredEvent } from '../../../server/store/events/read-events.ts';
import { connect } from '../../harness/ledger.ts';
import { useLedger, useServer } from '../../harness/use-ledger.ts';
import { commitEvents, eventOf, newProgram, relayOnce, writeEvents } from './relayed.ts';

// Runs writers, two relays and readers at the same time, with transactions that end in every way. The counts are fixed,
// and the checks do not depend on speed.

const server = await useServer();
// Waits for the relay's lock without a time limit, because two loops and all writers need it.
const { background } = useLedger(server.connection, undefined, undefined, STARTS).databases;

const PROGRAMS = [newProgram(), newProgram(), newProgram()];
const WRITERS = 6;
const BATCHES = 60;

/** The committed subjects of each program in each writer's order, and the subjects that must never appear. */
const committed = new Map<string, string[]>(PROGRAMS.map((programId) => [programId, []]));
const rolledBack = new Set<string>();

async function write(writer: number): Promise<void> {
  const client = await connect(server.connection);
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const events = Array.from({ length: 1 + ((writer + batch) % 5) }, (_, at) =>
      eventOf(PROGRAMS[(writer + batch + at) % 3] ?? '', `${writer}-${batch}-${at}`),
    );
    const isRolledBack = (writer + batch) % 6 === 0;
    const isLate = (writer + batch) % 6 === 1;
    if (isRolledBack) for (const { subjectId } of events) rolledBack.add(subjectId);
    if (isRolledBack || isLate) {
      await client.query('begin');
      await writeEvents(client, events);
      // Younger transactions commit and are relayed in the meantime.
      for (let younger = 0; isLate && younger < 3; younger += 1) {
        const subjects = eventOf(PROGRAMS[0] ?? '', `${writer}-${batch}-younger-${younger}`);
        await commitEvents(background, [subjects]);
        note([subjects]);
        await relayOnce(background);
      }
      await client.query(isLate ? 'commit' : 'rollback');
    } else {
      await commitEvents(background, events);
    }
    if (!isRolledBack) note(events);
  }
  await client.end();
}

function note(events: readonly { readonly programId: string | null; readonly subjectId: string }[]): void {
  for (const { programId, subjectId } of events) committed.get(programId ?? '')?.push(subjectId);
}

/** Reads a program's events, or all programs' events by number, until `isDone` returns true and no events are left. */
async function read(programId: string | undefined, isDone: () => boolean): Promise<readonly StoredEvent[]> {
  const seen: StoredEvent[] = [];
  for (;;) {
    const last = isDone();
    const at = seen.at(-1);
    const after = (programId === undefined ? at?.number : at?.position) ?? 0;
    const page = await readEventPage(background, { programId, after, limit: 37 });
    if ('oldest' in page) throw new Error('events are deleted');
    seen.push(...page.events);
    if (last && page.events.length === 0) return seen;
  }
}

test('readers get every committed event once, in order, and no other event', async () => {
  const others = openDatabases(server.connection, undefined, STARTS);
  let isWritten = false;
  let isRelayed = false;
  const relay = async (database: typeof background): Promise<void> => {
    for (;;) {
      const last = isWritten;
      const { found } = await relayOnce(database);
      if (last && found === 0) return;
    }
  };
  const relays = Promise.all([relay(background), relay(others.background)]);
  const readers = [...PROGRAMS, ...PROGRAMS, undefined].map((programId) => read(programId, () => isRelayed));
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  isWritten = true;
  await relays;
  isRelayed = true;
  const seen = await Promise.all(readers);
  await others.close();

  for (const [at, programId] of [...PROGRAMS, ...PROGRAMS].entries()) {
    const events = seen[at] ?? [];
    expect(events.map(({ position }) => position)).toEqual(events.map((_, place) => place + 1));
    const subjects = events.map(({ subjectId }) => subjectId);
    expect(subjects.filter((subjectId) => rolledBack.has(subjectId))).toEqual([]);
    expect([...subjects].sort()).toEqual([...(committed.get(programId) ?? [])].sort());
    // A writer waits for each of its commits, so its events must be in its order.
    for (let writer = 0; writer < WRITERS; writer += 1) {
      const own = (list: readonly string[]) => list.filter((subject) => subject.startsWith(`${writer}-`));
      expect(own(subjects)).toEqual(own(committed.get(programId) ?? []));
    }
  }
  const all = seen.at(-1) ?? [];
  expect(all.map(({ number }) => number)).toEqual(all.map((_, place) => place + 1));
  expect(all.length).toBeGreaterThanOrEqual([...committed.values()].flat().length);
});

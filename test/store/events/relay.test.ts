import { expect, test } from 'vitest';
import { EVERY_PROGRAM } from '../../../domain/event.ts';
import { DEMO_PROGRAM_ID } from '../../../domain/sandbox.ts';
import { findEvent, readEventPage } from '../../../server/store/events/read-events.ts';
import { useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';
import { commitEvents, eventOf, newProgram, readAll, relayOnce } from './relayed.ts';

const server = await useServer();
const ledger = useLedger(server.connection);
const owner = await useConnection(server.connection);
const { background } = ledger.databases;

test('events of each program are numbered in the order of their transactions, and events without a position are hidden', async () => {
  const [first, second] = [newProgram(), newProgram()];
  await commitEvents(background, [eventOf(first, 'a'), eventOf(second, 'b'), eventOf(first, 'c'), eventOf(null, 'd')]);
  await commitEvents(background, [eventOf(second, 'e'), eventOf(first, 'f')]);
  expect(await readAll(background, { programId: first })).toEqual([]);
  const { programIds } = await relayOnce(background);
  expect(programIds).toEqual(expect.arrayContaining([first, second]));

  const ofFirst = await readAll(background, { programId: first });
  expect(ofFirst.map(({ position, subjectId }) => [position, subjectId])).toEqual([
    [1, 'a'],
    [2, 'c'],
    [3, 'f'],
  ]);
  const ofSecond = await readAll(ledger.databases.application.forProgram(second), { programId: second });
  expect(ofSecond.map(({ position, subjectId }) => [position, subjectId])).toEqual([
    [1, 'b'],
    [2, 'e'],
  ]);
  expect(await readAll(ledger.databases.application.forProgram(second), { programId: first })).toEqual([]);
  const all = await readAll(background, {});
  expect(all.map(({ number }) => number)).toEqual(all.map((_, at) => at + 1));
  expect(all.slice(-6).map(({ subjectId, programId }) => [subjectId, programId])).toEqual(
    expect.arrayContaining([
      ['d', null],
      ['a', first],
      ['c', first],
      ['b', second],
      ['e', second],
      ['f', first],
    ]),
  );
  for (const event of all) expect(await findEvent(background, event.eventId)).toEqual(event);
  expect((await relayOnce(background)).found).toBe(0);
});

test('an event for every program gets a position in each program, and no number', async () => {
  const before = await readAll(background, {});
  const demo = await readAll(background, { programId: DEMO_PROGRAM_ID });
  await commitEvents(background, [eventOf(null, 'with the reason'), eventOf(EVERY_PROGRAM, 'without')]);
  await relayOnce(background);
  const { rows } = await owner.query<{ program_id: string }>('select program_id from program');
  expect(rows.length).toBeGreaterThan(0);
  for (const { program_id: programId } of rows) {
    const last = (await readAll(ledger.databases.application.forProgram(programId), { programId })).at(-1);
    expect(last).toMatchObject({ subjectId: 'without', programId, isShared: true });
    expect(await findEvent(background, last?.eventId ?? '', programId)).toEqual(last);
  }
  expect((await readAll(background, { programId: DEMO_PROGRAM_ID })).length).toBe(demo.length + 1);
  const after = await readAll(background, {});
  expect(after.slice(before.length).map(({ subjectId }) => subjectId)).toEqual(['with the reason']);
});

test('no event is skipped if a page ends within a transaction, in both directions', async () => {
  const programId = newProgram();
  for (let batch = 0; batch < 7; batch += 1) {
    await commitEvents(
      background,
      Array.from({ length: 1 + ((batch * 3) % 5) }, (_, at) => eventOf(programId, `${batch}-${at}`)),
    );
  }
  await relayOnce(background);
  const all = await readAll(background, { programId });
  for (const limit of [1, 2, 3, 100]) {
    for (const { position } of all) {
      const after = await readEventPage(background, { programId, limit, after: position });
      expect(after).toMatchObject({ events: all.slice(position, position + limit) });
      const before = await readEventPage(background, { programId, limit, before: position });
      expect(before).toMatchObject({
        events: all.slice(Math.max(0, position - 1 - limit), position - 1).reverse(),
        end: Math.max(1, position - limit),
      });
    }
  }
  const one = await readEventPage(background, { programId, limit: 10, after: 0, subjectId: '3-1' });
  expect(one).toMatchObject({ events: [{ subjectId: '3-1' }], end: all.length });
  const none = await readEventPage(background, { programId, limit: 10, after: 0, types: ['card.*'] });
  expect(none).toMatchObject({ events: [], end: all.length });
  const family = await readEventPage(background, { programId, limit: 100, after: 0, types: ['transfer.*'] });
  expect(family).toMatchObject({ events: all });
});

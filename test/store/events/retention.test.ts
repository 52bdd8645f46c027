import { afterEach, expect, test } from 'vitest';
import type { DomainEvent } from '../../../domain/event.ts';
import { idAt } from '../../../server/foundation/ids.ts';
import { findEvent, readEventPage } from '../../../server/store/events/read-events.ts';
import { dropOldEvents } from '../../../server/store/events/retention.ts';
import { checkBalances, useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';
import { commitEvents, eventOf, newProgram, readAll, relayOnce } from './relayed.ts';

const server = await useServer();
const ledger = useLedger(server.connection);
checkBalances(ledger);
const owner = await useConnection(server.connection);
const { background } = ledger.databases;
const DAY = 86_400_000;

afterEach(async () => {
  await owner.query('rollback');
  await relayAll();
  await dropOldEvents(background, 31);
});

async function relayAll(): Promise<void> {
  while ((await relayOnce(background)).found > 0);
}

/** A single time for the whole file, so that partitions keep their names if a day ends. */
const NOW = Date.now();

const dayOf = (days: number): string => new Date(NOW - days * DAY).toISOString().slice(0, 10);
const nameOf = (table: string, days: number): string => `${table}_${dayOf(days).replaceAll('-', '_')}`;
const makeDay = (table: string, days: number) =>
  owner.query('select make_event_partition($1, $2)', [table, dayOf(days)]);

/** Commits events that are some days old. The age of the fence depends on the transaction's id. */
const commitOld = (days: number, events: readonly DomainEvent[], batchId?: string) =>
  commitEvents(background, events, batchId, NOW - days * DAY);

async function partitionsOf(table: string): Promise<readonly string[]> {
  const { rows } = await owner.query<{ name: string }>(
    'select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass order by 1',
    [table],
  );
  return rows.map(({ name }) => name);
}

const countOf = async (table: string): Promise<number> =>
  (await owner.query(`select count(*)::int from ${table}`)).rows[0]?.count;

test('drops the days of events past the retention, and tells readers where the remaining events begin', async () => {
  const programId = newProgram();
  for (const days of [60, 40, 39]) await makeDay('event', days);
  await commitOld(60, [eventOf(programId, '1'), eventOf(programId, '2')]);
  const [second] = [await commitOld(40, [eventOf(programId, '3')])];
  await commitOld(39, [eventOf(programId, '4'), eventOf(programId, '5')]);
  await relayAll();
  const all = await readAll(background, { programId });

  expect(await dropOldEvents(background, 90)).toEqual([]);
  expect(await dropOldEvents(background, 50)).toEqual([nameOf('event', 60)]);
  expect(await partitionsOf('event')).toContain(nameOf('event', 40));
  for (const after of [0, 1]) {
    expect(await readEventPage(background, { programId, limit: 10, after })).toEqual({ oldest: 3 });
  }
  expect(await readEventPage(background, { programId, limit: 10, after: 2 })).toMatchObject({ events: all.slice(2) });
  expect(await readEventPage(background, { programId, limit: 10, before: 6 })).toMatchObject({
    events: all.slice(2).reverse(),
    end: 3,
    isFull: false,
  });
  expect(await findEvent(background, all[0]?.eventId ?? '')).toBeUndefined();
  expect(await findEvent(background, all[2]?.eventId ?? '')).toEqual(all[2]);
  expect(all[2]?.eventId.slice(0, -4)).toBe(second?.slice(0, -4));

  expect(await dropOldEvents(background, 31)).toEqual([nameOf('event', 40), nameOf('event', 39)]);
  expect(await readEventPage(background, { programId, limit: 10, after: 0 })).toEqual({ oldest: 6 });
  expect(await readEventPage(background, { programId, limit: 10, after: 5 })).toMatchObject({
    events: [],
    end: 5,
    isFull: false,
  });
  const [{ number } = { number: 0 }] = all.slice(-1);
  expect(await readEventPage(background, { limit: 10, after: number - 1 })).toMatchObject({ oldest: number + 1 });
});

test('keeps at least 31 days of events and 7 days of fences', async () => {
  await makeDay('event', 20);
  await makeDay('write_batch', 3);
  await commitOld(20, [eventOf(newProgram(), 'a')], idAt(NOW - 3 * DAY));
  await relayAll();
  expect(await dropOldEvents(background, 1)).toEqual([]);
  expect(await partitionsOf('event')).toContain(nameOf('event', 20));
});

test('deletes old events outside of partitions', async () => {
  const programId = newProgram();
  await commitOld(50, [eventOf(programId, '1')]);
  await commitOld(2, [eventOf(programId, '2')]);
  const before = await countOf('event_default');
  await relayAll();
  expect(await dropOldEvents(background, 31)).toEqual([]);
  expect(await countOf('event_default')).toBe(before - 1);
  expect(await readEventPage(background, { programId, limit: 10, after: 0 })).toEqual({ oldest: 2 });
  expect(await readAll(background, { programId, after: 1 })).toMatchObject([{ subjectId: '2' }]);
});

test('drops no events or fences while older events have no position', async () => {
  const programId = newProgram();
  await makeDay('event', 45);
  await commitOld(45, [eventOf(programId, '1')]);
  await commitOld(44, [eventOf(programId, '2')]);
  expect(await dropOldEvents(background, 31)).toEqual([]);
  expect(await partitionsOf('event')).toContain(nameOf('event', 45));
  await relayAll();
  const all = await readAll(background, { programId });
  expect(all.map(({ subjectId }) => subjectId)).toEqual(['1', '2']);
  expect(await dropOldEvents(background, 31)).toEqual([nameOf('event', 45)]);
});

test('drops a partition of fences if all of them are numbered or abandoned', async () => {
  const programId = newProgram();
  // The first partition contains every day before the migration. Without it, a day can have its own partition.
  const [first] = (await partitionsOf('write_batch')).filter((name) => name.includes('_until_'));
  await owner.query(`alter table write_batch detach partition ${first}`);
  await makeDay('write_batch', 20);
  const old = idAt(NOW - 20 * DAY);
  await commitEvents(background, [eventOf(programId, '1')], old);
  await background.settle(idAt(NOW - 20 * DAY), performance.now() + 240_000);
  expect(await countOf(nameOf('write_batch', 20))).toBe(2);
  expect(await dropOldEvents(background, 31)).toEqual([]);
  await relayAll();
  expect(await dropOldEvents(background, 31)).toEqual([nameOf('write_batch', 20)]);
  expect(await readAll(background, { programId })).toHaveLength(1);
  // This transaction has no partition.
  await commitEvents(background, [eventOf(programId, '2')], idAt(NOW - 20 * DAY));
  await relayAll();
  await dropOldEvents(background, 31);
  expect(await countOf('write_batch_default')).toBe(0);
});

test('drops a month of positions once all their events are dropped', async () => {
  const programId = newProgram();
  await commitOld(70, [eventOf(programId, '1')]);
  await relayAll();
  await owner.query("update event_position set relayed_at = relayed_at - interval '40 days' where program_id = $1", [
    programId,
  ]);
  await owner.query("select make_event_partition('event_position', $1)", [dayOf(100)]);
  await owner.query("update event_position set relayed_at = relayed_at - interval '60 days' where program_id = $1", [
    programId,
  ]);
  const month = `event_position_${dayOf(100).slice(0, 7).replace('-', '_')}`;
  expect(await countOf(month)).toBe(1);
  expect(await dropOldEvents(background, 80)).toEqual([]);
  expect(await dropOldEvents(background, 60)).toEqual([month]);
  expect(await readEventPage(background, { programId, limit: 10, after: 0 })).toMatchObject({
    events: [],
    end: 0,
    isFull: false,
  });
});

test('leaves a partition to the next run while it is in use, and makes no transfer fail', async () => {
  const programId = newProgram();
  await makeDay('event', 33);
  await commitOld(33, [eventOf(programId, '1')]);
  await relayAll();
  await owner.query('begin; lock table event in row exclusive mode');
  const dropping = dropOldEvents(background, 31);
  let isDone = false;
  void dropping.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    const made = await ledger.call('create_transfer', { amount: 1, card_id: 'card_active' });
    expect(JSON.parse(made.body)).toMatchObject({ status: 'completed' });
  }
  expect(await dropping).toEqual([]);
  await owner.query('commit');
  expect(await dropOldEvents(background, 31)).toEqual([nameOf('event', 33)]);
});

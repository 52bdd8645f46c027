import { afterEach, expect, test } from 'vitest';
import { idAt, newBatchId } from '../../../server/foundation/ids.ts';
import { STARTS } from '../../../server/store/connection/connections.ts';
import { findEvent } from '../../../server/store/events/read-events.ts';
import { HOLD_RELAY, relayEvents } from '../../../server/store/events/relay.ts';
import { preparePartitions } from '../../../server/store/partition.ts';
import { waitFor } from '../../harness/process.ts';
import { checkBalances, useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';
import { commitEvents, eventOf, newProgram, readAll, relayOnce, writeEvents } from './relayed.ts';

// Runs transactions, two relays and readers concurrently, but with their steps in a fixed order.

const server = await useServer();
const ledger = useLedger(server.connection, undefined, undefined, STARTS);
checkBalances(ledger);
const [owner, other, watcher] = [
  await useConnection(server.connection),
  await useConnection(server.connection),
  await useConnection(server.connection),
];
const { background } = ledger.databases;

afterEach(async () => {
  await owner.query('rollback');
  await other.query('rollback');
  await relayOnce(background);
});

const subjectsOf = async (programId: string) =>
  (await readAll(background, { programId })).map(({ position, subjectId }) => `${position} ${subjectId}`);

async function waitsForLock(count = 1): Promise<boolean> {
  const { rows } = await watcher.query(`select from pg_locks where not granted`);
  return rows.length >= count;
}

test('a transaction that commits late comes after younger transactions that already have numbers', async () => {
  const programId = newProgram();
  await owner.query('begin');
  const batchId = await writeEvents(owner, [eventOf(programId, 'late')]);
  await commitEvents(background, [eventOf(programId, 'a')]);
  await commitEvents(background, [eventOf(programId, 'b')]);
  await relayOnce(background);
  expect(await subjectsOf(programId)).toEqual(['1 a', '2 b']);
  expect(await findEvent(background, batchId.replace(/0000$/, '0001'))).toBeUndefined();
  await owner.query('commit');
  expect(await subjectsOf(programId)).toEqual(['1 a', '2 b']);
  await commitEvents(background, [eventOf(programId, 'c')]);
  await relayOnce(background);
  expect(await subjectsOf(programId)).toEqual(['1 a', '2 b', '3 late', '4 c']);
  expect((await readAll(background, { programId, after: 2 })).map(({ subjectId }) => subjectId)).toEqual(['late', 'c']);
});

test('a transaction comes after those that had committed when it began, whatever their ids are', async () => {
  const programId = newProgram();
  // These ids come from processes whose clocks differ by a second.
  await commitEvents(background, [eventOf(programId, 'first')], idAt(Date.now() + 1000));
  await commitEvents(background, [eventOf(programId, 'second')], newBatchId());
  await relayOnce(background);
  expect(await subjectsOf(programId)).toEqual(['1 first', '2 second']);
});

test('a transaction that is rolled back or abandoned gets no position', async () => {
  const programId = newProgram();
  await owner.query('begin');
  const [rolledBack, abandoned] = [await writeEvents(owner, [eventOf(programId, 'rolled back')]), newBatchId()];
  await owner.query('rollback');
  expect(await background.settle(abandoned, performance.now() + 240_000)).toBe('abandoned');
  await expect(commitEvents(background, [eventOf(programId, 'abandoned')], abandoned)).rejects.toThrow();
  await commitEvents(background, [eventOf(programId, 'a')]);
  await relayOnce(background);
  expect(await subjectsOf(programId)).toEqual(['1 a']);
  for (const batchId of [rolledBack, abandoned]) {
    expect(await findEvent(background, batchId.replace(/0000$/, '0001'))).toBeUndefined();
  }
});

test('no event is numbered twice if a relay waited for another one', async () => {
  const programId = newProgram();
  await commitEvents(background, [eventOf(programId, 'a')]);
  await owner.query('begin');
  await owner.query(HOLD_RELAY.text);
  const relay = relayEvents(null);
  await owner.query(relay.text, [...relay.values]);
  const second = relayOnce(background);
  await waitFor('the second relay to wait', () => waitsForLock());
  await commitEvents(background, [eventOf(programId, 'b')]);
  await owner.query('commit');
  expect((await second).found).toBe(1);
  expect(await subjectsOf(programId)).toEqual(['1 a', '2 b']);
  const all = await readAll(background, {});
  expect(all.map(({ number }) => number)).toEqual(all.map((_, at) => at + 1));
});

test('nothing changes if a relay ends before its commit', async () => {
  const programId = newProgram();
  await commitEvents(background, [eventOf(programId, 'a')]);
  await owner.query('begin');
  await owner.query(HOLD_RELAY.text);
  const relay = relayEvents(null);
  await owner.query(relay.text, [...relay.values]);
  await owner.query('rollback');
  expect(await subjectsOf(programId)).toEqual([]);
  await relayOnce(background);
  expect(await subjectsOf(programId)).toEqual(['1 a']);
});

test('an unbounded search finds a fence that is too old for the bounded search', async () => {
  const programId = newProgram();
  const batchId = await commitEvents(background, [eventOf(programId, 'a')]);
  await owner.query("update write_batch set created_at = created_at - interval '10 minutes' where batch_id = $1", [
    batchId,
  ]);
  await relayOnce(background, 300);
  expect(await subjectsOf(programId)).toEqual([]);
  await relayOnce(background);
  expect(await subjectsOf(programId)).toEqual(['1 a']);
});

test('partitions are created later if a reader holds a lock for a long time', async () => {
  const day = '2031-05-06';
  const countOf = async () => (await watcher.query("select from pg_class where relname = 'event_2031_05_06'")).rowCount;
  await owner.query('begin; lock table event, event_default in access share mode');
  await preparePartitions(background, new Date(day));
  expect(await countOf()).toBe(0);
  await owner.query('commit');
  await preparePartitions(background, new Date(day));
  expect(await countOf()).toBe(1);
});

test('money moves, and events are numbered and read, without any partition', async () => {
  const { rows } = await owner.query<{ name: string }>(
    `select inhparent::regclass || ' detach partition ' || inhrelid::regclass as name from pg_inherits
      join pg_class on pg_class.oid = inhrelid
      where inhparent in ('event'::regclass, 'write_batch'::regclass, 'event_position'::regclass)
        and relname !~ '_default$'`,
  );
  for (const { name } of rows) await owner.query(`alter table ${name}`);
  const programId = newProgram();
  await commitEvents(background, [eventOf(programId, 'a'), eventOf(programId, 'b')]);
  const made = JSON.parse((await ledger.call('create_transfer', { amount: 1, card_id: 'card_active' })).body);
  expect(made.status).toBe('completed');
  await relayOnce(background);
  expect(await subjectsOf(programId)).toEqual(['1 a', '2 b']);
  // Days with rows in the default partition stay there. All other days get their own partitions.
  await preparePartitions(background);
  await commitEvents(background, [eventOf(programId, 'c')]);
  await relayOnce(background);
  expect(await subjectsOf(programId)).toEqual(['1 a', '2 b', '3 c']);
});

import { expect, test } from 'vitest';
import { databaseTime, hourOf } from '../../foundation/database-clock.ts';
import type { Statement } from '../../store/connection/database.ts';
import { TransferCounts } from './overview.ts';

const HOUR = 3_600_000;
const PROGRAMS = Array.from(
  { length: 2_500 },
  (_, index) => `00000000-0000-0000-0000-${String(index).padStart(12, '0')}`,
);

function openStore() {
  const sent: Statement[] = [];
  const store = {
    isFailing: false,
    sent,
    database: {
      writeUnguarded: async (statement: Statement) => {
        sent.push(statement);
        if (store.isFailing) throw new Error('no database');
        return [];
      },
    },
  };
  return store;
}

test('sends no statement if nothing has changed', async () => {
  const { database, sent } = openStore();
  const counts = new TransferCounts();
  await counts.store(database);
  counts.note(PROGRAMS[0] ?? '', 'load');
  await counts.store(database);
  await counts.store(database);
  expect(sent).toHaveLength(1);
  expect(counts.total).toBe(1);
});

test('stores the counts of many programs in several statements', async () => {
  const { database, sent } = openStore();
  const counts = new TransferCounts();
  for (const program of PROGRAMS) counts.note(program, 'unload');
  await counts.store(database);
  expect(sent).toHaveLength(3);
});

test('sends counts again after a failure, even when their hour is over, but stores them only once', async () => {
  const store = openStore();
  const counts = new TransferCounts();
  counts.note(PROGRAMS[0] ?? '', 'load');
  store.isFailing = true;
  await expect(counts.store(store.database)).rejects.toThrow('no database');
  counts.tick(databaseTime() + HOUR);
  counts.note(PROGRAMS[0] ?? '', 'load');
  store.isFailing = false;
  await counts.store(store.database);
  expect(store.sent).toHaveLength(3);
  await counts.store(store.database);
  expect(store.sent).toHaveLength(3);
  expect(counts.total).toBe(2);
});

test('begins a new count at each full hour', () => {
  expect(new Date(hourOf(Date.parse('2030-01-31T09:59:59.999Z'))).toISOString()).toBe('2030-01-31T09:00:00.000Z');
});

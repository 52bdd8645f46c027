import { expect, test } from 'vitest';
import { useConnection, useServer } from '../harness/use-ledger.ts';

const server = await useServer();
const client = await useConnection(server.connection);

test.each([
  ['an ordinary day', '2026-06-01 00:00', 'Europe/Berlin', '2026-05-31T22:00:00.000Z'],
  [
    'the day on which clocks are put back, long after midnight',
    '2026-10-25 00:00',
    'Europe/Berlin',
    '2026-10-24T22:00:00.000Z',
  ],
  ['a day that has midnight twice', '2026-11-01 00:00', 'America/Havana', '2026-11-01T04:00:00.000Z'],
  ['a day that has no midnight', '2026-03-08 00:00', 'America/Havana', '2026-03-08T05:00:00.000Z'],
  ['half an hour off', '2026-06-01 00:00', 'Asia/Kolkata', '2026-05-31T18:30:00.000Z'],
])('%s begins with its first instant', async (_what, local, zone, expected) => {
  const { rows } = await client.query('select instant_of($1::timestamp, $2) as instant', [local, zone]);
  expect((rows[0].instant as Date).toISOString()).toBe(expected);
});

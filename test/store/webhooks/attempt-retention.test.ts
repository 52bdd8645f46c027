import { expect, test } from 'vitest';
import { dropOldAttempts } from '../../../server/store/webhooks/attempt.ts';
import { useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';

const server = await useServer();
const { database } = useLedger(server.connection);
const owner = await useConnection(server.connection);
const DAY = 86_400_000;
const dayOf = (days: number): string => new Date(Date.now() - days * DAY).toISOString().slice(0, 10);

test('deliveries are kept for the configured number of days', async () => {
  const name = `webhook_attempt_${dayOf(20).replaceAll('-', '_')}`;
  await owner.query('select make_attempt_partition($1)', [dayOf(20)]);
  expect(await dropOldAttempts(database, 21)).toEqual([]);
  expect(await dropOldAttempts(database, 14)).toEqual([name]);
});

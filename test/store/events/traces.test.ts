import { expect, test } from 'vitest';
import { newBatchId } from '../../../server/foundation/ids.ts';
import { insertEvents } from '../../../server/store/events/insert-events.ts';
import { checkBalances, useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';
import { eventOf } from './relayed.ts';

const server = await useServer();
const ledger = useLedger(server.connection);
checkBalances(ledger);
const client = await useConnection(server.connection);

const traceOf = (index: number): string => `00-${String(index).padStart(32, 'a')}-00f067aa0ba902b7-01`;

test('each event of a group is stored with the trace of its request, or without one', async () => {
  const requests = Array.from({ length: 12 }, (_, index) => (index % 3 === 0 ? undefined : traceOf(index)));
  const created = await Promise.all(
    requests.map(async (traceparent) => {
      const { body } = await ledger.call('create_transfer', { amount: 1, card_id: 'card_active' }, { traceparent });
      return (JSON.parse(body) as { transfer_id: string }).transfer_id;
    }),
  );
  const { rows } = await client.query<{ subject_id: string; traceparent: string | null; size: string }>(
    `select subject_id, traceparent, count(*) over (partition by batch_id) as size from event
      where subject_id = any ($1)`,
    [created],
  );
  expect(new Map(rows.map(({ subject_id, traceparent }) => [subject_id, traceparent ?? undefined]))).toEqual(
    new Map(created.map((id, index) => [id, requests[index]])),
  );
  // The first transfer is committed alone. The others wait and form a group.
  expect(Math.max(...rows.map(({ size }) => Number(size)))).toBeGreaterThan(2);
});

test("the trace's column is left out if no event has one", () => {
  const events = [eventOf(null, 'a'), { ...eventOf(null, 'b'), traceparent: undefined }];
  expect(insertEvents(newBatchId(), events, 1).name).toBe('insert_events');
  expect(insertEvents(newBatchId(), [...events, { ...eventOf(null, 'c'), traceparent: traceOf(3) }], 1).name).toBe(
    'insert_traced_events',
  );
});

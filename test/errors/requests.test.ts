import { randomUUIDv7 } from 'node:crypto';
import { expect, test } from 'vitest';
import type { RequestRecord } from '../../contract/service/requests.ts';
import { toWireId } from '../../domain/identifier.ts';
import { checkBalances, useConnection, useLedger, useServer } from '../harness/use-ledger.ts';

// Tests inspect_request with traces that a caller cannot cause at will: a lost response, and rows from version 0.1.

const server = await useServer();
const ledger = useLedger(server.connection);
checkBalances(ledger);
const client = await useConnection(server.connection);

async function lookUp(requestId: string): Promise<RequestRecord> {
  const params = { request_id: toWireId('req', requestId) };
  return JSON.parse((await ledger.call('inspect_request', {}, { params, programId: '' })).body);
}

/** Stores the error of a request with an unknown outcome. */
function storeUnknown(requestId: string): Promise<unknown> {
  return client.query(
    `insert into error (request_id, created_at, operation, code, status, type, message, money_moved, causes)
      values ($1, uuid_extract_timestamp($1::uuid), 'create_transfer', 'unknown_create_transfer', 500, 'Process Error',
        'The transfer could not be created.', 'unknown', '[]')`,
    [requestId],
  );
}

async function load(requestId: string): Promise<string> {
  const { body } = await ledger.call('create_transfer', { amount: 5, card_id: 'card_active' }, { requestId });
  return (JSON.parse(body) as { transfer_id: string }).transfer_id;
}

test('finds a transfer whose response was lost, and reports that its money moved', async () => {
  const requestId = randomUUIDv7();
  const transfer_id = await load(requestId);
  await storeUnknown(requestId);
  expect(await lookUp(requestId)).toMatchObject({
    outcome: 'failed',
    status: 500,
    money_moved: 'yes',
    error: { code: 'unknown_create_transfer', money_moved: 'unknown' },
    transfers: [{ transfer_id }],
  });
});

test('leaves an outcome unknown if it finds nothing', async () => {
  const requestId = randomUUIDv7();
  await storeUnknown(requestId);
  expect(await lookUp(requestId)).toMatchObject({ money_moved: 'unknown', transfers: [], complete: true });
});

test('finds a transfer of version 0.1 with its event, and reports that nothing more is known', async () => {
  const requestId = randomUUIDv7();
  const transfer_id = await load(requestId);
  await client.query('update transfer set created_by = null, idempotency_key = null where request_id = $1', [
    requestId,
  ]);
  await client.query(
    `insert into event (batch_id, index, program_id, type, subject_id, payload, created_at)
      select batch_id, 7, program_id, 'transfer.updated', subject_id, payload, created_at + interval '2 s' from event
      where subject_id = $1`,
    [transfer_id],
  );
  expect(await lookUp(requestId)).toMatchObject({
    operation: 'create_transfer',
    caller: null,
    idempotency_key: null,
    transfers: [{ transfer_id, created_by: null, idempotency_key: null }],
    events: [{ type: 'transfer.completed', subject_id: transfer_id }],
  });
});

test('shows each capture of a group with its own request', async () => {
  const holds = await Promise.all(
    Array.from({ length: 12 }, async () => {
      const { body } = await ledger.call('create_transfer', { amount: 1, card_id: 'card_active', capture: 'manual' });
      return (JSON.parse(body) as { transfer_id: string }).transfer_id;
    }),
  );
  const requests = holds.map(() => randomUUIDv7());
  await Promise.all(
    holds.map((transfer_id, index) =>
      ledger.call('capture_transfer', {}, { params: { transfer_id }, requestId: requests[index] ?? '' }),
    ),
  );
  for (const [index, requestId] of requests.entries()) {
    const { operation, events, transfers } = await lookUp(requestId);
    expect(operation).toBe('capture_transfer');
    expect(events.map(({ subject_id }) => subject_id)).toEqual([holds[index]]);
    expect(transfers.map(({ transfer_id }) => transfer_id)).toEqual([holds[index]]);
  }
});

test('distinguishes a request from all others in the same second', async () => {
  const all = Array.from({ length: 60 }, () => randomUUIDv7());
  const made = await Promise.all(all.map(load));
  for (const [index, requestId] of all.entries()) {
    expect(await lookUp(requestId)).toMatchObject({
      transfer_count: 1,
      transfers: [{ transfer_id: made[index] }],
      events: [{ subject_id: made[index] }],
    });
  }
});

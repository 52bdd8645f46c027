import { afterAll, beforeAll, expect, test } from 'vitest';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import { type ServiceProcess, startService, waitFor } from '../harness/process.ts';

let directory: Awaited<ReturnType<typeof ledgerDirectory>>;
let service: ServiceProcess;

beforeAll(async () => {
  directory = await ledgerDirectory();
  service = await startService({ DATA_DIR: directory.path });
});

afterAll(async () => {
  await service?.stop();
  await directory?.remove();
});

test('a batch with refused rows is found by its request id, and leads to the gravest of them', async () => {
  const { data, response } = await service.client.transfers.createBatch([
    { amount: 1, card_id: 'card_active', idempotency_key: 'good' },
    { amount: 1, card_id: 'card_missing', idempotency_key: 'missing' },
    { amount: 1, card_id: 'card_lost', idempotency_key: 'lost' },
  ]);
  expect(data.map(({ status }) => status)).toEqual([201, 404, 409]);
  const requestId = response.requestId ?? '';
  const look = () => service.client.errors.get(requestId).catch(() => undefined);
  await waitFor('the error of the batch', async () => (await look()) !== undefined);
  expect(await look()).toMatchObject({
    code: 'card_lost',
    operation: 'create_transfer',
    request: { row: 2, refused_rows: 2 },
    money_moved: 'no',
  });
});

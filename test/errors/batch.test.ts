import { expect, test } from 'vitest';
import { waitFor } from '../harness/process.ts';
import { useService } from '../harness/service.ts';

const service = useService();

test('the request id of a batch finds one error: the most severe error of its rows', async () => {
  const { data, response } = await service().client.transfers.createBatch([
    { amount: 1, card_id: 'card_active', idempotency_key: 'good' },
    { amount: 1, card_id: 'card_missing', idempotency_key: 'missing' },
    { amount: 1, card_id: 'card_lost', idempotency_key: 'lost' },
  ]);
  expect(data.map(({ status }) => status)).toEqual([201, 404, 409]);
  const requestId = response.requestId ?? '';
  const look = () =>
    service()
      .client.errors.get(requestId)
      .catch(() => undefined);
  await waitFor('the error of the batch', async () => (await look()) !== undefined);
  expect(await look()).toMatchObject({
    code: 'card_lost',
    operation: 'create_transfer',
    request: { row: 2, refused_rows: 2 },
    money_moved: 'no',
  });
});

import { hash } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { TransferService } from '../../../sdk/client.ts';
import { programKey, withSecret } from '../../harness/keys.ts';
import { expectBalancedBooks, useService } from '../../harness/service.ts';
import { inSeconds, newCard } from '../arrange.ts';

const running = useService();
const client = () => running().client;
afterAll(() => expectBalancedBooks(running()));

describe('the record of a transfer names', () => {
  test('the request, the idempotency key and the caller that created it, even after later changes', async () => {
    const card_id = await newCard(client());
    const idempotencyKey = `order ${card_id}`.replace(' ', '-');
    const held = await client().transfers.create({ amount: 5, card_id, capture: 'manual' }, { idempotencyKey });
    const origin = { request_id: held.response.requestId, idempotency_key: idempotencyKey, created_by: 'sandbox' };
    expect(held).toMatchObject(origin);
    expect(await client().transfers.capture(held.transfer_id)).toMatchObject(origin);
    expect(await client().transfers.update(held.transfer_id, { metadata: { a: 'b' } })).toMatchObject(origin);
    expect(await client().transfers.get(held.transfer_id)).toMatchObject(origin);
    expect((await client().transfers.list({ card_id })).data).toMatchObject([origin]);
    // A replay returns the first response, so it names the first request.
    const replay = await client().transfers.create({ amount: 5, card_id, capture: 'manual' }, { idempotencyKey });
    expect(replay).toEqual(held);
    expect(replay.response.requestId).not.toBe(origin.request_id);
  });

  test('the API key by its id, without a secret', async () => {
    const { program_id } = await client().programs.create({ name: 'Own', currency: 'USD' });
    await client().deposits.create(program_id, { amount: 100 });
    const { key, key_id } = await withSecret(client().keys.create(programKey('Shop', program_id)));
    const own = new TransferService({ baseUrl: running().url, key, timeoutMilliseconds: 120_000 });
    const card_id = await newCard(own);
    const now = await own.transfers.create({ amount: 5, card_id });
    const later = await own.transfers.create({ amount: 5, card_id, scheduled_for: inSeconds(86_400) });
    expect([now.created_by, later.created_by]).toEqual([key_id, key_id]);
    const reversal = await own.transfers.reverse(now.transfer_id, { amount: 2, description: 'Mistake' });
    expect(reversal.created_by).toBe(key_id);
    expect(await own.transfers.reversal(reversal.reversal_id)).toMatchObject({ created_by: key_id });
    expect(await own.requests.get(reversal.response.requestId ?? '')).toMatchObject({ caller: key_id });
    const { steps } = await own.transfers.timeline(now.transfer_id);
    expect(steps.map(({ text }) => text)).toContain(`0.02 USD was reversed by ${key_id}: Mistake`);
    await client().keys.revoke(key_id);
    const [first] = (await client().transfers.list({ card_id }, { programId: program_id })).data;
    expect(first?.created_by).toBe(key_id);
  });

  test('the key of its row and the request of the batch that created it', async () => {
    const card_id = await newCard(client());
    const keys = [`${card_id}-a`, `${card_id}-b`];
    const batch = await client().transfers.createBatch(
      keys.map((idempotency_key) => ({ amount: 5, card_id, idempotency_key })),
    );
    const { requestId: request_id } = batch.response;
    expect(batch.data.map(({ transfer }) => transfer)).toMatchObject(
      keys.map((idempotency_key) => ({ request_id, idempotency_key, created_by: 'sandbox' })),
    );
  });

  test('the digest of an idempotency key that may contain a card number', async () => {
    const card_id = await newCard(client());
    // The key contains a counter and a time, whose combined digits could be a card number.
    const idempotencyKey = 'order-65-1790000000123';
    const { idempotency_key } = await client().transfers.create({ amount: 5, card_id }, { idempotencyKey });
    expect(idempotency_key).toBe(`sha256:${hash('sha256', idempotencyKey)}`);
  });

  test('no key if closing a card moved its balance, because the key belongs to the request that closed the card', async () => {
    const card_id = await newCard(client(), 50);
    const closed = await client().cards.update(card_id, { status: 'closed', balance_to: 'funding' });
    const [sweep] = (await client().transfers.list({ card_id, type: 'unload' })).data;
    expect(sweep).toMatchObject({
      request_id: closed.response.requestId,
      idempotency_key: null,
      created_by: 'sandbox',
    });
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ListTransfersQuery, TransferRecord } from '../../../sdk/client.ts';
import { createAll } from '../../harness/client/patience.ts';
import { waitFor } from '../../harness/process.ts';
import { expectBalancedBooks, refusalOf, useService } from '../../harness/service.ts';

const running = useService();
const client = () => running().client;
afterAll(async () => {
  await client().sandbox.moveClock({ seconds_ahead: 0 });
  await expectBalancedBooks(running());
});

const IN_AN_HOUR = 3_600_000;

describe('list_transfers', () => {
  let programId = '';
  const cards = { first: '', second: '', idle: '' };
  /** The transfers of this file by name. */
  const made: Record<string, TransferRecord> = {};

  const list = async (query: ListTransfersQuery = {}) => (await client().transfers.list(query, { programId })).data;
  const idsOf = async (query: ListTransfersQuery) => (await list(query)).map(({ transfer_id }) => transfer_id);
  const idOf = (name: string) => made[name]?.transfer_id ?? '';
  const idsFor = (...names: readonly string[]) => names.map(idOf);

  beforeAll(async () => {
    ({ program_id: programId } = await client().programs.create({ name: 'Lists', currency: 'USD' }));
    await client().deposits.create(programId, { amount: 1_000_000 });
    for (const name of ['first', 'second', 'idle'] as const) {
      cards[name] = (await client().cards.create({}, { programId })).card_id;
    }
    const { transfers } = client();
    const make = async (name: string, body: Parameters<typeof transfers.create>[0], idempotencyKey?: string) => {
      made[name] = await transfers.create(body, { programId, idempotencyKey });
    };
    const ahead = (time: number) => new Date(Date.now() + time).toISOString();
    await make('load', {
      amount: 700,
      card_id: cards.first,
      reference: 'invoice 1',
      metadata: { shop: 'a', till: '1' },
    });
    await make('same', { amount: 700, card_id: cards.second, metadata: { shop: 'b' } }, 'key-of-same');
    await make('unload', { amount: 50, card_id: cards.first, type: 'unload', metadata: { shop: 'a' } });
    await make('move', {
      amount: 60,
      card_id: cards.first,
      destination_card_id: cards.second,
      type: 'card_to_card',
    });
    await make('hold', { amount: 80, card_id: cards.first, capture: 'manual' });
    await make('expired', { amount: 90, card_id: cards.first, capture: 'manual', expires_at: ahead(IN_AN_HOUR / 2) });
    await make('canceled', { amount: 100, card_id: cards.second, capture: 'manual' });
    await transfers.cancel(idOf('canceled'), { programId });
    await make('failed', { amount: 5000, card_id: cards.first, type: 'unload', scheduled_for: ahead(IN_AN_HOUR / 2) });
    await make('scheduled', { amount: 120, card_id: cards.second, scheduled_for: ahead(100 * IN_AN_HOUR) });
    await client().sandbox.moveClock({ seconds_ahead: IN_AN_HOUR / 1000 });
    await waitFor('the scheduled transfer to fail', async () => {
      const { status } = await client().transfers.get(idOf('failed'), { programId });
      return status === 'failed';
    });
    await make('late', { amount: 130, card_id: cards.second });
  });

  test('finds transfers by the card_id of either side, newest first', async () => {
    expect(await idsOf({ card_id: cards.first })).toEqual(
      idsFor('failed', 'expired', 'hold', 'move', 'unload', 'load'),
    );
    expect(await idsOf({ card_id: cards.second })).toEqual(idsFor('late', 'scheduled', 'canceled', 'move', 'same'));
    expect(await idsOf({ card_id: cards.idle })).toEqual([]);
    expect(await idsOf({ card_id: 'card_missing' })).toEqual([]);
  });

  test('filters by every type and status', async () => {
    expect(await idsOf({ type: 'unload' })).toEqual(idsFor('failed', 'unload'));
    expect(await idsOf({ type: 'card_to_card' })).toEqual(idsFor('move'));
    expect(await idsOf({ type: 'load', limit: 2 })).toEqual(idsFor('late', 'scheduled'));
    const states = ['scheduled', 'pending', 'failed', 'canceled', 'expired'] as const;
    const expected = {
      scheduled: 'scheduled',
      pending: 'hold',
      failed: 'failed',
      canceled: 'canceled',
      expired: 'expired',
    };
    for (const status of states) {
      const found = await list({ status });
      expect(found.map((transfer) => [transfer.transfer_id, transfer.status])).toEqual([
        [idOf(expected[status]), status],
      ]);
    }
    expect(await idsOf({ status: 'completed' })).toEqual(idsFor('late', 'move', 'unload', 'same', 'load'));
  });

  test('finds a transfer by its reference and by its idempotency key', async () => {
    expect(await idsOf({ reference: 'invoice 1' })).toEqual(idsFor('load'));
    expect(await idsOf({ reference: 'invoice 1', card_id: cards.second })).toEqual([]);
    expect(await idsOf({ idempotency_key: 'key-of-same' })).toEqual(idsFor('same'));
    expect(await idsOf({ idempotency_key: 'key-of-same', status: 'failed' })).toEqual([]);
    expect(await idsOf({ reference: 'nothing' })).toEqual([]);
  });

  test('finds transfers by their current metadata', async () => {
    expect(await idsOf({ metadata_name: 'shop', metadata_value: 'a' })).toEqual(idsFor('unload', 'load'));
    expect(await idsOf({ metadata_name: 'till', metadata_value: 'a' })).toEqual([]);
    const id = idOf('same');
    await client().transfers.update(id, { metadata: { shop: 'c' } }, { programId });
    expect(await idsOf({ metadata_name: 'shop', metadata_value: 'b' })).toEqual([]);
    expect(await idsOf({ metadata_name: 'shop', metadata_value: 'c', minimum_amount: 700 })).toEqual([id]);
  });

  test('filters by exact amount and by range', async () => {
    expect(await idsOf({ minimum_amount: 700, maximum_amount: 700 })).toEqual(idsFor('same', 'load'));
    expect(await idsOf({ minimum_amount: 80, maximum_amount: 100 })).toEqual(idsFor('canceled', 'expired', 'hold'));
    expect(await idsOf({ minimum_amount: 1000 })).toEqual(idsFor('failed'));
    expect(await idsOf({ maximum_amount: 59, card_id: cards.first, type: 'unload' })).toEqual(idsFor('unload'));
  });

  test('includes the start of a period and excludes its end, even after the clock was moved', async () => {
    const [late, unload, load] = ['late', 'unload', 'load'].map((name) => made[name]?.created_at ?? '');
    expect(await idsOf({ created_from: late })).toEqual(idsFor('late'));
    expect(await idsOf({ created_to: unload })).toEqual(idsFor('same', 'load'));
    expect(await idsOf({ created_from: load, created_to: unload })).toEqual(idsFor('same', 'load'));
    expect(await idsOf({ created_from: '9999-12-31T23:59:59Z' })).toEqual([]);
    expect(await idsOf({ created_to: '1900-01-01T00:00:00Z' })).toEqual([]);
    expect(await idsOf({ created_from: '1900-01-01T00:00:00Z', created_to: '9999-12-31T23:59:59Z' })).toHaveLength(10);
  });

  test.each<[string, string, ListTransfersQuery]>([
    ['/metadata_value', 'metadata_name', { metadata_name: 'shop' }],
    ['/metadata_name', 'metadata_value', { metadata_value: 'a' }],
    ['/maximum_amount', 'minimum_amount', { minimum_amount: 2, maximum_amount: 1 }],
    ['/created_to', 'created_from', { created_from: '2030-01-02T00:00:00Z', created_to: '2030-01-02T01:00:00+01:00' }],
    ['/created_from', 'time', { created_from: 'yesterday' }],
    ['/minimum_amount', '85.5', { minimum_amount: 85.5 }],
    ['/cursor', 'next_cursor', { cursor: 'tr_1' }],
  ])('refuses contradictory or invalid filters with an error at %s', async (field, named, query) => {
    const refused = await refusalOf(client().transfers.list(query, { programId }));
    expect(refused).toMatchObject({ Code: 'list_transfers_schema', Status: 400, field });
    expect(refused.message).toContain(named);
    const { cursor, ...filters } = query;
    if (cursor !== undefined) return;
    const exported = await refusalOf(client().transfers.export(filters, { programId }));
    expect(exported).toMatchObject({ Code: 'export_transfers_schema', Status: 400, field });
  });

  test('returns each older transfer once, in order, while new transfers arrive', async () => {
    const { card_id } = await client().cards.create({}, { programId });
    const add = async () => (await client().transfers.create({ amount: 1, card_id }, { programId })).transfer_id;
    const before: string[] = [];
    for (let count = 0; count < 25; count += 1) before.unshift(await add());
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await client().transfers.list({ card_id, limit: 4, cursor }, { programId });
      found.push(...page.data.map(({ transfer_id }) => transfer_id));
      cursor = page.next_cursor ?? undefined;
      await add();
    } while (cursor !== undefined);
    expect(found).toEqual(before);
  });

  test('fills a page even if matches are rare', async () => {
    const { card_id } = await client().cards.create({}, { programId });
    const rows = Array.from({ length: 1000 }, (_, index) => ({
      amount: index % 100 === 0 ? 7 : 1,
      card_id,
      idempotency_key: `rare_${card_id}_${index}`,
    }));
    await createAll(client(), rows, { programId });
    const query = { card_id, minimum_amount: 2, limit: 6 };
    const first = await client().transfers.list(query, { programId });
    expect(first.data.map(({ amount }) => amount)).toEqual([7, 7, 7, 7, 7, 7]);
    const second = await client().transfers.list({ ...query, cursor: first.next_cursor ?? '' }, { programId });
    expect({ count: second.data.length, next: second.next_cursor }).toEqual({ count: 4, next: null });
  });
});

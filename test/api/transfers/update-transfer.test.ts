import { afterAll, describe, expect, test } from 'vitest';
import type { UpdateTransferBody } from '../../../sdk/client.ts';
import { waitFor } from '../../harness/process.ts';
import { expectBalancedBooks, refusalOf, useService } from '../../harness/service.ts';
import { held, newCard } from '../arrange.ts';

const running = useService();
const client = () => running().client;
afterAll(() => expectBalancedBooks(running()));

describe('update_transfer', () => {
  test('merges metadata by name and changes nothing else', async () => {
    const card = await newCard(client());
    const before = await client().transfers.create({ amount: 5, card_id: card, metadata: { order: '1', table: '2' } });
    const after = await client().transfers.update(before.transfer_id, {
      metadata: { order: '9', 'a note': 'Zoë 🎁', table: null, 'not there': null },
    });
    const { updated_at } = after;
    expect(after).toEqual({ ...before, metadata: { order: '9', 'a note': 'Zoë 🎁' }, updated_at });
    expect(Date.parse(updated_at)).toBeGreaterThanOrEqual(Date.parse(before.updated_at));
    expect(await client().transfers.get(before.transfer_id)).toEqual({ ...after });
    const found = async (metadata_name: string, metadata_value: string) =>
      (await client().transfers.list({ card_id: card, metadata_name, metadata_value })).data.length;
    expect([await found('order', '1'), await found('table', '2'), await found('order', '9')]).toEqual([0, 0, 1]);
    const metadataAfter = async (metadata: UpdateTransferBody['metadata']) =>
      (await client().transfers.update(before.transfer_id, { metadata })).metadata;
    expect(await client().transfers.update(before.transfer_id, { metadata: { order: '9' } })).toEqual({ ...after });
    expect(await client().transfers.update(before.transfer_id, { metadata: {} })).toEqual({ ...after });
    expect(await metadataAfter({ 'a note': '' })).toEqual({ order: '9', 'a note': '' });
    expect([await found('order', '9'), await found('a note', '')]).toEqual([1, 1]);
    expect(await metadataAfter(null)).toEqual({});
    expect(await found('order', '9')).toBe(0);
  });

  test('allows at most 20 pairs, counted after the request has removed and set its pairs', async () => {
    const pairs = (name: string, value: string | null, count = 20) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`${name} ${at}`, value]));
    const card = await newCard(client());
    const { transfer_id } = await client().transfers.create({ amount: 5, card_id: card });
    const update = (metadata: Record<string, string | null>) => client().transfers.update(transfer_id, { metadata });
    await update(pairs('a', '1'));
    const refused = await refusalOf(update({ b: '1' }));
    expect(refused).toMatchObject({ Code: 'update_transfer_schema', Status: 400, field: '/metadata' });
    expect(refused.Message).toContain('21');
    expect((await update({ b: '1', 'a 0': null })).metadata).not.toHaveProperty('a 0');
    expect((await update({ ...pairs('a', null), b: null, ...pairs('c', '1', 19) })).metadata).toEqual(
      pairs('c', '1', 19),
    );
  });

  // V8 13.6 (Node 24) mistakes a name with an escape for an earlier name with the same beginning. See
  // domain/parse-json.ts.
  test.each(['"', '\t', '\n"'])(
    'keeps the name %j after another program has used names that begin the same way',
    async (name) => {
      const { program_id: programId } = await client().programs.create({ name: 'Other', currency: 'USD' });
      for (const poison of ['\\', '\\n']) {
        const metadata = { X: '1', [poison]: '2' };
        const { card_id } = await client().cards.create({ metadata }, { programId });
        expect((await client().cards.get(card_id, { programId })).metadata).toEqual(metadata);
      }
      const card = await newCard(client());
      const metadata = { X: '1', [name]: '2' };
      const { transfer_id } = await client().transfers.create({ amount: 1, card_id: card, metadata });
      expect((await client().transfers.get(transfer_id)).metadata).toEqual(metadata);
      const after = await client().transfers.update(transfer_id, { metadata: { a: '3' } });
      expect(after.metadata).toEqual({ ...metadata, a: '3' });
      expect(await client().transfers.get(transfer_id)).toEqual({ ...after });
      const found = await client().transfers.list({ metadata_name: name, metadata_value: '2', card_id: card });
      expect(found.data).toEqual([{ ...after }]);
      const about = async () => (await client().events.list({ subject_id: transfer_id })).data;
      await waitFor('the events to have positions', async () => (await about()).length === 2);
      expect((await about()).map(({ data }) => data)).toMatchObject([{ metadata }, { metadata }]);
    },
  );

  test('sets metadata that later captures, reversals and cancellations leave unchanged', async () => {
    const card = await newCard(client());
    const [kept, canceled] = [await held(client(), card, 9), await held(client(), card)];
    await client().transfers.update(kept, { metadata: { a: '1' } });
    expect((await client().transfers.capture(kept)).metadata).toEqual({ a: '1' });
    await client().transfers.update(kept, { metadata: { a: '2' } });
    await client().transfers.reverse(kept, { amount: 4 });
    expect(await client().transfers.get(kept)).toMatchObject({ metadata: { a: '2' }, reversed_amount: 4 });
    await client().transfers.update(canceled, { metadata: { b: '1' } });
    expect((await client().transfers.cancel(canceled)).metadata).toEqual({ b: '1' });
  });

  test('loses no change if it runs at the same time as captures', async () => {
    const card = await newCard(client());
    for (let round = 0; round < 10; round += 1) {
      const hold = await held(client(), card, 3);
      await Promise.all([
        client().transfers.capture(hold, { amount: 2 }),
        client().transfers.update(hold, { metadata: { round: String(round) } }),
      ]);
      expect(await client().transfers.get(hold)).toMatchObject({
        status: 'completed',
        captured_amount: 2,
        metadata: { round: String(round) },
      });
    }
  });
});

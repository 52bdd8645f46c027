import { expect, test } from 'vitest';
import { expectBalancedBooks, useService } from '../harness/service.ts';

const running = useService();

test('creates a transfer on PostgreSQL, and the books balance', async () => {
  const { client } = running();
  const before = await client.cards.get('card_active');
  const transfer = await client.transfers.create({ amount: 1000, card_id: 'card_active' });
  expect(transfer).toMatchObject({ type: 'load', amount: 1000, status: 'completed', error: null });
  expect((await client.cards.get('card_active')).balance).toBe(before.balance + 1000);
  await expectBalancedBooks(running());
});

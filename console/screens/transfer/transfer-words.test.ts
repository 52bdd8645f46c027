import { expect, it } from 'vitest';
import type { TransferRecord } from '../../../sdk/client.ts';
import { aTransferRecord } from '../../../test/fixtures/records.ts';
import { actionsFor, endsOf, leftOf, mayChangeSoon } from './transfer-words.ts';

const NOW = Date.parse('2026-01-31T10:00:00Z');
const TRANSFER = aTransferRecord({ card_id: 'one', updated_at: '2026-01-31T09:59:00Z' });

it('offers the actions that the status of a transfer allows', () => {
  const actions = (given: Partial<TransferRecord>) => actionsFor({ ...TRANSFER, ...given });
  expect(actions({})).toEqual(['reverse']);
  expect(actions({ reversed_amount: 400 })).toEqual(['reverse']);
  expect(actions({ reversed_amount: 1000 })).toEqual([]);
  expect(actions({ status: 'pending', capture: 'manual', captured_amount: 0 })).toEqual(['capture', 'cancel']);
  // Only the processor can end an attempt.
  expect(actions({ status: 'pending', captured_amount: 0 })).toEqual([]);
  expect(actions({ status: 'scheduled', captured_amount: 0 })).toEqual(['cancel']);
  for (const status of ['failed', 'canceled', 'expired'] as const) expect(actions({ status })).toEqual([]);
});

it('returns the remaining amount, and where money moves from and to', () => {
  expect(leftOf({ ...TRANSFER, reversed_amount: 400 }, 'reverse')).toBe(600);
  expect(leftOf({ ...TRANSFER, captured_amount: 0 }, 'capture')).toBe(1000);
  expect(endsOf(TRANSFER)).toEqual({ source: "the program's funding", destination: 'the card one' });
  expect(endsOf({ ...TRANSFER, type: 'unload' })).toEqual({
    source: 'the card one',
    destination: "the program's funding",
  });
  expect(endsOf(TRANSFER, (id) => `of ${id}`).destination).toBe('the card of one');
  const between = { ...TRANSFER, type: 'card_to_card', destination_card_id: 'two' } as const;
  expect(endsOf(between)).toEqual({ source: 'the card one', destination: 'the card two' });
});

it('polls a transfer while it may change', () => {
  expect(mayChangeSoon(TRANSFER, NOW)).toBe(true);
  expect(mayChangeSoon(TRANSFER, NOW + 3_600_000)).toBe(false);
  expect(mayChangeSoon({ ...TRANSFER, outcome: 'open' }, NOW + 3_600_000)).toBe(true);
});

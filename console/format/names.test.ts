import { expect, test } from 'vitest';
import { nameOfActor, nameOfCard, nameOfWebhook } from './names.ts';

test('names a card by its holder and its last digits, if known', () => {
  const card = { holder_reference: 'employee 7', last_four: '4242' };
  expect(nameOfCard(card)).toBe('employee 7 ··4242');
  expect(nameOfCard({ ...card, holder_reference: null })).toBe('··4242');
  expect(nameOfCard({ ...card, last_four: null })).toBe('employee 7');
  expect(nameOfCard({ holder_reference: null, last_four: null })).toBeUndefined();
});

test('names a webhook by its description, or else by its URL', () => {
  const url = 'https://shop.test/hooks?token=1';
  expect(nameOfWebhook({ description: 'Shop', url })).toBe('Shop');
  expect(nameOfWebhook({ description: null, url })).toBe('shop.test/hooks');
});

test('has names for actors without a key, but not for key ids', () => {
  expect(nameOfActor('host')).toBe('A command on the host');
  expect(nameOfActor('key_1')).toBeUndefined();
});

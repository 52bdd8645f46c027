import { expect, test } from 'vitest';
import { nameOfActor, nameOfCard, nameOfWebhook } from './names.ts';

test('a card is called by its holder and its last digits, as far as they are known', () => {
  const card = { holder_reference: 'employee 7', last_four: '4242' };
  expect(nameOfCard(card)).toBe('employee 7 ··4242');
  expect(nameOfCard({ ...card, holder_reference: null })).toBe('··4242');
  expect(nameOfCard({ ...card, last_four: null })).toBe('employee 7');
  expect(nameOfCard({ holder_reference: null, last_four: null })).toBeUndefined();
});

test('a webhook is called by its description, else by where it sends', () => {
  const url = 'https://shop.test/hooks?token=1';
  expect(nameOfWebhook({ description: 'Shop', url })).toBe('Shop');
  expect(nameOfWebhook({ description: null, url })).toBe('shop.test/hooks');
});

test('an actor without a key has a name, and the id of a key has none', () => {
  expect(nameOfActor('host')).toBe('A command on the host');
  expect(nameOfActor('key_1')).toBeUndefined();
});

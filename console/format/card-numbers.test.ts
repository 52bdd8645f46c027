import { expect, test } from 'vitest';
import { hasCardNumber } from './card-numbers.ts';

test.each([
  '4111111111111111',
  '4111 1111 1111 1111',
  '4111-1111-1111-1111',
  'card 378282246310005 please',
  '４１１１１１１１１１１１１１１１',
  '4111.1111.1111.1111!',
  '00004111111111111111',
])('%s has a card number', (text) => {
  expect(hasCardNumber(text)).toBe(true);
});

test.each([
  '4242',
  '4111111111111112',
  'tr_01936f2a3b4c5d6e7f8091a2b3c4d5e6',
  'req_00000000000000000000000000000000',
  'order-2026-11-22',
  '999999999999.99 USD',
  '',
])('%s has none', (text) => {
  expect(hasCardNumber(text)).toBe(false);
});

import { expect, test } from 'vitest';
import { hasCardNumber, hasKey } from './card-numbers.ts';

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
])('%s has no card number', (text) => {
  expect(hasCardNumber(text)).toBe(false);
});

test.each([
  `ts_${'0123456789abcdef'.repeat(5)}01234567`,
  'TS_0123456789ABCDEF',
  'the key is ts_7f3a9c',
  'ts_Qm2Lk9Rd3Ew7Vb5Xy',
  'whsec_Zm9vYmFyYmF6',
  'secret=WHSEC_Zm9vYmFyYmF6',
])('%s has a key or a secret', (text) => {
  expect(hasKey(text)).toBe(true);
});

test.each(['ts_', 'ts_till', 'accounts_0123456789abcdef', 'whsec_short', 'Till of the shop', ''])(
  '%s has no key',
  (text) => {
    expect(hasKey(text)).toBe(false);
  },
);

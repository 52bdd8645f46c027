import { expect, test } from 'vitest';
import { type Described, describeRequest } from './sentence.ts';

const CLOSING: Described = {
  ...{ operation: 'close_break', amount: null, currency: null, fields: [], scopes: [] },
  ...{ subject: 'brk_1', destination: null, against: null, orders: null, type: null, program: null },
};

test('says what closing a break would book or settle', () => {
  expect(describeRequest(CLOSING)).toBe('close the break brk_1');
  expect(describeRequest({ ...CLOSING, against: 'loss', amount: 1000n, currency: 'USD' })).toBe(
    'close the break brk_1 and book 10.00 USD against the loss account',
  );
  expect(describeRequest({ ...CLOSING, orders: 1 })).toBe('close the break brk_1 and mark 1 order as settled');
  expect(describeRequest({ ...CLOSING, orders: 2 })).toBe('close the break brk_1 and mark 2 orders as settled');
});

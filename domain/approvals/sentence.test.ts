import { expect, test } from 'vitest';
import { type Described, describeRequest } from './sentence.ts';

const CLOSING: Described = {
  ...{ operation: 'close_break', amount: null, currency: null, fields: [], scopes: [] },
  ...{ subject: 'brk_1', destination: null, against: null, orders: null, type: null, program: null },
};

test('says how much money a move-in can move', () => {
  const moveIn: Described = { ...CLOSING, operation: 'create_move_in', subject: null, program: 'Demo' };
  expect(describeRequest({ ...moveIn, fields: ['totals'], amount: 12_500n, currency: 'USD' })).toBe(
    'move cards with 125.00 USD into Demo from another ledger',
  );
  expect(describeRequest({ ...moveIn, fields: ['totals'] })).toBe(
    'move cards with balances in several currencies into Demo from another ledger',
  );
  expect(describeRequest(moveIn)).toBe('move cards with balances of any amount into Demo from another ledger');
});

test('says what closing a break would book or settle', () => {
  expect(describeRequest(CLOSING)).toBe('close the break brk_1');
  expect(describeRequest({ ...CLOSING, against: 'loss', amount: 1000n, currency: 'USD' })).toBe(
    'close the break brk_1 and book 10.00 USD against the loss account',
  );
  expect(describeRequest({ ...CLOSING, orders: 1 })).toBe('close the break brk_1 and mark 1 order as settled');
  expect(describeRequest({ ...CLOSING, orders: 2 })).toBe('close the break brk_1 and mark 2 orders as settled');
});

import { expect, test } from 'vitest';
import { compareValues, factsOf, noticeOf } from './approvals.ts';

test('says before a request is sent that a second person must approve it', () => {
  const rules = [
    { operation: 'create_withdrawal', over: 10_000, currency: 'USD' },
    { operation: 'reverse_transfer' },
    { operation: 'create_key', scopes: ['operator', 'keys:write'] },
    { operation: 'update_program', fields: ['limits', 'card_limits'] },
  ] as const;
  expect(noticeOf(rules, 'create_withdrawal')).toBe(
    'A second person must approve this above 100.00 USD, or in a currency other than USD.',
  );
  expect(noticeOf(rules, 'reverse_transfer')).toBe('A second person must approve this.');
  expect(noticeOf(rules, 'create_key')).toBe(
    'A second person must approve this if the key has operator or keys:write.',
  );
  expect(noticeOf(rules, 'update_program', ['limits'])).toBe(
    'A second person must approve this if it changes the limits or card limits.',
  );
  expect(noticeOf(rules, 'update_program', ['name'])).toBeUndefined();
  expect(noticeOf(rules, 'create_deposit')).toBeUndefined();
});

test('compares the values of a subject at the time of the request and now', () => {
  const then = { funding: [{ currency: 'USD', balance: 500, available: 500 }], limits: null };
  const now = { funding: [{ currency: 'USD', balance: 400, available: 500 }], limits: { in: { maximum_amount: 7 } } };
  expect(compareValues(then, now)).toEqual([
    { name: 'Funding, USD: balance', before: '5.00 USD', now: '4.00 USD' },
    { name: 'Funding, USD: available', before: '5.00 USD', now: '5.00 USD' },
    { name: 'Limits', before: 'none', now: 'none' },
    { name: 'Limits: in: maximum amount', before: 'none', now: '7 minor units' },
  ]);
  expect(compareValues(then, null)[0]).toEqual({ name: 'Funding, USD: balance', before: '5.00 USD', now: undefined });
});

test('shows the amount of a request in its currency', () => {
  expect(factsOf({ amount: 25_000, currency: 'USD', description: 'Sweep' })).toEqual([
    ['Amount', '250.00 USD'],
    ['Currency', 'USD'],
    ['Description', 'Sweep'],
  ]);
});

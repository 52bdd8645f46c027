import { describe, expect, test } from 'vitest';
import { type ApprovalRule, needsApproval, type RuledRequest } from './policy.ts';

const request = (operation: string, more: Partial<RuledRequest> = {}): RuledRequest => ({
  operation,
  amount: null,
  currency: null,
  scopes: [],
  fields: [],
  ...more,
});

const RULE: ApprovalRule = { operation: 'create_withdrawal', over: 10_000, currency: 'USD' };
const withdrawal = (amount: bigint | null, currency: string | null) =>
  request('create_withdrawal', { amount, currency });

describe('a rule about an amount', () => {
  test.each([
    ['does not match', 'exactly the amount', withdrawal(10_000n, 'USD')],
    ['matches', 'one cent more', withdrawal(10_001n, 'USD')],
    ['matches', 'another currency', withdrawal(1n, 'EUR')],
    ['matches', 'an unknown currency', withdrawal(1n, null)],
    ['matches', 'an unknown amount', withdrawal(null, 'USD')],
    ['does not match', 'another operation', request('create_deposit', { amount: 10_001n, currency: 'USD' })],
  ])('%s %s', (expected, _, asked) => {
    expect(needsApproval([RULE], asked)).toBe(expected === 'matches');
  });
});

test('a rule about scopes matches a key with one of them', () => {
  const rule = { operation: 'create_key', scopes: ['operator', 'keys:write'] };
  expect(needsApproval([rule], request('create_key', { scopes: ['cards:read', 'operator'] }))).toBe(true);
  expect(needsApproval([rule], request('create_key', { scopes: ['cards:read'] }))).toBe(false);
});

test('a rule about fields matches a change of one of them', () => {
  const rule = { operation: 'update_program', fields: ['limits'] };
  expect(needsApproval([rule], request('update_program', { fields: ['name', 'limits'] }))).toBe(true);
  expect(needsApproval([rule], request('update_program', { fields: ['name'] }))).toBe(false);
});

test('a change of the policy needs an approval only if there is a rule', () => {
  expect(needsApproval([], request('change_approval_policy'))).toBe(false);
  expect(needsApproval([RULE], request('change_approval_policy'))).toBe(true);
});

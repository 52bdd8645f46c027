import { expect, test } from 'vitest';
import { formatNumber, scopeText } from './switch.ts';

test.each([
  ['service', null, 'everything'],
  ['program', null, 'all transfers for Shop'],
  ['transfer_type', 'load', 'loads for Shop'],
  ['transfer_type', 'card_to_card', 'transfers between cards for Shop'],
] as const)('the scope %s %s is %s', (scope, type, text) => {
  expect(scopeText({ scope, type }, 'Shop')).toBe(text);
});

test('one thing is one, and many have separators', () => {
  expect(formatNumber(1, 'card program')).toBe('1 card program');
  expect(formatNumber(12_345, 'transfer')).toBe('12,345 transfers');
});

import { expect, test } from 'vitest';
import { formatNumber, scopeText } from './switch.ts';

test('a scope in words', () => {
  expect(scopeText({ scope: 'service', type: null })).toBe('The whole service');
  expect(scopeText({ scope: 'program', type: null })).toBe('One program');
  expect(scopeText({ scope: 'transfer_type', type: 'card_to_card' })).toBe(
    'Transfers from card to card of one program',
  );
});

test('numbers of things', () => {
  expect(formatNumber(1, 'card program')).toBe('1 card program');
  expect(formatNumber(12_345, 'transfer')).toBe('12,345 transfers');
});

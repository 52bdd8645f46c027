import { expect, test } from 'vitest';
import { formatNumber, scopeText } from './switch.ts';

test.each([
  ['service', null, null, null, 'everything'],
  ['program', null, 'prog_1', null, 'all transfers for Shop'],
  ['transfer_type', 'load', 'prog_1', null, 'loads for Shop'],
  ['transfer_type', 'card_to_card', 'prog_1', null, 'transfers between cards for Shop'],
  ['connector', null, null, 'bank', 'all transfers at the connector bank'],
  ['connector', 'unload', 'prog_1', 'bank', 'unloads at the connector bank for Shop'],
] as const)('describes the scope (%s, %s, %s, %s) as "%s"', (scope, type, program_id, connector_id, text) => {
  expect(scopeText({ scope, type, program_id, connector_id }, 'Shop')).toBe(text);
});

test('uses the singular for one, and separators in large counts', () => {
  expect(formatNumber(1, 'card program')).toBe('1 card program');
  expect(formatNumber(12_345, 'transfer')).toBe('12,345 transfers');
});

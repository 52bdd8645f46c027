import { expect, test } from 'vitest';
import { isUntouched, versionFor } from './versions.ts';

const versioned = (version: string, fields: object) => ({ ...fields, response: { version } });

test('bases a change on the current version unless someone else changed one of the same fields', () => {
  const opened = versioned('1', { name: 'Gifts', types: ['card.created'], limits: null, metadata: { a: '1', b: '2' } });
  const now = versioned('2', {
    ...opened,
    name: 'Gift cards',
    metadata: { a: '1', b: '3' },
    response: { version: '2' },
  });
  expect(versionFor({ types: ['card.closed'] }, opened, now)).toBe('2');
  expect(versionFor({ name: 'Presents' }, opened, now)).toBe('1');
  expect(versionFor({ metadata: { a: null } }, opened, now)).toBe('2');
  expect(versionFor({ metadata: { b: null } }, opened, now)).toBe('1');
  expect(versionFor({ types: null }, opened, { ...now, types: [] })).toBe('1');
});

test('compares limits one by one', () => {
  const opened = { in: { daily_amount: 150_000, daily_count: 5 }, maximum_balance: 1_234 };
  const now = { in: { daily_amount: 150_000, daily_count: 6 }, out: { daily_count: 9 } };
  expect(isUntouched({ in: { daily_amount: 1 }, out: { weekly_count: null } }, opened, now)).toBe(true);
  expect(isUntouched({ in: { daily_count: 7 } }, opened, now)).toBe(false);
  expect(isUntouched({ out: { daily_count: 7 } }, opened, now)).toBe(false);
  expect(isUntouched({ maximum_balance: 7 }, opened, null)).toBe(false);
  expect(isUntouched({ out: { daily_count: 7 } }, null, null)).toBe(true);
});

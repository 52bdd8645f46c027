import { expect, test } from 'vitest';
import { limitText, readChange, rowsOf, toFields } from './limits.ts';

const LIMITS = { in: { daily_amount: 150_000, daily_count: 5 }, maximum_balance: 1_234 };

test('sends only changes: a number sets a limit, an empty field removes it', () => {
  const before = toFields(LIMITS, 'USD', true);
  expect(before).toMatchObject({ 'in.daily_amount': '1,500.00', 'in.daily_count': '5', maximum_balance: '12.34' });
  expect(readChange(before, before, 'USD')).toEqual({ change: {}, problems: {} });
  const after = {
    ...before,
    'in.daily_amount': '',
    'out.maximum_amount': ' 7.5 ',
    'in.daily_count': '0',
    maximum_balance: '0',
  };
  expect(readChange(before, after, 'USD')).toEqual({
    change: { in: { daily_amount: null, daily_count: 0 }, out: { maximum_amount: 750 }, maximum_balance: 0 },
    problems: {},
  });
});

test('reports invalid amounts and counts, and rounds nothing', () => {
  const before = toFields(null, 'JPY', false);
  const { change, problems } = readChange(
    before,
    { ...before, 'in.daily_amount': '7.5', 'in.daily_count': 'five' },
    'JPY',
  );
  expect(change).toEqual({});
  expect(Object.keys(problems)).toEqual(['in.daily_amount', 'in.daily_count']);
  expect(before).not.toHaveProperty('maximum_balance');
});

test('has a row for each limit that is set', () => {
  expect(rowsOf(null)).toEqual([]);
  expect(rowsOf(LIMITS).map(({ direction, name }) => `${direction} ${limitText(name)}`)).toEqual([
    'in daily amount',
    'in daily count',
    ' maximum balance',
  ]);
});

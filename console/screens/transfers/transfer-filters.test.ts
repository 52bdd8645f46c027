import { expect, it } from 'vitest';
import { exactAmountOf, filtersSet, NO_FILTERS, problemsOf, queryOf } from './transfer-filters.ts';

const set = (query: object) => Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));

it('sends only the filters that are set, amounts as numbers', () => {
  expect(set(queryOf(NO_FILTERS))).toEqual({});
  expect(filtersSet(NO_FILTERS)).toEqual([]);
  const filters = { ...NO_FILTERS, card_id: 'card_1', status: 'pending', minimum_amount: '1234' };
  expect(set(queryOf(filters))).toEqual({ card_id: 'card_1', status: 'pending', minimum_amount: 1234 });
  expect(filtersSet(filters)).toEqual(['card_id', 'status', 'minimum_amount']);
});

it('knows whether one amount is asked for', () => {
  expect(exactAmountOf(NO_FILTERS)).toBe('');
  expect(exactAmountOf({ ...NO_FILTERS, minimum_amount: '1234' })).toBe('');
  expect(exactAmountOf({ ...NO_FILTERS, minimum_amount: '1234', maximum_amount: '1234' })).toBe('1234');
});

it('sends a pair of metadata only when it is whole, and says what is missing', () => {
  const half = { ...NO_FILTERS, metadata_name: 'order' };
  expect(set(queryOf(half))).toEqual({});
  expect(Object.keys(problemsOf(half))).toEqual(['metadata_value']);
  expect(Object.keys(problemsOf({ ...NO_FILTERS, metadata_value: '7' }))).toEqual(['metadata_name']);
  const whole = { ...half, metadata_value: '7' };
  expect(set(queryOf(whole))).toEqual({ metadata_name: 'order', metadata_value: '7' });
  expect(problemsOf(whole)).toEqual({});
});

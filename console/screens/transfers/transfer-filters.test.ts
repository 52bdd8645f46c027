import { expect, it } from 'vitest';
import { exactAmountOf, filtersSet, NO_FILTERS, problemsOf, queryOf } from './transfer-filters.ts';

const NOW = Date.parse('2026-01-31T10:00:00.000Z');
const set = (query: object) => Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));

it('sends only the filters that are set, and sends amounts as numbers', () => {
  expect(set(queryOf(NO_FILTERS, NOW))).toEqual({});
  expect(filtersSet(NO_FILTERS)).toEqual([]);
  const filters = { ...NO_FILTERS, card_id: 'card_1', status: 'pending', minimum_amount: '1234' };
  expect(set(queryOf(filters, NOW))).toEqual({ card_id: 'card_1', status: 'pending', minimum_amount: 1234 });
  expect(filtersSet(filters)).toEqual(['card_id', 'status', 'minimum_amount']);
});

it('sends a period as its bounds', () => {
  const hour = set(queryOf({ ...NO_FILTERS, period: 'hour' }, NOW));
  expect(hour).toEqual({ created_from: '2026-01-31T09:00:00.000Z' });
  const exact = { created_from: '2026-01-01T00:00:00.000Z', created_to: '2026-01-02T00:00:00.000Z' };
  expect(set(queryOf({ ...NO_FILTERS, period: 'exact', ...exact }, NOW))).toEqual(exact);
});

it('finds the amount if the filters ask for exactly one', () => {
  expect(exactAmountOf(NO_FILTERS)).toBe('');
  expect(exactAmountOf({ ...NO_FILTERS, minimum_amount: '1234' })).toBe('');
  expect(exactAmountOf({ ...NO_FILTERS, minimum_amount: '1234', maximum_amount: '1234' })).toBe('1234');
});

it('sends a metadata filter only if it has a name, and sends an empty value to find empty values', () => {
  const half = { ...NO_FILTERS, metadata_name: 'order' };
  expect(set(queryOf(half, NOW))).toEqual({ metadata_name: 'order', metadata_value: '' });
  expect(problemsOf(half)).toEqual({});
  expect(Object.keys(problemsOf({ ...NO_FILTERS, metadata_value: '7' }))).toEqual(['metadata_name']);
  const whole = { ...half, metadata_value: '7' };
  expect(set(queryOf(whole, NOW))).toEqual({ metadata_name: 'order', metadata_value: '7' });
  expect(problemsOf(whole)).toEqual({});
});

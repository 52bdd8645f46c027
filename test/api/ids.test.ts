import { expect, test } from 'vitest';
import { idAt } from '../../server/foundation/ids.ts';

const MOMENT = Date.parse('2026-11-22T01:02:03.004Z');
const FORM = /^([0-9a-f]{8})-([0-9a-f]{4})-7([0-9a-f]{3})-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('creates UUIDv7 ids with the given milliseconds', () => {
  for (const moment of [MOMENT, MOMENT, MOMENT + 1, 0, 2 ** 48 - 1, MOMENT]) {
    const [, high = '', low = ''] = FORM.exec(idAt(moment)) ?? [];
    expect(Number.parseInt(high + low, 16)).toBe(moment);
  }
});

test('sorts ids of one millisecond by their sequence number', () => {
  const ids = Array.from({ length: 4096 }, (_, place) => idAt(MOMENT, place));
  expect(ids.toSorted()).toEqual(ids);
  expect(ids.map((id) => Number.parseInt(FORM.exec(id)?.[3] ?? '', 16))).toEqual(ids.map((_, place) => place));
  expect(idAt(MOMENT, 4096).slice(0, 18)).toBe(idAt(MOMENT, 0).slice(0, 18));
});

test('fills the remaining digits of an id randomly', () => {
  const ids = Array.from({ length: 20_000 }, () => idAt(MOMENT));
  expect(new Set(ids).size).toBe(ids.length);
  const random = ids.map((id) => id.slice(15).replaceAll('-', ''));
  for (let place = 0; place < 19; place += 1) {
    const variant = place === 3;
    expect(new Set(random.map((digits) => digits[place])).size).toBe(variant ? 4 : 16);
    const next = place + 1 === 3 ? 4 : 16;
    // The digit must not depend on the previous digit either.
    if (place < 18)
      expect(new Set(random.map((digits) => digits.slice(place, place + 2))).size).toBe((variant ? 4 : 16) * next);
  }
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Places } from './places.ts';

test('moves past all events before the first open one, even if they end in a different order', () => {
  const order = fc.uniqueArray(fc.nat({ max: 3_000 }), { minLength: 1, maxLength: 2_500 });
  fc.assert(
    fc.property(order, fc.integer({ min: 1, max: 3 }), (ends, apart) => {
      const places = new Places(10);
      const last = Math.max(...ends);
      const open = Array.from({ length: last + 1 }, (_, index) => places.add(10 + (index + 1) * apart));
      const done = new Set<number>();
      for (const index of ends) {
        const place = open[index];
        if (place !== undefined) place.isDone = true;
        done.add(index);
        const firstOpen = open.findIndex((_, at) => !done.has(at));
        const expected = firstOpen === -1 ? 10 + (last + 1) * apart : 10 + (firstOpen + 1) * apart - 1;
        expect(places.passed).toBe(expected);
      }
    }),
    { numRuns: 20 },
  );
});

test('passes filtered events when no event before them is open', () => {
  const places = new Places(0);
  const first = places.add(3);
  places.readTo = 9;
  expect(places.passed).toBe(2);
  first.isDone = true;
  expect(places.passed).toBe(9);
});

test('ignores events that were open before a skip', () => {
  const places = new Places(0);
  const open = places.add(1);
  places.skipTo(50);
  expect(places.passed).toBe(50);
  open.isDone = true;
  places.add(51);
  expect(places.passed).toBe(50);
});

test('stores which events after the first open one are done, for the next process', () => {
  const places = new Places(10);
  const open = [11, 12, 14, 15, 16, 20].map((place) => places.add(place));
  const end = (...indexes: readonly number[]): void => {
    for (const index of indexes) (open[index] ?? places.add(0)).isDone = true;
  };
  expect(places.ahead).toBe('{}');
  // The filter excludes 13.
  end(1, 2, 4);
  expect([places.passed, places.ahead]).toEqual([10, '{[12,15),[16,17)}']);
  end(5);
  const next = new Places(places.passed, places.ahead);
  expect([11, 12, 13, 14, 15, 16, 17, 20, 21].filter((place) => next.isSettled(place))).toEqual([
    12, 13, 14, 16, 17, 20,
  ]);
  end(0, 3);
  expect([places.passed, places.ahead]).toEqual([20, '{}']);
});

test('stores at most as many ranges as there are open events, and lets the next process send exactly the open events', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 50 }), (ends) => {
      const places = new Places(0);
      const open = ends.map((isDone, index) => Object.assign(places.add(index + 1), { isDone }));
      const left = open.filter(({ isDone }) => !isDone).map(({ place }) => place);
      const next = new Places(places.passed, places.ahead);
      const sent = open.map(({ place }) => place).filter((place) => place > next.passed && !next.isSettled(place));
      expect(sent).toEqual(left);
      expect(places.ahead.split('[').length - 1).toBeLessThanOrEqual(left.length);
    }),
  );
});

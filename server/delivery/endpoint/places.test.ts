import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Places } from './places.ts';

test('what is passed is everything before the first event that is not done, in whatever order they end', () => {
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

test('events that are not sent are passed as soon as nothing before them is open', () => {
  const places = new Places(0);
  const first = places.add(3);
  places.readTo = 9;
  expect(places.passed).toBe(2);
  first.isDone = true;
  expect(places.passed).toBe(9);
});

test('after a skip, what was open before no longer counts', () => {
  const places = new Places(0);
  const open = places.add(1);
  places.skipTo(50);
  expect(places.passed).toBe(50);
  open.isDone = true;
  places.add(51);
  expect(places.passed).toBe(50);
});

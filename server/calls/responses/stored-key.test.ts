import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { storedKeyOf } from './stored-key.ts';

/** Returns a generator of numbers that are the same on every machine and in every version of Node (Park and Miller). */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

/** Yields typical keys of programs, with counters, times and order numbers. Many contain digits that could be a card number. */
function* keys(count: number): Generator<string> {
  const next = numbersFrom(20_261_121);
  const digits = (length: number): string => Array.from({ length }, () => next(10)).join('');
  for (let index = 0; index < count; index += 1) {
    const time = 1_790_000_000_000 + next(1_000_000_000);
    yield `${['order', 'payout', 'x'][next(3)]}-${next(1000)}-${time}`;
    yield `${next(100)}${time}`;
    yield `${'3456'[next(4)]}${digits(12 + next(7))}`;
    yield `${digits(4)}-${digits(4)}-${digits(4)}-${digits(4)}-${next(10)}`;
    yield `job:${digits(15)}/${digits(3)}`;
  }
}

test('stores keys in the same form as earlier versions, so that no retry after an upgrade moves money again', () => {
  const asDigest: string[] = [];
  let all = 0;
  for (const key of keys(4000)) {
    all += 1;
    const stored = storedKeyOf(key);
    if (stored === key) continue;
    expect(stored).toBe(`sha256:${createHash('sha256').update(key).digest('hex')}`);
    asDigest.push(key);
  }
  // These counts change with the rules for card numbers. If you change those rules, the look-up must try both forms of a key.
  expect({
    all,
    asDigest: asDigest.length,
    which: createHash('sha256').update(asDigest.join('\n')).digest('hex'),
  }).toEqual({ all: 20_000, asDigest: 868, which: '0109bb8c41d1ecd6218517af5549a348905e9861498370007dc8b3644ad1e5d5' });
});

import { expect, test } from 'vitest';
import { BREAK_KINDS, bookingsOf, type Difference } from './break.ts';

const TABLE: readonly (readonly [name: string, of: Partial<Difference>, bookings: readonly string[]])[] = [
  [
    'a load that was carried out after it had failed',
    { kind: 'late_approval', attemptKind: 'push', difference: 1000n },
    ['1000 from funding to suspense', '1000 from clearing to suspense', '1000 from loss to suspense'],
  ],
  [
    'an unload that was carried out after it had failed',
    { kind: 'late_approval', attemptKind: 'pull', difference: 1000n },
    ['1000 from suspense to funding', '1000 from suspense to clearing', '1000 from suspense to loss'],
  ],
  [
    'a completed load that was not carried out',
    { attemptKind: 'push', difference: -1000n },
    ['1000 from clearing to funding', '1000 from clearing to loss'],
  ],
  [
    'a load of more than was ordered',
    { attemptKind: 'push', difference: 200n },
    ['200 from funding to clearing', '200 from loss to clearing'],
  ],
  [
    'a completed unload that was not carried out',
    { attemptKind: 'pull', difference: -1000n },
    ['1000 from funding to clearing', '1000 from loss to clearing'],
  ],
  [
    'an unload of more than was ordered',
    { attemptKind: 'pull', difference: 200n },
    ['200 from clearing to funding', '200 from clearing to loss'],
  ],
  [
    'a processor that says something else after a booking',
    { attemptKind: 'push', difference: 0n, bookedAmount: -1000n },
    ['1000 from funding to clearing', '1000 from loss to clearing'],
  ],
  ['a difference that is booked', { attemptKind: 'push', difference: -1000n, bookedAmount: -1000n }, []],
  ['a difference that is not known', { attemptKind: 'push', difference: null }, []],
  ['a break without an attempt', { kind: 'unknown_attempt', attemptKind: null, difference: 5n }, []],
];

test.each(TABLE)('bookings for %s', (_name, of, expected) => {
  const bookings = bookingsOf({
    ...{ kind: 'contradiction', attemptKind: 'push', difference: null, bookedAmount: 0n },
    ...of,
  });
  expect(bookings.map(({ amount, from, to }) => `${amount} from ${from} to ${to}`)).toEqual(expected);
});

test.each(BREAK_KINDS)(
  'every booking of a %s moves money between the uneven account and the account that it is booked against',
  (kind) => {
    for (const attemptKind of ['push', 'pull'] as const) {
      for (const difference of [-7n, -1n, 1n, 7n]) {
        const bookings = bookingsOf({ kind, attemptKind, difference, bookedAmount: 0n });
        const uneven = kind === 'late_approval' ? 'suspense' : 'clearing';
        for (const { against, from, to } of bookings) expect(new Set([from, to])).toEqual(new Set([against, uneven]));
        expect(bookingsOf({ kind, attemptKind, difference, bookedAmount: difference })).toEqual([]);
      }
    }
  },
);

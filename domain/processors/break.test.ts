import { expect, test } from 'vitest';
import { type Attempt, movedInBooks } from './attempt.ts';
import { BREAK_KINDS, bookingsOf, type Difference } from './break.ts';

type OfAttempt = NonNullable<Difference['attempt']>;

const attempt = (kind: Attempt['kind'], status: Attempt['status'], more: Partial<OfAttempt> = {}): OfAttempt => ({
  ...{ kind, status, amount: 1000n, lateApprovalAt: null, correctedAmount: 0n },
  ...more,
});

const LATE = { lateApprovalAt: 1 };
const UNDONE = { correctedAmount: -1000n };

const TABLE: readonly (readonly [name: string, of: Partial<Difference>, bookings: readonly string[]])[] = [
  [
    'a load that was carried out after it had failed',
    { kind: 'late_approval', attempt: attempt('push', 'declined', LATE) },
    ['1000 from funding to suspense', '1000 from clearing to suspense', '1000 from loss to suspense'],
  ],
  [
    'an unload that was carried out after it had failed',
    { kind: 'late_approval', attempt: attempt('pull', 'failed', LATE) },
    ['1000 from suspense to funding', '1000 from suspense to clearing', '1000 from suspense to loss'],
  ],
  [
    'a late load that another booking has already taken back from the card',
    { kind: 'late_approval', attempt: attempt('push', 'declined', { ...LATE, ...UNDONE }) },
    ['1000 from funding to suspense', '1000 from loss to suspense'],
  ],
  [
    'a late load that is booked',
    { kind: 'late_approval', attempt: attempt('push', 'declined', LATE), bookedAgainst: 'funding' },
    [],
  ],
  [
    'a completed load that was not carried out',
    { attempt: attempt('push', 'approved'), statedAmount: 0n },
    ['1000 from clearing to funding', '1000 from clearing to loss'],
  ],
  [
    'a load of more than was ordered',
    { attempt: attempt('push', 'approved'), statedAmount: 1200n },
    ['200 from funding to clearing', '200 from loss to clearing'],
  ],
  [
    'a completed unload that was not carried out',
    { attempt: attempt('pull', 'approved'), statedAmount: 0n },
    ['1000 from funding to clearing', '1000 from loss to clearing'],
  ],
  [
    'an unload of more than was ordered',
    { attempt: attempt('pull', 'approved'), statedAmount: 1200n },
    ['200 from clearing to funding', '200 from clearing to loss'],
  ],
  [
    'a failed load that was partly carried out later',
    { attempt: attempt('push', 'declined'), statedAmount: 700n },
    ['700 from funding to clearing', '700 from loss to clearing'],
  ],
  [
    'a processor that takes back a booked amount',
    { attempt: attempt('push', 'approved', UNDONE), statedAmount: 1000n, bookedAgainst: 'funding' },
    ['1000 from funding to clearing', '1000 from loss to clearing'],
  ],
  [
    'a late approval that was undone, and is booked against the card',
    { attempt: attempt('push', 'declined', { ...LATE, ...UNDONE }), statedAmount: 0n },
    [],
  ],
  [
    'a difference that is booked',
    { attempt: attempt('push', 'approved', UNDONE), statedAmount: 0n, bookedAgainst: 'loss' },
    [],
  ],
  ['a difference that is not known', { attempt: attempt('push', 'approved'), statedAmount: null }, []],
  ['an attempt that has not ended', { attempt: attempt('push', 'pending'), statedAmount: 700n }, []],
  ['a break without an attempt', { kind: 'unknown_attempt', attempt: null, statedAmount: 5n }, []],
];

test.each(TABLE)('offers the right bookings for %s', (_name, of, expected) => {
  const nothing = { kind: 'contradiction', attempt: null, statedAmount: null, bookedAgainst: null } as const;
  const bookings = bookingsOf({ ...nothing, ...of });
  expect(bookings.map(({ amount, from, to }) => `${amount} from ${from} to ${to}`)).toEqual(expected);
});

test.each(BREAK_KINDS)('after any booking of a %s, nothing is left to book', (kind) => {
  for (const direction of ['push', 'pull'] as const) {
    for (const [status, more] of [
      ['approved', {}],
      ['declined', {}],
      ['declined', LATE],
    ] as const) {
      for (const statedAmount of [0n, 400n, 1000n, 1700n]) {
        const before = attempt(direction, status, more);
        const found = { kind, attempt: before, statedAmount, bookedAgainst: null } as const;
        for (const { against, from, to, correction } of bookingsOf(found)) {
          expect(new Set([from, to])).toEqual(new Set([against, kind === 'late_approval' ? 'suspense' : 'clearing']));
          const corrected = { ...before, correctedAmount: correction };
          expect(bookingsOf({ ...found, attempt: corrected, bookedAgainst: against })).toEqual([]);
          if (kind !== 'late_approval') expect(movedInBooks(corrected)).toBe(statedAmount);
        }
      }
    }
  }
});

import { describe, expect, it } from 'vitest';
import { MONEY_STATES, type MoneyFacts, moneySentence } from './money-sentence.ts';
import { TRANSFER_STATUSES } from './transfer.ts';

const CREATED = Date.parse('2026-01-31T09:00:00.000Z');
const DUE = Date.parse('2026-02-01T09:00:00.000Z');
const ENDS = Date.parse('2026-02-07T09:00:00.000Z');
const NOW = Date.parse('2026-01-31T10:00:00.000Z');
const LATER = Date.parse('2026-02-03T00:00:00.000Z');
const AFTER_END = Date.parse('2026-02-08T00:00:00.000Z');

const DONE: MoneyFacts = {
  type: 'load',
  amount: 1000n,
  capturedAmount: 1000n,
  reversedAmount: 0n,
  currency: 'USD',
  status: 'completed',
  capture: 'automatic',
  cardName: 'card_1',
  destinationCardName: null,
  expiresAt: null,
  scheduledFor: null,
  updatedAt: CREATED,
  completedAt: CREATED,
  errorCode: null,
};
const OPEN: MoneyFacts = { ...DONE, capturedAmount: 0n, completedAt: null };
const HELD: MoneyFacts = { ...OPEN, status: 'pending', capture: 'manual', expiresAt: ENDS };
const SCHEDULED: MoneyFacts = { ...OPEN, status: 'scheduled', scheduledFor: DUE };
const BETWEEN = { type: 'card_to_card', destinationCardName: 'card_2' } as const;

const CASES: readonly (readonly [name: string, facts: MoneyFacts, now: number, moved: string, sentence: string])[] = [
  [
    'scheduled',
    SCHEDULED,
    NOW,
    'no',
    "No money has moved: 10.00 USD will move from the program's funding to the card 'card_1' at 2026-02-01T09:00:00.000Z, unless it is refused then or canceled before.",
  ],
  [
    'scheduled, as a hold',
    { ...SCHEDULED, ...BETWEEN, capture: 'manual', expiresAt: ENDS },
    NOW,
    'no',
    "No money has moved: 10.00 USD will be held on the card 'card_1' for the card 'card_2' at 2026-02-01T09:00:00.000Z, unless it is refused then or canceled before.",
  ],
  [
    'due, but waiting',
    { ...SCHEDULED, type: 'unload' },
    LATER,
    'no',
    "No money has moved: 10.00 USD was to move from the card 'card_1' to the program's funding at 2026-02-01T09:00:00.000Z, and that has not happened yet.",
  ],
  [
    'held',
    HELD,
    NOW,
    'held',
    "No money has moved: 10.00 USD is held on the program's funding for the card 'card_1' until 2026-02-07T09:00:00.000Z, unless it is captured or canceled before.",
  ],
  [
    'held past its end',
    HELD,
    AFTER_END,
    'no',
    'No money moved: the hold of 10.00 USD expired at 2026-02-07T09:00:00.000Z and was released.',
  ],
  [
    'completed',
    DONE,
    NOW,
    'yes',
    "10.00 USD moved from the program's funding to the card 'card_1' at 2026-01-31T09:00:00.000Z.",
  ],
  [
    'completed, of a currency without decimals, from card to card',
    { ...DONE, ...BETWEEN, currency: 'JPY' },
    NOW,
    'yes',
    "1,000 JPY moved from the card 'card_1' to the card 'card_2' at 2026-01-31T09:00:00.000Z.",
  ],
  [
    'captured in part',
    { ...HELD, status: 'completed', capturedAmount: 600n, completedAt: NOW },
    NOW,
    'yes',
    "6.00 USD moved from the program's funding to the card 'card_1' at 2026-01-31T10:00:00.000Z, of 10.00 USD that were held; the other 4.00 USD was released.",
  ],
  [
    'reversed in part',
    { ...DONE, reversedAmount: 250n },
    NOW,
    'partly_moved_back',
    "10.00 USD moved from the program's funding to the card 'card_1' at 2026-01-31T09:00:00.000Z, and 2.50 USD has been reversed, which leaves 7.50 USD.",
  ],
  [
    'reversed in full',
    { ...DONE, type: 'unload', reversedAmount: 1000n },
    NOW,
    'moved_back',
    "10.00 USD moved from the card 'card_1' to the program's funding at 2026-01-31T09:00:00.000Z, and all 10.00 USD has been reversed.",
  ],
  [
    'captured in part and reversed in full',
    { ...HELD, status: 'completed', capturedAmount: 600n, reversedAmount: 600n, completedAt: NOW },
    NOW,
    'moved_back',
    "6.00 USD moved from the program's funding to the card 'card_1' at 2026-01-31T10:00:00.000Z, of 10.00 USD that were held; the other 4.00 USD was released, and all 6.00 USD has been reversed.",
  ],
  [
    'failed',
    { ...SCHEDULED, status: 'failed', errorCode: 'insufficient_funds' },
    LATER,
    'no',
    'No money moved: the transfer was declined when it was due at 2026-02-01T09:00:00.000Z: insufficient funds.',
  ],
  [
    'failed, and nothing is known of why',
    { ...OPEN, status: 'failed' },
    LATER,
    'no',
    'No money moved: the transfer was declined.',
  ],
  [
    'canceled while it was held',
    { ...HELD, status: 'canceled' },
    NOW,
    'no',
    'No money moved: the transfer was canceled, and the hold of 10.00 USD was released.',
  ],
  [
    'canceled before it was due',
    { ...SCHEDULED, status: 'canceled' },
    NOW,
    'no',
    'No money moved: the transfer was canceled before it was due.',
  ],
  [
    'canceled after it was due, while it waited',
    { ...SCHEDULED, status: 'canceled', updatedAt: LATER },
    LATER,
    'no',
    'No money moved: the transfer was canceled.',
  ],
  [
    'canceled before its hold began',
    { ...SCHEDULED, status: 'canceled', capture: 'manual', expiresAt: ENDS, updatedAt: NOW },
    LATER,
    'no',
    'No money moved: the transfer was canceled before it was due.',
  ],
  [
    'canceled after it was due as a hold',
    { ...SCHEDULED, status: 'canceled', capture: 'manual', expiresAt: ENDS, updatedAt: LATER },
    LATER,
    'no',
    'No money moved: the transfer was canceled, and nothing of it is held.',
  ],
  [
    'expired',
    { ...HELD, status: 'expired' },
    AFTER_END,
    'no',
    'No money moved: the hold of 10.00 USD expired at 2026-02-07T09:00:00.000Z and was released.',
  ],
  [
    'expired after it was scheduled',
    { ...HELD, status: 'expired', scheduledFor: DUE },
    AFTER_END,
    'no',
    'No money moved: the transfer expired at 2026-02-07T09:00:00.000Z, and nothing of it is held.',
  ],
];

describe('the sentence about the money of a transfer', () => {
  it.each(CASES)('%s', (_name, facts, now, moved, sentence) => {
    expect(moneySentence(facts, now)).toEqual({ moved, sentence });
  });

  it('has a case for every status of a transfer and every state of its money', () => {
    expect(new Set(CASES.map(([, { status }]) => status))).toEqual(new Set(TRANSFER_STATUSES));
    expect(new Set(CASES.map(([, , , moved]) => moved))).toEqual(new Set(MONEY_STATES));
  });

  it('never says that money moved where nothing was captured, and says so wherever something was', () => {
    for (const [name, facts, now] of CASES) {
      const { moved, sentence } = moneySentence(facts, now);
      expect(facts.capturedAmount > 0n, name).toBe(['yes', 'moved_back', 'partly_moved_back'].includes(moved));
      expect(facts.capturedAmount > 0n, name).toBe(!sentence.startsWith('No money'));
    }
  });
});

import { describe, expect, it } from 'vitest';
import { foresee, MONEY_STATES, type MoneyFacts, moneySentence } from './money-sentence.ts';
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
  outcome: 'final',
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
const ASKED: MoneyFacts = { ...OPEN, status: 'pending', outcome: 'open' };
const UNKNOWN: MoneyFacts = { ...ASKED, outcome: 'unknown' };
const BREAK = '0196f5c2-d9a6-7d51-b0c7-e18f42d965a3';
const NOT_LATE = {
  lateApprovalAt: null,
  breakId: null,
  contradictedAt: null,
  contradiction: null,
  contradictionBreakId: null,
  lateApprovalSettledAt: null,
  contradictionSettledAt: null,
  amount: 1000n,
  correctedAmount: 0n,
} as const;
const ATTEMPT = {
  connectorId: 'bank',
  status: 'sent',
  tries: 1,
  unknownSince: null,
  nextAt: DUE,
  ...NOT_LATE,
} as const;
const LOST = { ...ATTEMPT, status: 'unknown', unknownSince: CREATED } as const;
const BETWEEN = { type: 'card_to_card', destinationCardName: 'card_2' } as const;

const CASES: readonly (readonly [name: string, facts: MoneyFacts, now: number, moved: string, sentence: string])[] = [
  [
    'scheduled',
    SCHEDULED,
    NOW,
    'no',
    "No money has moved: 10.00 USD will move from the program's funding to the card 'card_1' at 2026-02-01T09:00:00.000Z, unless it is refused at that time or canceled earlier.",
  ],
  [
    'scheduled, as a hold',
    { ...SCHEDULED, ...BETWEEN, capture: 'manual', expiresAt: ENDS },
    NOW,
    'no',
    "No money has moved: 10.00 USD will be held on the card 'card_1' for the card 'card_2' at 2026-02-01T09:00:00.000Z, unless it is refused at that time or canceled earlier.",
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
    "No money has moved: 10.00 USD is held on the program's funding for the card 'card_1' until 2026-02-07T09:00:00.000Z, unless it is captured or canceled earlier.",
  ],
  [
    'held past its expires_at',
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
    'failed, for an unknown reason',
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
    'No money moved: the transfer was canceled, and nothing is held.',
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
    'No money moved: the transfer expired at 2026-02-07T09:00:00.000Z, and nothing is held.',
  ],
  [
    'waiting for its processor, without its attempt',
    ASKED,
    NOW,
    'unknown',
    "It is not known yet whether money moved: 10.00 USD is held on the program's funding for the card 'card_1' until the outcome at the card's processor is known.",
  ],
  [
    'not sent yet',
    { ...ASKED, type: 'unload', attempt: { ...ATTEMPT, status: 'ready', tries: 0 } },
    NOW,
    'held',
    "No money has moved: 10.00 USD is held on the card 'card_1' for the program's funding, and nothing has been sent to the processor 'bank' yet.",
  ],
  [
    'sent',
    { ...ASKED, attempt: ATTEMPT },
    NOW,
    'unknown',
    "It is not known yet whether money moved: 10.00 USD is held on the program's funding for the card 'card_1' until the outcome at the processor 'bank' is known.",
  ],
  [
    'accepted for later',
    { ...ASKED, attempt: { ...ATTEMPT, status: 'pending' } },
    NOW,
    'unknown',
    "It is not known yet whether money moved: 10.00 USD is held on the program's funding for the card 'card_1' until the outcome at the processor 'bank' is known. The processor has accepted the order, and is asked again at 2026-02-01T09:00:00.000Z at the latest.",
  ],
  [
    'unknown, without its attempt',
    UNKNOWN,
    NOW,
    'unknown',
    "It is unknown whether the card's processor has moved the money: 10.00 USD is held on the program's funding for the card 'card_1' until that is known. The processor is asked again until it answers. Do not send the transfer again.",
  ],
  [
    'unknown',
    { ...UNKNOWN, attempt: LOST },
    NOW,
    'unknown',
    "It has been unknown since 2026-01-31T09:00:00.000Z whether the processor 'bank' has moved the money: 10.00 USD is held on the program's funding for the card 'card_1' until that is known. The processor is asked again at 2026-02-01T09:00:00.000Z. Do not send the transfer again.",
  ],
  [
    'unknown, and being reversed',
    { ...UNKNOWN, attempt: { ...LOST, status: 'reversing' } },
    NOW,
    'unknown',
    "It has been unknown since 2026-01-31T09:00:00.000Z whether the processor 'bank' has moved the money: 10.00 USD is held on the program's funding for the card 'card_1' until that is known. The processor is asked to reverse it, next at 2026-02-01T09:00:00.000Z. Do not send the transfer again.",
  ],
  [
    'unknown to the processor, and sent again',
    { ...UNKNOWN, attempt: { ...LOST, status: 'ready' } },
    NOW,
    'unknown',
    "It has been unknown since 2026-01-31T09:00:00.000Z whether the processor 'bank' has moved the money: 10.00 USD is held on the program's funding for the card 'card_1' until that is known. The processor does not know it yet, so the same order is sent again at 2026-02-01T09:00:00.000Z. Do not send the transfer again.",
  ],
  [
    'unknown for so long that a person must check it',
    { ...UNKNOWN, attempt: { ...LOST, status: 'attention', nextAt: null } },
    NOW,
    'unknown',
    "It has been unknown since 2026-01-31T09:00:00.000Z whether the processor 'bank' has moved the money: 10.00 USD is held on the program's funding for the card 'card_1' until that is known. An operator of the service must find out. Do not send the transfer again.",
  ],
  [
    'not carried out by its processor',
    { ...OPEN, status: 'failed', errorCode: 'processor_unavailable' },
    NOW,
    'no',
    'No money moved: the transfer failed: processor unavailable.',
  ],
  [
    'carried out by its processor after it had failed',
    {
      ...OPEN,
      status: 'failed',
      errorCode: 'processor_unavailable',
      attempt: { ...ATTEMPT, status: 'failed', nextAt: null, lateApprovalAt: DUE, breakId: BREAK },
    },
    NOW,
    'moved_late',
    "10.00 USD moved from the program's funding to the card 'card_1' after all: the processor 'bank' said so at 2026-02-01T09:00:00.000Z, after the transfer had failed. An operator of the service will settle this (break brk_0196f5c2d9a67d51b0c7e18f42d965a3). Do not send the transfer again.",
  ],
  [
    'carried out after it had failed, and settled by an operator',
    {
      ...OPEN,
      status: 'failed',
      errorCode: 'processor_unavailable',
      attempt: {
        ...ATTEMPT,
        ...{ status: 'failed', nextAt: null, lateApprovalAt: DUE, breakId: BREAK, lateApprovalSettledAt: AFTER_END },
      },
    },
    NOW,
    'moved_late',
    `10.00 USD moved from the program's funding to the card 'card_1' after all: the processor 'bank' said so at 2026-02-01T09:00:00.000Z, after the transfer had failed. An operator of the service settled that at ${new Date(AFTER_END).toISOString()} (break brk_0196f5c2d9a67d51b0c7e18f42d965a3). Do not send the transfer again.`,
  ],
];

describe('the sentence about the money of a transfer', () => {
  it.each(CASES)('is exact for this state: %s', (_name, facts, now, moved, sentence) => {
    expect(moneySentence(facts, now)).toEqual({ moved, sentence });
  });

  it('has a case for every status of a transfer and every state of its money', () => {
    expect(new Set(CASES.map(([, { status }]) => status))).toEqual(new Set(TRANSFER_STATUSES));
    expect(new Set(CASES.map(([, , , moved]) => moved))).toEqual(new Set(MONEY_STATES));
  });

  it('says that money moved if and only if it did, here or at a processor', () => {
    for (const [name, facts, now] of CASES) {
      const { moved, sentence } = moneySentence(facts, now);
      const hasMoved = facts.capturedAmount > 0n || (facts.attempt?.lateApprovalAt ?? null) !== null;
      expect(hasMoved, name).toBe(['yes', 'moved_back', 'partly_moved_back', 'moved_late'].includes(moved));
      if (moved === 'unknown') expect(sentence, name).toMatch(/^It (?:is not known yet|is unknown|has been unknown)/);
      else expect(hasMoved, name).toBe(!sentence.startsWith('No money'));
    }
  });
});

describe('the effect of creating a transfer', () => {
  const TERMS = {
    type: 'load',
    amount: 1000n,
    cardName: 'card_1',
    destinationCardName: null,
    currency: null,
    reference: null,
    capture: 'automatic',
    expiresAt: null,
    scheduledFor: null,
  } as const;
  const CARD = { currency: 'USD', connectorId: null };
  const AT_BANK = { ...CARD, connectorId: 'bank' };
  const FROM_FUNDING = "from the program's funding to the card 'card_1'";
  const ON_FUNDING = "would be held on the program's funding for the card 'card_1'";
  const asked = (more = '') =>
    `he processor 'bank' is asked to move the money, and the transfer is pending until it has answered${more}.`;

  it.each([
    ['a load', TERMS, CARD, undefined, 'completed', 'yes', `10.00 USD would move ${FROM_FUNDING}.`],
    [
      'a load with a behavior for a processor that the card does not have',
      TERMS,
      CARD,
      'decline=51',
      'completed',
      'yes',
      `10.00 USD would move ${FROM_FUNDING}. The header Sandbox-Processor changes nothing: the card has no processor.`,
    ],
    [
      'a hold',
      { ...TERMS, capture: 'manual' },
      CARD,
      undefined,
      'pending',
      'no',
      `10.00 USD ${ON_FUNDING} until it is captured.`,
    ],
    [
      'a load for later',
      { ...TERMS, scheduledFor: DUE },
      CARD,
      undefined,
      'scheduled',
      'no',
      `10.00 USD would move ${FROM_FUNDING} at 2026-02-01T09:00:00.000Z.`,
    ],
    ['a load at a processor', TERMS, AT_BANK, undefined, 'pending', 'unknown', `10.00 USD ${ON_FUNDING}. T${asked()}`],
    [
      'an unload at a processor with a sandbox behavior',
      { ...TERMS, type: 'unload' },
      AT_BANK,
      'late=30',
      'pending',
      'unknown',
      `10.00 USD would be held on the card 'card_1' for the program's funding. T${asked("; 'bank' is asked to behave as 'late=30'")}`,
    ],
    [
      'a load at a processor for later',
      { ...TERMS, scheduledFor: DUE },
      AT_BANK,
      undefined,
      'scheduled',
      'no',
      `10.00 USD would move ${FROM_FUNDING} at 2026-02-01T09:00:00.000Z. Then t${asked()}`,
    ],
  ] as const)('is described exactly for %s', (_name, terms, card, behavior, status, moneyMoved, sentence) => {
    expect(foresee(terms, card, behavior)).toEqual({ status, moneyMoved, sentence });
  });
});

describe('a processor that contradicts itself', () => {
  const CONTRADICTED = { ...ATTEMPT, contradictedAt: LATER, contradictionBreakId: BREAK } as const;
  const ID = `brk_${BREAK.replaceAll('-', '')}`;
  const MOVED = "10.00 USD moved from the program's funding to the card 'card_1' at 2026-01-31T09:00:00.000Z.";
  const open = (said: string) =>
    ` But at 2026-02-03T00:00:00.000Z the processor 'bank' said ${said}. An operator of the service will find out which is true (break ${ID}). Do not send the transfer again.`;

  it.each([
    ['approved', 'declined', 'that it has declined the order'],
    ['approved', 'reversed', 'that it has undone the order'],
    ['approved', 'not_executed', 'that it has not executed the order'],
    ['approved', 'approved of 6.00 USD', '"approved of 6.00 USD"'],
  ] as const)('is mentioned in the sentence: %s, then %s', (status, contradiction, said) => {
    const attempt = { ...CONTRADICTED, status, contradiction };
    expect(moneySentence({ ...DONE, attempt }, AFTER_END)).toEqual({
      moved: 'unknown',
      sentence: `${MOVED}${open(said)}`,
    });
  });

  it('is mentioned in the sentence: reversed, then approved', () => {
    const attempt = { ...CONTRADICTED, status: 'reversed', contradiction: 'approved' } as const;
    const facts = { ...OPEN, status: 'failed', outcome: 'final', errorCode: 'processor_unavailable', attempt } as const;
    expect(moneySentence(facts, AFTER_END)).toEqual({
      moved: 'unknown',
      sentence: `No money moved: the transfer failed: processor unavailable.${open('that it has moved the money')}`,
    });
  });

  it('is settled once an operator has closed the break', () => {
    const attempt = {
      ...CONTRADICTED,
      status: 'approved',
      contradiction: 'declined',
      contradictionSettledAt: AFTER_END,
    } as const;
    expect(moneySentence({ ...DONE, attempt }, AFTER_END)).toEqual({
      moved: 'yes',
      sentence: `${MOVED} But at 2026-02-03T00:00:00.000Z the processor 'bank' said that it has declined the order, which an operator of the service settled at 2026-02-08T00:00:00.000Z (break ${ID}).`,
    });
  });
});

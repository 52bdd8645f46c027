import { expect, test } from 'vitest';
import type { Transfer } from '../../../domain/transfers/transfer.ts';
import { aTransfer } from '../../../test/fixtures/records.ts';
import { type RequestFacts, summarize } from './summary.ts';

const AT = Date.parse('2026-01-31T09:00:00.000Z');
const NONE: RequestFacts = {
  operation: 'create_transfer',
  failure: null,
  transfers: [],
  transferCount: 0,
  reversals: [],
  movement: null,
};
const LOAD = aTransfer({ createdAt: AT, updatedAt: AT, completedAt: AT });
const HELD: Transfer = {
  ...LOAD,
  status: 'pending',
  outcome: 'open',
  capture: 'manual',
  capturedAmount: 0n,
  completedAt: null,
  expiresAt: AT + 86_400_000,
};
const REFUSED = { code: 'card_lost', status: 409, message: "The card 'card_1' is lost.", moneyMoved: 'no' } as const;
const FAILED = { code: 'unknown_create_transfer', status: 500, message: 'It failed', moneyMoved: 'unknown' } as const;
const MOVED = "10.00 USD moved from the program's funding to the card 'card_1' at 2026-01-31T09:00:00.000Z.";
const one = (transfer: Transfer, more: Partial<RequestFacts> = {}): RequestFacts => ({
  ...NONE,
  transfers: [transfer],
  transferCount: 1,
  ...more,
});
const batch = (transfers: readonly Transfer[], more: Partial<RequestFacts> = {}): RequestFacts => ({
  ...NONE,
  operation: 'create_transfer_batch',
  transfers,
  transferCount: transfers.length,
  ...more,
});

const CASES: readonly (readonly [name: string, facts: RequestFacts, outcome: string, money: string, says: string])[] = [
  ['a load', one(LOAD), 'succeeded', 'yes', `create_transfer succeeded: ${MOVED}`],
  [
    'a hold',
    one(HELD),
    'succeeded',
    'no',
    "create_transfer succeeded: No money has moved: 10.00 USD is held on the program's funding for the card 'card_1' until 2026-02-01T09:00:00.000Z, unless it is captured or canceled before.",
  ],
  [
    'a change of metadata',
    one(LOAD, { operation: 'update_transfer' }),
    'succeeded',
    'no',
    'update_transfer succeeded. It moves no money.',
  ],
  [
    'a change of a card',
    { ...NONE, operation: 'update_card' },
    'succeeded',
    'no',
    'update_card succeeded. It moves no money.',
  ],
  [
    'an unknown operation',
    { ...NONE, operation: null },
    'succeeded',
    'no',
    'The request succeeded. It moves no money.',
  ],
  [
    'a withdrawal',
    { ...NONE, operation: 'create_withdrawal', movement: { amount: 250n, currency: 'EUR' } },
    'succeeded',
    'yes',
    "create_withdrawal succeeded: 2.50 EUR was taken out of the program's funding.",
  ],
  [
    'a batch of two currencies with a hold',
    batch([LOAD, { ...LOAD, currency: 'JPY', amount: 7n, capturedAmount: 7n }, HELD]),
    'succeeded',
    'yes',
    'create_transfer_batch succeeded: 10.00 USD and 7 JPY moved with 2 of 3 transfers.',
  ],
  [
    'a batch of holds',
    batch([HELD, HELD]),
    'succeeded',
    'no',
    'create_transfer_batch succeeded: No money has moved with 2 transfers.',
  ],
  [
    'a batch with a refused row',
    batch([LOAD], { failure: REFUSED }),
    'partly_failed',
    'yes',
    `create_transfer_batch created 1 transfer, and other rows failed, such as this one: Declined: card lost. The card 'card_1' is lost. ${MOVED}`,
  ],
  [
    'a batch with only refused rows',
    batch([], { failure: REFUSED }),
    'failed',
    'no',
    "Declined: card lost. The card 'card_1' is lost. No money moved.",
  ],
  [
    'a refusal',
    { ...NONE, failure: REFUSED },
    'failed',
    'no',
    "Declined: card lost. The card 'card_1' is lost. No money moved.",
  ],
  [
    'a message that already says that no money moved',
    { ...NONE, failure: { ...FAILED, message: 'It failed. No money was moved.', moneyMoved: 'no' } },
    'failed',
    'no',
    'Failed: It failed. No money was moved.',
  ],
  [
    'an unknown outcome without an effect so far',
    { ...NONE, failure: FAILED },
    'failed',
    'unknown',
    'Failed: It failed. Whether money moved is not confirmed: nothing that the request did is stored so far. Send it again with the same idempotency key, or look for its transfer by that key.',
  ],
  [
    'an unknown outcome that took effect',
    one(LOAD, { failure: FAILED }),
    'failed',
    'yes',
    `Failed: It failed. It did take effect, though: ${MOVED}`,
  ],
  [
    'a failure after money moved',
    { ...NONE, failure: { ...FAILED, moneyMoved: 'yes' } },
    'failed',
    'yes',
    'Failed: It failed. Money moved all the same.',
  ],
  [
    'an error of an operation that moves no money',
    { ...NONE, operation: 'get_card', failure: { ...REFUSED, moneyMoved: null } },
    'failed',
    'no',
    "Refused: card lost. The card 'card_1' is lost. No money moved.",
  ],
];

test.each(CASES)('%s', (_name, facts, outcome, moneyMoved, sentence) => {
  expect(summarize(facts, AT)).toEqual({ outcome, moneyMoved, sentence });
});

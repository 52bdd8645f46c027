import { expect, test } from 'vitest';
import type { Transfer } from '../../../domain/transfers/transfer.ts';
import { aTransfer } from '../../../test/fixtures/records.ts';
import { isOfRow, type RequestFacts, summarize } from './summary.ts';

const AT = Date.parse('2026-01-31T09:00:00.000Z');
const NONE: RequestFacts = {
  operation: 'create_transfer',
  failure: null,
  transfers: [],
  transferCount: 0,
  attempts: new Map(),
  reversals: [],
  movement: null,
  isStored: false,
  complete: true,
  idempotencyKey: null,
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
const REFUSED = {
  operation: 'create_transfer',
  code: 'card_lost',
  status: 409,
  message: "The card 'card_1' is lost.",
  moneyMoved: 'no',
  transferId: null,
} as const;
const FAILED = {
  operation: 'create_transfer',
  code: 'unknown_create_transfer',
  status: 500,
  message: 'It failed',
  moneyMoved: 'unknown',
  transferId: null,
} as const;
const MOVED = "10.00 USD moved from the program's funding to the card 'card_1' at 2026-01-31T09:00:00.000Z.";
const UNCONFIRMED =
  'Failed: It failed. Whether money moved is not confirmed: nothing that the request did is stored so far.';
const LOOK = 'Find out with GET /api/v0.1/core/transfer before you send it again.';
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
    "create_transfer succeeded: No money has moved: 10.00 USD is held on the program's funding for the card 'card_1' until 2026-02-01T09:00:00.000Z, unless it is captured or canceled earlier.",
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
    'a batch of holds with a row of unknown outcome',
    batch([HELD, HELD], { failure: FAILED }),
    'partly_failed',
    'unknown',
    'create_transfer_batch created 2 transfers, and other rows failed, such as this one: Failed: It failed. No money has moved with 2 transfers. Whether money moved otherwise is not confirmed.',
  ],
  [
    'a batch that failed itself after it created transfers',
    batch([LOAD, LOAD], { failure: { ...FAILED, operation: 'create_transfer_batch' } }),
    'partly_failed',
    'yes',
    'Failed: It failed. It created 2 transfers, though. 20.00 USD moved with 2 transfers.',
  ],
  [
    'a batch that failed itself after it created holds',
    batch([HELD, HELD], { failure: { ...FAILED, operation: 'create_transfer_batch' } }),
    'partly_failed',
    'unknown',
    'Failed: It failed. It created 2 transfers, though. No money has moved with 2 transfers. Whether money moved otherwise is not confirmed.',
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
    { ...NONE, failure: FAILED, idempotencyKey: 'order_1' },
    'failed',
    'unknown',
    `${UNCONFIRMED} Send exactly the same request again with the same Idempotency-Key: the response is the outcome, and money moves at most once.`,
  ],
  [
    'an unknown outcome of a request without an idempotency key',
    { ...NONE, failure: FAILED },
    'failed',
    'unknown',
    `${UNCONFIRMED} ${LOOK}`,
  ],
  [
    'an unknown outcome whose message already has the advice',
    { ...NONE, failure: { ...FAILED, message: `It failed. ${LOOK}` } },
    'failed',
    'unknown',
    `Failed: It failed. ${LOOK} Whether money moved is not confirmed: nothing that the request did is stored so far.`,
  ],
  [
    'an unknown outcome of a batch',
    batch([], { failure: FAILED }),
    'failed',
    'unknown',
    `${UNCONFIRMED} Send the batch again with the same keys: no row moves money twice.`,
  ],
  [
    'an unknown outcome of an unknown operation',
    { ...NONE, operation: null, failure: FAILED },
    'failed',
    'unknown',
    UNCONFIRMED,
  ],
  [
    'a deposit of unknown outcome that took effect',
    {
      ...NONE,
      operation: 'create_deposit',
      failure: FAILED,
      movement: { amount: 250n, currency: 'EUR' },
      isStored: true,
    },
    'failed',
    'yes',
    "Failed: It failed. It did take effect, though: 2.50 EUR was paid into the program's funding.",
  ],
  [
    'a deposit of unknown outcome that took effect, without its amount',
    { ...NONE, operation: 'create_deposit', failure: FAILED, isStored: true },
    'failed',
    'yes',
    'Failed: It failed. It did take effect, though: money moved.',
  ],
  [
    'a change of a card of unknown outcome that took effect and moved nothing',
    { ...NONE, operation: 'update_card', failure: FAILED, isStored: true },
    'failed',
    'no',
    'Failed: It failed. It did take effect, though, and no money moved.',
  ],
  [
    'a change of a card of unknown outcome that took effect, and the search was not completed',
    { ...NONE, operation: 'update_card', failure: FAILED, isStored: true, complete: false },
    'failed',
    'unknown',
    'Failed: It failed. It did take effect, though. Whether money moved is not confirmed.',
  ],
  [
    'a failed operation that moves no money but took effect',
    {
      ...NONE,
      operation: 'create_card',
      failure: { ...FAILED, operation: 'create_card', moneyMoved: null },
      isStored: true,
    },
    'failed',
    'no',
    'Failed: It failed. It did take effect, though. No money moved.',
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
    'Failed: It failed. Money moved anyway.',
  ],
  [
    'an error of an operation that moves no money',
    { ...NONE, operation: 'get_card', failure: { ...REFUSED, moneyMoved: null } },
    'failed',
    'no',
    "Refused: card lost. The card 'card_1' is lost. No money moved.",
  ],
];

test.each(CASES)('summarizes %s', (_name, facts, outcome, moneyMoved, sentence) => {
  expect(summarize(facts, AT)).toEqual({ outcome, moneyMoved, sentence });
});

test('distinguishes the error of a row from the error of its batch', () => {
  expect(isOfRow('create_transfer_batch', { operation: 'create_transfer' })).toBe(true);
  expect(isOfRow('create_transfer_batch', { operation: 'create_transfer_batch' })).toBe(false);
  expect(isOfRow('create_transfer', { operation: 'create_transfer' })).toBe(false);
});

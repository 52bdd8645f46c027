import { LIMIT_NAMES } from '../../domain/ledger/limits.ts';
import { call, errorCode, load } from '../error.ts';
import { DEMO_PROGRAM } from '../samples.ts';

/** The largest load that the seeded card with limits accepts. Its daily limit accepts three of these loads. */
const FULL_LOAD = load({ amount: 10_000, card_id: 'card_limited' });

/** The names of the limits on periods, such as `daily limit`. */
const LIMITS_OF_PERIODS = new Set(
  Object.entries(LIMIT_NAMES).flatMap(([name, { period }]) => (period === null ? [] : [name.replace(/_.*/, ' limit')])),
);

export const TRANSFER_ERRORS = {
  transfer_not_found: errorCode({
    status: 404,
    problem: 'A card, a transfer or a reversal',
    meaning: 'The transfer does not exist in the card program.',
    causes: ['The transfer id is misspelled.', 'The transfer belongs to another card program.'],
    resolution: 'Check the transfer id. GET /api/v0.1/core/transfer?idempotency_key=… finds a transfer by its key.',
    support: {
      tell: 'Your card program has no transfer with this id.',
      next: 'Search for the id, the reference or the idempotency key. If nothing is found, the transfer was not created.',
    },
    alsoCalled:
      'unknown transfer, no such transfer, transfer does not exist, transfer missing, payment not found, ' +
      'transaction not found, wrong transfer id',
    sample: {
      reproduce: 'Read the transfer "tr_missing".',
      request: call('get_transfer', { params: { transfer_id: 'tr_missing' } }),
      message: "There is no transfer 'tr_missing' in this card program. A transfer id is tr_ and 32 hex digits.",
    },
  }),
  reversal_not_found: errorCode({
    status: 404,
    problem: 'A card, a transfer or a reversal',
    meaning: 'The reversal does not exist in the card program.',
    causes: ['The reversal id is misspelled.', 'The reversal belongs to another card program.'],
    resolution:
      'Check the reversal id. GET /api/v0.1/core/transfer/{transfer_id}/reversal lists the reversals of a transfer.',
    alsoCalled: 'unknown reversal, no such reversal, refund not found, unknown refund',
    sample: {
      reproduce: 'Read the reversal "rev_missing".',
      request: call('get_reversal', { params: { reversal_id: 'rev_missing' } }),
      message: "There is no reversal 'rev_missing' in this card program. A reversal id is rev_ and 32 hex digits.",
    },
  }),
  invalid_transfer_status: errorCode({
    status: 409,
    problem: 'Capture, cancel or reverse a transfer',
    meaning: "The transfer's status does not allow this action.",
    causes: [
      'The transfer was already captured, canceled or reversed, or it has expired.',
      'The request captures a transfer that is not pending, or reverses a transfer that is not completed.',
    ],
    resolution: 'Read the transfer. The message names its status.',
    support: {
      tell: 'The transfer has a status that does not allow this any more.',
      next: "Check the transfer's history, and tell the customer what happened to it and when. An expired hold needs a new transfer.",
    },
    alsoCalled:
      'cancel, cancel failed, reversed twice, refunded twice, already captured, already canceled, already cancelled, already reversed, already refunded, already ' +
      'completed, captured twice, hold expired, authorization expired, expired hold, refund, refund failed, ' +
      'cannot refund, cannot cancel, cannot capture, cannot reverse, void, void failed, release hold, transfer ' +
      'not pending, transfer already done',
    sample: {
      reproduce: 'Create a transfer, then cancel it.',
      given: [load()],
      request: call('cancel_transfer'),
      message:
        'The transfer tr_0196f5c2d9a17b40a5d2c08e6f1b3a97 has been completed since 2026-01-31T09:30:00.000Z and cannot be ' +
        'canceled. Its status must be scheduled or pending.',
    },
  }),
  amount_too_small: errorCode({
    status: 400,
    problem: 'A limit was reached',
    meaning: 'The amount is below the minimum for one transfer.',
    causes: ['The card or its card program has a minimum_amount limit that is greater than the amount.'],
    resolution: 'Send at least the amount in the message.',
    support: {
      tell: 'The amount is below the minimum for one transfer. The message has the minimum.',
      next: 'Ask the owner of the card program if the limit should change. Only they can change it.',
    },
    alsoCalled: 'minimum amount, below minimum, less than minimum, amount too low, too little',
    sample: {
      reproduce: 'Load 99 onto the card "card_limited".',
      request: load({ amount: 99, card_id: 'card_limited' }),
      message:
        "The card 'card_limited' may receive no transfer below 1.00 USD; this one is for 0.99 USD. " +
        "Its 'minimum_amount' limit (set on the card) applies.",
      field: '/amount',
    },
  }),
  amount_too_large: errorCode({
    status: 400,
    problem: 'A limit was reached',
    meaning: 'The amount is above the maximum for this transfer.',
    causes: [
      'The card or its card program has a maximum_amount limit that is less than the amount.',
      'The amount of a capture is greater than the amount of the transfer.',
      'The amount of a reversal is greater than the amount that can still be reversed.',
    ],
    resolution: 'Send at most the amount in the message.',
    support: {
      tell: 'The amount is above the maximum for this transfer. The message has the maximum.',
      next: 'Check whether the maximum is a limit, or the rest of a capture or a reversal. If a limit should change, ask the owner of the card program.',
    },
    alsoCalled:
      'maximum amount, above maximum, more than maximum, amount too high, too much, capture more than hold, ' +
      'refund more than paid, refund too large, capture too much',
    sample: {
      reproduce: 'Load 10001 onto the card "card_limited".',
      request: load({ amount: 10_001, card_id: 'card_limited' }),
      message:
        "The card 'card_limited' may receive no transfer above 100.00 USD; this one is for 100.01 USD. " +
        "Its 'maximum_amount' limit (set on the card) applies.",
      field: '/amount',
    },
  }),
  limit_exceeded: errorCode({
    status: 409,
    problem: 'A limit was reached',
    meaning: 'The transfer would exceed a limit.',
    causes: [
      'The transfers of a calendar period, such as a day, would exceed a limit of the card or its card program.',
      'The balance of the card, including holds, would exceed its maximum_balance.',
      'The balance of an account would exceed the largest possible balance, 2^53 - 1 minor units.',
      'The request closes a card whose balance is larger than the maximum amount of one transfer.',
    ],
    resolution: 'Send a smaller amount, or wait until the time in the message.',
    support: {
      tell: 'The transfer would exceed a limit. The message says how much is left, and when the limit resets.',
      next: 'Wait until the limit resets, or ask the owner of the card program to raise it.',
    },
    alsoCalled:
      'limit, card limit, limit reached, declined over a limit, over limit, over the limit, spending limit, ' +
      `${[...LIMITS_OF_PERIODS].join(', ')}, ` +
      'velocity limit, too many transfers, too many transfers today, maximum balance, balance limit, card is ' +
      'full, cap reached',
    sample: {
      reproduce: 'Load 10000 onto the card "card_limited" four times on one day.',
      given: [FULL_LOAD, FULL_LOAD, FULL_LOAD],
      request: FULL_LOAD,
      message:
        "The card 'card_limited' may receive 350.00 USD per day: 300.00 USD used, 50.00 USD left; this transfer is for " +
        "100.00 USD. Its 'daily_amount' limit (set on the card) resets at 2026-02-01T00:00:00Z.",
      field: '/amount',
    },
  }),
  operator_limit_exceeded: errorCode({
    status: 409,
    problem: 'A limit was reached',
    meaning: "The operator's withdrawals and reversals would exceed the operator's daily limit.",
    causes: [
      'The setting OPERATOR_DAILY_LIMITS has a limit in this currency for each operator, and the amount is larger than the rest of the limit.',
    ],
    resolution:
      'Send a smaller amount, ask another operator, or wait until the time in the message. Then use a new idempotency key. The ' +
      "limit can only be changed in the settings on the service's host.",
    support: {
      tell: 'The daily limit of this operator is used up.',
      next: 'Ask a different operator, or wait until the time in the message.',
    },
    alsoCalled:
      'operator limit, limit of operators, withdrawal limit, reversal limit, refund limit, withdrawn too much, too many ' +
      'withdrawals, too many refunds',
    sample: {
      reproduce:
        'Start the service with OPERATOR_DAILY_LIMITS="JPY 500", deposit 1000 JPY, and withdraw 501 JPY with an operator key.',
      given: 'a daily limit for operators',
      request: call('create_withdrawal', {
        params: { program_id: DEMO_PROGRAM },
        body: { amount: 501, currency: 'JPY' },
        headers: { 'Idempotency-Key': 'withdrawal-over-the-limit' },
      }),
      message:
        'You may withdraw and reverse 500 JPY per day: 0 JPY used, 500 JPY left; this withdrawal is for 501 JPY. ' +
        'The limit is the setting OPERATOR_DAILY_LIMITS and resets at 2026-02-01T00:00:00Z.',
      field: '/amount',
    },
  }),
  currency_mismatch: errorCode({
    status: 400,
    problem: 'The currency is wrong',
    meaning: 'The currency does not match the currency of the account.',
    causes: [
      'The currency in the request is not the currency of the card.',
      'The two cards of a card_to_card transfer have different currencies.',
    ],
    resolution: "Omit the currency, or send the card's currency. Choose two cards with the same currency.",
    alsoCalled:
      'wrong currency, invalid currency, different currencies, currency not supported, unsupported currency, ' +
      'currency does not match, foreign currency, exchange rate, currency conversion, euro instead of dollar',
    sample: {
      reproduce: 'Load the card "card_active" with the currency EUR.',
      request: load({ currency: 'EUR' }),
      message: "'currency' is 'EUR', but the card 'card_active' uses USD. Send 'USD' or omit 'currency'.",
      field: '/currency',
    },
  }),
  insufficient_funds: errorCode({
    status: 409,
    problem: 'Not enough money',
    meaning: 'The source account has insufficient available funds.',
    causes: [
      "The amount of a load is larger than the available balance of the program's funding account.",
      'The amount of an unload or a card_to_card transfer is larger than the available balance of the card.',
    ],
    resolution: 'Send a smaller amount, or add funds to the account. Then use a new idempotency key.',
    support: {
      tell: 'There was not enough money for this transfer. Add money, or send a smaller amount as a new request.',
      next: "Check whether the card or the program's funding has too little money available. For the funding, ask the owner of the card program to make a deposit.",
    },
    alsoCalled:
      'declined, top up failed, charge failed, card not charged, card declined, transfer declined, payment declined, nsf, non sufficient funds, not sufficient ' +
      'funds, insufficient balance, insufficient money, not enough money, not enough funds, not enough balance, ' +
      'no money, no funds, out of money, low balance, balance too low, empty card, overdraft, overdrawn, funding ' +
      'account empty, cannot afford',
    sample: {
      reproduce: 'Unload 1 from the card "card_empty".',
      request: load({ amount: 1, card_id: 'card_empty', type: 'unload' }),
      message: "The card 'card_empty' has 0.00 USD available; the transfer is for 0.01 USD.",
      field: '/amount',
    },
  }),
  duplicate_reference: errorCode({
    status: 409,
    problem: 'It was sent twice',
    meaning:
      'The card program already has a scheduled, pending or completed transfer with this reference, or a deposit or ' +
      'withdrawal with it.',
    causes: [
      'A transfer with this reference is scheduled, pending or completed, or its processor has carried it out late. ' +
        'If it fails, is canceled or expires, its reference is free again.',
      'Another deposit or withdrawal of the card program has the reference. (A transfer may have the same reference as a deposit or a withdrawal.)',
    ],
    resolution:
      'GET /api/v0.1/core/transfer?reference=… finds the transfer. For deposits and withdrawals, see their list. ' +
      'Use a new reference for a new payment. To try the same payment again, wait until that transfer fails, is canceled ' +
      'or expires.',
    support: {
      tell: 'Another transfer already has this reference, so nothing was charged twice.',
      next: 'Search for the reference, and tell the customer the status of that transfer.',
    },
    alsoCalled:
      'duplicate, duplicates, duplicate transfer, duplicate payment, charged twice, double charge, double ' +
      'charged, double payment, paid twice, double booking, sent twice, already paid, reference already used, ' +
      'reference not unique, same reference',
    sample: {
      reproduce: 'Create two transfers with the reference "invoice 1".',
      given: [load({ reference: 'invoice 1' })],
      request: load({ reference: 'invoice 1' }),
      message:
        "The reference 'invoice 1' already belongs to the transfer tr_0196f5c2d9a17b40a5d2c08e6f1b3a97. " +
        'A reference names one transfer of a card program at a time.',
      field: '/reference',
    },
  }),
};

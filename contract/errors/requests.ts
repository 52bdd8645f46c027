import { call, errorCode, load } from '../error.ts';

/** Errors about the content of requests, which several operations share. */
export const REQUEST_ERRORS = {
  invalid_amount: errorCode({
    status: 400,
    problem: 'The amount is wrong',
    meaning: 'The amount is not a whole number of minor units from 1 to 999,999,999,999.',
    causes: [
      'The amount has decimals or an exponent, such as 85.5, "85.50" or 1e3.',
      'The amount is zero, negative, or greater than 999,999,999,999.',
    ],
    resolution: 'Send the amount in minor units, such as 8550 for 85.50 USD.',
    alsoCalled:
      'decimals, decimal amount, amount with decimals, negative amount, zero amount, amount zero, amount in ' +
      'cents, cents, minor units, amount format, wrong amount, amount not a whole number, fractional amount, ' +
      'amount must be an integer',
    sample: {
      reproduce: 'Create a transfer with the amount 85.5.',
      request: load({ amount: 85.5 }),
      message:
        "'amount' is 85.5, but it must be a whole number of minor units (cents, for USD) from 1 to 999999999999, " +
        'such as 8550 for 85.50 USD.',
      field: '/amount',
    },
  }),
  card_number_refused: errorCode({
    status: 400,
    problem: 'It contains a card number',
    meaning: 'The request appears to contain a card number. The service does not accept card numbers.',
    causes: [
      'The body, the query, the path or a header contains 13 to 19 digits, alone or in groups, that have a valid check digit and start like the numbers of a card network.',
    ],
    resolution: 'Remove the number and identify the card by its card_id. The service has not stored the number.',
    support: {
      tell: 'The request contains a card number, which the service does not accept or store. Please send the card id.',
      next: "Ask the customer's developers to send the card_id. If the customer wrote the number to you, delete it.",
    },
    alsoCalled:
      'card number, credit card number, full card number, pan, pci, primary account number, luhn, card number in ' +
      'description',
    sample: {
      reproduce: 'Create a transfer with the description "4111 1111 1111 1111".',
      request: load({ description: '4111 1111 1111 1111' }),
      message:
        "'description' looks like a card number, which the service does not accept. Remove it, and identify the card by its card_id.",
      field: '/description',
    },
  }),
  precondition_failed: errorCode({
    status: 412,
    problem: 'Someone else changed it first',
    meaning: 'The record no longer has the version that the If-Match header names. Nothing was changed.',
    causes: [
      'The record was changed after the caller read it.',
      'The If-Match header has the ETag of a different record.',
    ],
    resolution: 'Read the record again. If the change is still right, send it with the new ETag.',
    headers: [{ name: 'ETag', value: '"iNyzm5cAFsqAVUNm"', description: 'The version that the record has now.' }],
    alsoCalled:
      'if-match, etag, etag mismatch, stale, stale version, optimistic locking, optimistic concurrency, lost update, version ' +
      'conflict, edit conflict, concurrent change, changed meanwhile, overwritten by another person',
    sample: {
      reproduce: 'Change the holder of the card "card_active" with an older version in the If-Match header.',
      request: call('update_card', {
        params: { card_id: 'card_active' },
        headers: { 'If-Match': '"an-older-version"' },
        body: { holder_reference: 'employee 7' },
      }),
      message:
        'The card has changed since you read it: If-Match is "an-older-version", and its version is "iNyzm5cAFsqAVUNm". Read ' +
        'it again, and send the change with the new ETag if it is still right.',
    },
  }),
  idempotency_key_exists: errorCode({
    status: 422,
    problem: 'It was sent twice',
    meaning: 'The idempotency key was already used for a different request to the same operation.',
    causes: ['The body or the path has a different meaning than in the first request of this operation with this key.'],
    resolution:
      'Use a new key for a new request. To learn the outcome of the first request, send it again unchanged, or look up the request id in the message.',
    support: {
      tell: 'An earlier request has this idempotency key, so nothing was charged twice.',
      next: 'Search for the key, and tell the customer what the earlier request did. Their developers need a new key for each new request.',
    },
    alsoCalled:
      'idempotency conflict, idempotency key reused, same idempotency key, key already used, key used twice, same ' +
      'key different body, idempotency mismatch',
    sample: {
      reproduce: 'Create two transfers with the same Idempotency-Key and different amounts.',
      given: [load({}, { 'Idempotency-Key': 'key-1' })],
      request: load({ amount: 2000 }, { 'Idempotency-Key': 'key-1' }),
      message:
        'This Idempotency-Key was already used with a different request, req_0196f5c2d9a27c3e8b1f4a6d7e905b13. ' +
        'Use a new key for a new request, or repeat the first request.',
    },
  }),
  invalid_idempotency_key: errorCode({
    status: 400,
    problem: 'The idempotency key is missing or wrong',
    meaning: 'The Idempotency-Key header is missing or invalid.',
    causes: [
      'The key is empty, has more than 255 characters, or contains characters that are not visible ASCII.',
      'The header was sent twice.',
      'The operation requires a key, and the header is missing.',
    ],
    resolution: 'Send one key of 1 to 255 visible characters, such as a UUID.',
    alsoCalled:
      'missing idempotency key, idempotency key required, no idempotency key, empty idempotency key, idempotency ' +
      'key too long',
    sample: {
      reproduce: 'Create a transfer with an empty Idempotency-Key header.',
      request: load({}, { 'Idempotency-Key': '' }),
      message: 'The Idempotency-Key is empty.',
    },
  }),
};

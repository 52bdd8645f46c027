import { CALLER, type CatalogueEntry, SERVER } from './catalogue-entry.ts';
import { HTTP_ERRORS } from './http-errors.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from './operation.ts';

const SHARED = {
  ...HTTP_ERRORS,
  card_not_found: {
    ...CALLER,
    status: 404,
    meaning: 'There is no such card in the card program.',
    causes: ['The card id is mistyped.', 'The card belongs to another card program.'],
    resolution: 'Check the card id; list the cards of the program with GET /api/v0.1/core/card.',
    reproduce: 'Use the card id "card_missing".',
  },
  transfer_not_found: {
    ...CALLER,
    status: 404,
    meaning: 'There is no such transfer in the card program.',
    causes: ['The transfer id is mistyped.', 'The transfer belongs to another card program.'],
    resolution: 'Check the transfer id; look a transfer up by its key with GET /transfer?idempotency_key=….',
    reproduce: 'GET /api/v0.1/core/transfer/tr_missing.',
  },
  reversal_not_found: {
    ...CALLER,
    status: 404,
    meaning: 'There is no such reversal in the card program.',
    causes: ['The reversal id is mistyped.', 'The reversal belongs to another card program.'],
    resolution: 'Check the reversal id; list those of a transfer with GET /transfer/{transfer_id}/reversal.',
    reproduce: 'GET /api/v0.1/core/reversal/rev_missing.',
  },
  invalid_transfer_status: {
    ...CALLER,
    status: 409,
    meaning: 'The transfer is in a state in which this cannot be done with it.',
    causes: [
      'Somebody else was first: it was captured, canceled or reversed already, or it has expired.',
      'A capture was sent for a transfer that holds nothing, or a reversal for one that has not completed.',
    ],
    resolution: 'Read the transfer; the message names the state it is in.',
    reproduce: 'Create a transfer, then cancel it.',
  },
  program_not_found: {
    ...CALLER,
    status: 404,
    meaning: 'There is no such card program.',
    causes: ['The program id, in the path, the body or the Program-Id header, is mistyped.'],
    resolution: 'Check the program id; an operator lists the programs.',
    reproduce: 'GET /api/v0.1/operator/program/prog_missing.',
  },
  key_not_found: {
    ...CALLER,
    status: 404,
    meaning: 'There is no such API key.',
    causes: ['The key id is mistyped.'],
    resolution: 'Check the key id; an operator lists the keys.',
    reproduce: 'POST /api/v0.1/operator/key/key_missing/revoke.',
  },
  error_not_found: {
    ...CALLER,
    status: 404,
    meaning: 'No error with this request id is recorded for the caller.',
    causes: [
      'The request id is mistyped, or the request was answered with a success.',
      'The error belongs to another card program, or to none: then only operators can look it up.',
      'The error is less than a second old, or older than the service keeps errors.',
    ],
    resolution: 'Compare the id with the Request-Id header of the answer; ask an operator if it is the right one.',
    reproduce: 'GET /api/v0.1/core/error/req_missing.',
  },
  card_not_activated: {
    ...CALLER,
    status: 409,
    meaning: 'The card has not been activated yet.',
    causes: ['A transfer names a card whose status is preactive.'],
    resolution: 'Activate the card, then send the transfer with a new idempotency key.',
    reproduce: 'Load the card "card_preactive".',
  },
  card_suspended: {
    ...CALLER,
    status: 409,
    meaning: 'The card is suspended.',
    causes: ['A transfer names a card whose status is inactive.'],
    resolution: 'Activate the card again, then send the transfer with a new idempotency key.',
    reproduce: 'Load the card "card_inactive".',
  },
  card_closed: {
    ...CALLER,
    status: 409,
    meaning: 'The card is closed for good.',
    causes: ['A transfer names a card whose status is closed.'],
    resolution: 'Use another card.',
    reproduce: 'Load the card "card_closed".',
  },
  card_expired: {
    ...CALLER,
    status: 409,
    meaning: 'The card has expired and takes no more money.',
    causes: ['A transfer brings money to a card whose last day has passed in the time zone of its program.'],
    resolution: 'Use the card that replaces it. What is on an expired card can be unloaded or moved.',
    reproduce: 'Load the card "card_expired".',
  },
  card_lost: {
    ...CALLER,
    status: 409,
    meaning: 'The card was reported lost or stolen and takes no more money.',
    causes: ['A transfer brings money to a card whose status is lost or stolen.'],
    resolution: 'Use the card that replaces it. What is on a lost card can be unloaded or moved.',
    reproduce: 'Load the card "card_lost" or "card_stolen".',
  },
  card_suspected_fraud: {
    ...CALLER,
    status: 409,
    meaning: 'The card is blocked because fraud is suspected.',
    causes: ['A transfer names a card whose status is fraud.'],
    resolution: 'Resolve the suspicion with the people who run the card program; then the card can be active again.',
    reproduce: 'Load the card "card_fraud".',
  },
  invalid_card_status: {
    ...CALLER,
    status: 409,
    meaning: 'The card cannot go from the state it is in to the one that was asked for.',
    causes: ['A closed card is never opened again, and a stolen one never used again; docs/reference has the table.'],
    resolution: 'Read the card and ask for a state that it can be given.',
    reproduce: 'Give the card "card_closed" the status active.',
  },
  card_not_empty: {
    ...CALLER,
    status: 409,
    meaning: 'The card cannot be closed because there is money on it or on hold for it.',
    causes: ['The balance of the card is not zero.', 'A pending transfer holds money on the card or for it.'],
    resolution: 'Capture or cancel what is pending; unload the card, or close it with balance_to "funding".',
    reproduce: 'Give the card "card_inactive" the status closed.',
  },
  duplicate_card: {
    ...CALLER,
    status: 409,
    meaning: 'A card with this id exists already in the card program.',
    causes: ['The card id that the caller chose was used before.'],
    resolution: 'Read the existing card, or choose another id.',
    reproduce: 'Create a card with the id "card_active".',
  },
  invalid_amount: {
    ...CALLER,
    status: 400,
    meaning: 'The amount is not a whole number of minor units within the bounds.',
    causes: [
      'The amount has decimals or an exponent: 85.5, "85.50", 1e3.',
      'The amount is zero, negative, or over 999,999,999,999.',
    ],
    resolution: 'Send the amount in minor units, such as 8550 for 85.50 USD.',
    reproduce: 'Create a transfer with the amount 85.5.',
  },
  card_number_refused: {
    ...CALLER,
    status: 400,
    meaning: 'The request holds what reads as a card number, and the service takes none.',
    causes: [
      'A value or a name in the body, the query, the path or a header has 13 to 19 digits with a valid check digit, alone or in groups, that begin like the numbers of a card network.',
    ],
    resolution: 'Leave the number out: a card is named by its card_id. Nothing of the number was kept.',
    reproduce: 'Create a transfer with the description "4111 1111 1111 1111".',
  },
  amount_too_small: {
    ...CALLER,
    status: 400,
    meaning: 'The amount is under the least that one transfer may be.',
    causes: ['The card or its card program has a limit minimum_amount, and the amount is under it.'],
    resolution: 'Send at least what the message names.',
    reproduce: 'Load the card "card_limited" with 99.',
  },
  amount_too_large: {
    ...CALLER,
    status: 400,
    meaning: 'The amount is over the most that this one transfer may be.',
    causes: [
      'The card or its card program has a limit maximum_amount, and the amount is over it.',
      'A capture asks for more than the transfer holds, or a reversal for more than is left to reverse.',
    ],
    resolution: 'Send at most what the message names.',
    reproduce: 'Load the card "card_limited" with 10001.',
  },
  limit_exceeded: {
    ...CALLER,
    status: 409,
    meaning: 'The transfer would pass a limit.',
    causes: [
      'The transfers of a day, a week or a month would come to more than a limit of the card or its card program.',
      'The card would hold more than its maximum_balance, what is on hold for it included.',
      'An account would pass the largest balance there is, 2^53 - 1 minor units.',
      'A card that is to be closed holds more than one transfer can move.',
    ],
    resolution: 'Send a smaller amount, or wait until the limit frees; the message names the limit and the time.',
    reproduce: 'Load the card "card_limited" with 10000 four times in a day.',
  },
  currency_mismatch: {
    ...CALLER,
    status: 400,
    meaning: 'The currency of the request is not the one of the account it is for.',
    causes: [
      'The currency in the request is not the currency of the card.',
      'The two cards of a card_to_card transfer have different currencies.',
    ],
    resolution: "Leave the currency out or send the card's; choose two cards of one currency.",
    reproduce: 'Load the card "card_active" with the currency EUR.',
  },
  insufficient_funds: {
    ...CALLER,
    status: 409,
    meaning: 'The account that the money would leave does not have it.',
    causes: [
      "A load is larger than what the program's funding account has available.",
      'An unload or a card_to_card transfer is larger than what the card has available.',
    ],
    resolution: 'Send a smaller amount, or bring money to the account; then use a new idempotency key.',
    reproduce: 'Unload 1 from the card "card_empty".',
  },
  duplicate_reference: {
    ...CALLER,
    status: 409,
    meaning: 'Another transfer of the card program has this reference.',
    causes: ['The reference was used before; a reference names one transfer.'],
    resolution: 'Look the transfer up with GET /transfer?reference=…; send another reference for another transfer.',
    reproduce: 'Create two transfers with the reference "invoice 1".',
  },
  idempotency_key_exists: {
    ...CALLER,
    status: 422,
    meaning: 'The idempotency key was used for a different request.',
    causes: ['The body or the path differs from the one that was sent with this key first.'],
    resolution: 'Use a new key for a new request; send exactly the first request again to learn its outcome.',
    reproduce: 'Create two transfers with one key and different amounts.',
  },
  invalid_idempotency_key: {
    ...CALLER,
    status: 400,
    meaning: 'The Idempotency-Key header cannot be used as a key.',
    causes: ['The key is empty, longer than 255 characters, holds invisible characters, is sent twice, or is missing.'],
    resolution: 'Send one key of 1 to 255 visible characters, such as a UUID.',
    reproduce: 'Send the header "Idempotency-Key:" with nothing behind it.',
  },
} as const satisfies Record<string, CatalogueEntry>;

/** A code that several operations share. */
export type SharedCode = keyof typeof SHARED;

/** Every code that the service can answer with. */
export type ErrorCode = SharedCode | `${OperationId}_schema` | `unknown_${OperationId}`;

function schemaEntry(operation: OperationId): CatalogueEntry {
  const missing = operation === 'create_transfer' ? "'amount' or 'card_id'" : 'a required field';
  return {
    ...CALLER,
    status: 400,
    meaning: `The request does not have the form that ${operation} asks for.`,
    causes: [
      `A required field is missing, null or an empty string: ${missing}.`,
      'A field has the wrong JSON type or a value that is not one of those allowed, or its name is misspelt.',
      'The body is not JSON, or says something twice.',
    ],
    resolution: 'Correct what the message names, then send the request again.',
    reproduce: `Send ${operation} without a required field, or with the body "{".`,
  };
}

function unknownEntry(operation: OperationId): CatalogueEntry {
  return {
    ...SERVER,
    status: 500,
    meaning: `${OPERATIONS[operation].failure} because of a fault inside the service.`,
    causes: ['The database cannot be reached or did not answer in time.', 'The service has a bug.'],
    resolution: 'Contact support and quote the request id. With an idempotency key it is safe to send it again.',
    moneyMoved: OPERATIONS[operation].movesMoney ? 'no or unknown' : 'no',
    reproduce: reproduceUnknown(operation),
  };
}

function reproduceUnknown(operation: OperationId): string {
  // These three answer by themselves while the database is down; only the key of the caller is looked up in it.
  if (operation === 'create_transfer_batch' || operation === 'stop_database' || operation === 'start_database') {
    return `Start the sandbox with keys (HOST=0.0.0.0), stop its PostgreSQL, then send ${operation} with a key.`;
  }
  return `Stop the database with "transfer-service sandbox database stop", then send ${operation}.`;
}

/** The catalogue: every code and what it says. The one source of types, pages, documentation and answers. */
export const CATALOGUE: Readonly<Record<ErrorCode, CatalogueEntry>> = Object.freeze({
  ...SHARED,
  ...(Object.fromEntries(OPERATION_IDS.map((operation) => [`${operation}_schema`, schemaEntry(operation)])) as Record<
    `${OperationId}_schema`,
    CatalogueEntry
  >),
  ...(Object.fromEntries(OPERATION_IDS.map((operation) => [`unknown_${operation}`, unknownEntry(operation)])) as Record<
    `unknown_${OperationId}`,
    CatalogueEntry
  >),
});

/** Whether `text` is a code of the catalogue. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(CATALOGUE, text);
}

import { OPERATION_IDS, OPERATIONS, type OperationId } from './operation.ts';

/** The three groups of errors (specification, sections 2.1 and 7.1). */
export const ERROR_TYPES = ['Request Error', 'Server Error', 'Process Error'] as const;

/** One of {@link ERROR_TYPES}. */
export type ErrorType = (typeof ERROR_TYPES)[number];

/** Whether the request that was answered moved money: `no` and `yes` are certain. */
export type MoneyMoved = 'no' | 'yes' | 'unknown';

/** What the catalogue says of one code. `status` and `type` never vary for a code (specification, section 7.2). */
export type CatalogueEntry = {
  readonly status: number;
  readonly type: ErrorType;
  /** What the code stands for, in a sentence. */
  readonly meaning: string;
  /** What brings it about, each a full sentence. */
  readonly causes: readonly string[];
  /** What to do. */
  readonly resolution: string;
  /** Who can do it (specification, section 7.1). */
  readonly resolver: 'caller' | 'support';
  /** What it says about money, when a money operation answers with it. */
  readonly moneyMoved: 'no' | 'no or unknown';
  /** Whether the same request, sent again unchanged, can succeed. */
  readonly retry: boolean;
  /** Version of the interface that first had the code. Codes are never renamed and never used for something else. */
  readonly since: string;
  /** How anyone sees it in the sandbox without the Sandbox-Provoke header. */
  readonly reproduce: string;
};

const CALLER = { type: 'Request Error', resolver: 'caller', moneyMoved: 'no', retry: false, since: '0.1' } as const;
const SERVER = { type: 'Server Error', resolver: 'support', moneyMoved: 'no', retry: true, since: '0.1' } as const;
const PROCESS = { type: 'Process Error', resolver: 'support', moneyMoved: 'no', retry: false, since: '0.1' } as const;

const SHARED = {
  service_disabled: {
    ...PROCESS,
    status: 424,
    meaning: 'The service has been disabled: as a whole, for a card program, or for one type of transfer.',
    causes: ['An operator has thrown the switch, for maintenance or because something had to be stopped at once.'],
    resolution: 'Contact support and quote the request id. A Retry-After header says when it ends, if that is known.',
    reproduce: 'Disable the service with "transfer-service switch disable --reason test", then create a transfer.',
  },
  auth_err: {
    ...CALLER,
    status: 401,
    meaning: 'The request carries no API key that the service knows.',
    causes: [
      'There is no Authorization header, or it is not of the form "Bearer <key>".',
      'The key is mistyped, unknown, revoked or expired.',
    ],
    resolution: 'Send a valid API key in the Authorization header. An operator creates keys.',
    reproduce: 'Send the header "Authorization: Bearer nonsense".',
  },
  forbidden: {
    ...CALLER,
    status: 403,
    meaning: 'The request is not allowed for this caller.',
    causes: [
      "The API key belongs to a card program and the operation is an operator's, or it is for another program.",
      'A keyless sandbox was called under a foreign host name or from a web page of another origin.',
    ],
    resolution: 'Use a key that may do this; call a keyless sandbox as localhost, and not from a web page.',
    reproduce: 'Send the header "Origin: https://example.com".',
  },
  route_dne: {
    ...CALLER,
    status: 404,
    meaning: 'There is nothing at this path.',
    causes: ['The path is mistyped, or its version is not one that this service has.'],
    resolution: 'Compare the path with the API reference at /docs.',
    reproduce: 'GET /api/v0.1/core/nothing.',
  },
  method_not_allowed: {
    ...CALLER,
    status: 405,
    meaning: 'The path exists, but not with this method.',
    causes: ['A GET was sent where only POST is taken, or the other way round.'],
    resolution: 'Use one of the methods in the Allow header.',
    reproduce: 'DELETE /api/v0.1/core/transfer.',
  },
  malformed_request: {
    ...CALLER,
    status: 400,
    meaning: 'The request is broken HTTP, and it could not be told which operation it was meant for.',
    causes: [
      'The bytes on the connection are not an HTTP/1.1 request: TLS or HTTP/2 sent to a plain port, a bad header.',
      'The path holds an invalid percent escape, or a header that may occur once was sent twice.',
    ],
    resolution: 'Correct the client or the proxy in front of it; a maintained HTTP library does not send this.',
    reproduce: 'GET /api/v0.1/core/transfer/%zz.',
  },
  unsupported_media_type: {
    ...CALLER,
    status: 415,
    meaning: 'The body is not JSON in UTF-8, or it is compressed.',
    causes: ['The Content-Type is not application/json, its charset is not UTF-8, or there is a Content-Encoding.'],
    resolution: 'Send the body as "Content-Type: application/json", uncompressed.',
    reproduce: 'POST a transfer with the header "Content-Type: text/xml".',
  },
  payload_too_large: {
    ...CALLER,
    status: 413,
    meaning: 'The body is larger than the operation takes.',
    causes: ['The body has more bytes than the limit that the message names.'],
    resolution: 'Send less; metadata and descriptions have limits of their own.',
    reproduce: 'POST a body of 17,000 bytes to /api/v0.1/core/transfer.',
  },
  uri_too_long: {
    ...CALLER,
    status: 414,
    meaning: 'A part of the path is longer than any id can be.',
    causes: ['An id in the path has more than 255 characters.'],
    resolution: 'Compare the id with the one that the service answered with.',
    reproduce: 'GET /api/v0.1/core/transfer/ followed by 300 letters.',
  },
  headers_too_large: {
    ...CALLER,
    status: 431,
    meaning: 'The head of the request is too large.',
    causes: ['The request line and the headers together pass 8 KiB, or there are more than 100 headers.'],
    resolution: 'Send fewer and smaller headers; cookies are never needed.',
    reproduce: 'Send a header of 9,000 bytes.',
  },
  request_timeout: {
    ...CALLER,
    status: 408,
    retry: true,
    meaning: 'The request did not arrive in time.',
    causes: ['The connection is slow or was cut: headers took over 10 seconds or the whole request over 15.'],
    resolution: 'Send the request again, whole; with the same Idempotency-Key that is always safe.',
    reproduce: 'Announce a Content-Length and send nothing.',
  },
  expectation_failed: {
    ...CALLER,
    status: 417,
    meaning: 'The Expect header asks for something that the service does not do.',
    causes: ['The request has an Expect header other than "100-continue".'],
    resolution: 'Leave the Expect header out.',
    reproduce: 'Send the header "Expect: something".',
  },
  service_unavailable: {
    ...SERVER,
    status: 503,
    meaning: 'The service cannot take the request right now and has not begun with it.',
    causes: [
      'The service is shutting down or starting.',
      'More requests are waiting than it can answer in time.',
      'The account is being changed by a transaction that does not end.',
    ],
    resolution: 'Send the request again after the Retry-After time. If it lasts, contact support.',
    reproduce: 'Send SIGTERM to a service with requests on open connections.',
  },
  unknown_request: {
    ...SERVER,
    status: 500,
    meaning: 'A page could not be shown because of a fault inside the service. No operation was asked for.',
    causes: ['A file of the service is missing or cannot be read.', 'The service has a bug.'],
    resolution: 'Contact support and quote the request id.',
    reproduce: 'GET / with the header "Sandbox-Provoke: unknown_request".',
  },
  card_dne: {
    ...CALLER,
    status: 404,
    meaning: 'There is no such card in the card program.',
    causes: ['The card id is mistyped.', 'The card belongs to another card program.'],
    resolution: 'Check the card id; list the cards of the program with GET /api/v0.1/core/card.',
    reproduce: 'Use the card id "card_missing".',
  },
  transfer_dne: {
    ...CALLER,
    status: 404,
    meaning: 'There is no such transfer in the card program.',
    causes: ['The transfer id is mistyped.', 'The transfer belongs to another card program.'],
    resolution: 'Check the transfer id; look a transfer up by its key with GET /transfer?idempotency_key=….',
    reproduce: 'GET /api/v0.1/core/transfer/tr_missing.',
  },
  program_dne: {
    ...CALLER,
    status: 404,
    meaning: 'There is no such card program.',
    causes: ['The program id, in the path, the body or the Program-Id header, is mistyped.'],
    resolution: 'Check the program id; an operator lists the programs.',
    reproduce: 'GET /api/v0.1/operator/program/prog_missing.',
  },
  key_dne: {
    ...CALLER,
    status: 404,
    meaning: 'There is no such API key.',
    causes: ['The key id is mistyped.'],
    resolution: 'Check the key id; an operator lists the keys.',
    reproduce: 'POST /api/v0.1/operator/key/key_missing/revoke.',
  },
  error_dne: {
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
  preactive_card: {
    ...CALLER,
    status: 409,
    meaning: 'The card has not been activated yet.',
    causes: ['A transfer names a card whose status is preactive.'],
    resolution: 'Activate the card, then send the transfer with a new idempotency key.',
    reproduce: 'Load the card "card_preactive".',
  },
  inactive_card: {
    ...CALLER,
    status: 409,
    meaning: 'The card is suspended.',
    causes: ['A transfer names a card whose status is inactive.'],
    resolution: 'Activate the card again, then send the transfer with a new idempotency key.',
    reproduce: 'Load the card "card_inactive".',
  },
  closed_card: {
    ...CALLER,
    status: 409,
    meaning: 'The card is closed for good.',
    causes: ['A transfer names a card whose status is closed.'],
    resolution: 'Use another card.',
    reproduce: 'Load the card "card_closed".',
  },
  expired_card: {
    ...CALLER,
    status: 409,
    meaning: 'The card has expired and takes no more money.',
    causes: ['A transfer brings money to a card whose last day has passed in the time zone of its program.'],
    resolution: 'Use the card that replaces it. What is on an expired card can be unloaded or moved.',
    reproduce: 'Load the card "card_expired".',
  },
  lost_card: {
    ...CALLER,
    status: 409,
    meaning: 'The card was reported lost or stolen and takes no more money.',
    causes: ['A transfer brings money to a card whose status is lost or stolen.'],
    resolution: 'Use the card that replaces it. What is on a lost card can be unloaded or moved.',
    reproduce: 'Load the card "card_lost" or "card_stolen".',
  },
  card_fraud: {
    ...CALLER,
    status: 409,
    meaning: 'The card is blocked because fraud is suspected.',
    causes: ['A transfer names a card whose status is fraud.'],
    resolution: 'Resolve the suspicion with the people who run the card program; then the card can be active again.',
    reproduce: 'Load the card "card_fraud".',
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
  limit_exceeded: {
    ...CALLER,
    status: 409,
    meaning: 'The transfer would pass a limit.',
    causes: ['An account would pass the largest balance there is, 2^53 - 1 minor units.'],
    resolution: 'Send a smaller amount; the message names the limit.',
    reproduce: 'Load the card "card_full".',
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

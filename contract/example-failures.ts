import { type ErrorRecord, errorRecord, withSupport } from '../domain/error-record.ts';
import { CATALOGUE, type ErrorCode } from '../domain/errors.ts';
import { type CodeFamily, familyOf } from './catalogue.ts';
import { curlOf, type ExampleRequest, exampleOf, examplePath, writtenJson } from './examples.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId, precedenceOf } from './operations.ts';
import { EXAMPLE_REQUEST_ID } from './samples.ts';

/**
 * How a code comes about in a sandbox: `before` prepares, `request` is answered with the code, `after` clears up.
 * `{transfer_id}` in the path of `request` stands for the transfer that the last of `before` was answered with.
 */
export type Reproduction = {
  readonly before?: readonly ExampleRequest[];
  readonly request: ExampleRequest;
  readonly after?: readonly ExampleRequest[];
};

/** What stands in an example of a code beside what the catalogue says. */
type Sample = {
  /** The message that the reproduction is answered with, up to where it sends to support. */
  readonly message: string;
  /** JSON pointer in the Error-Field header. */
  readonly field?: string;
  readonly how?: Reproduction;
  /** What to type, where no request as it stands can be printed; `{base}` is the address of the service. */
  readonly shell?: string;
};

const TRANSFER = OPERATIONS.create_transfer.path;
const SWITCH = OPERATIONS.change_switch.path;
const CARD = OPERATIONS.get_card.path;
/** What stands in a path for the transfer that was made before. */
const TAKEN = '{transfer_id}';
const LEGAL = { amount: 1000, card_id: 'card_active' } as const;

function get(path: string, headers: Readonly<Record<string, string>> = {}): ExampleRequest {
  return { method: 'GET', path, headers };
}

function post(path: string, body?: object | string, headers: Readonly<Record<string, string>> = {}): ExampleRequest {
  return send('POST', path, body, headers);
}

function send(
  method: string,
  path: string,
  body: object | string | undefined,
  headers: Readonly<Record<string, string>> = {},
): ExampleRequest {
  if (body === undefined) return { method, path, headers };
  return { method, path, headers, body: typeof body === 'string' ? body : writtenJson(body) };
}

/** Gives a card another state. */
function status(card: string, to: string): ExampleRequest {
  return send('PATCH', CARD.replace('{card_id}', card), { status: to });
}

/** A load of ten dollars that differs from a good one in what matters. */
function transfer(members: object = {}, headers: Readonly<Record<string, string>> = {}): ExampleRequest {
  return post(TRANSFER, { ...LEGAL, ...members }, headers);
}

/** The largest load that the seeded card with limits takes; three of them, and it takes no fourth in a day. */
const FULL_LOAD = transfer({ amount: 10_000, card_id: 'card_limited' });

function cardIn(card: string, meaning: string): Sample {
  return {
    message: `The card '${card}' ${meaning}`,
    field: '/card_id',
    how: { request: transfer({ card_id: card }) },
  };
}

/** One example for each code that has a cause of its own. A code without one can still be seen by Sandbox-Provoke. */
const SAMPLES: Readonly<Record<string, Sample>> = {
  service_disabled: {
    message: 'The service is disabled.',
    how: {
      before: [post(SWITCH, { disabled: true, reason: 'test' })],
      request: transfer(),
      after: [post(SWITCH, { disabled: false })],
    },
  },
  unauthenticated: {
    message:
      'The API key is not one of this service, or it was mistyped. Send a valid key as "Authorization: Bearer <key>".',
    how: { request: get(TRANSFER, { Authorization: 'Bearer nonsense' }) },
  },
  rate_limited: {
    message: 'This address sent more than 10 requests in 10 seconds. Retry in 1 second.',
  },
  forbidden: {
    message: `Without an API key this sandbox accepts no requests from other web pages, but the Origin is 'https://example.com'.`,
    how: { request: get(TRANSFER, { Origin: 'https://example.com' }) },
  },
  route_not_found: {
    message: 'There is no route at this path. See the API reference at /docs.',
    how: { request: get('/api/v0.1/core/nothing') },
  },
  method_not_allowed: {
    message: 'This path supports only GET, HEAD, POST.',
    how: { request: { method: 'DELETE', path: TRANSFER, headers: {} } },
  },
  malformed_request: {
    message: "The path contains a '%' that is not part of a valid UTF-8 escape.",
    how: { request: get(`${TRANSFER}/%zz`) },
  },
  unsupported_media_type: {
    message: "The Content-Type must be 'application/json'.",
    how: { request: transfer({}, { 'Content-Type': 'text/xml' }) },
  },
  payload_too_large: {
    message: 'The body has more than 16384 bytes.',
    how: {
      request: post(TRANSFER, '0'.repeat(17_000), { 'Content-Type': 'application/json' }),
    },
    shell: `curl -i {base}${TRANSFER} -H 'Content-Type: application/json' -d "$(printf '%017000d' 0)"`,
  },
  uri_too_long: {
    message: 'A segment of the path is longer than 255 characters.',
    how: { request: get(`${TRANSFER}/${'0'.repeat(300)}`) },
    shell: `curl -i "{base}${TRANSFER}/$(printf '%0300d' 0)"`,
  },
  headers_too_large: {
    message: 'The request line and the headers are too large.',
    how: {
      request: get(TRANSFER, { Padding: '0'.repeat(9_000) }),
    },
    shell: `curl -i {base}${TRANSFER} -H "Padding: $(printf '%09000d' 0)"`,
  },
  request_timeout: {
    message: 'The request did not arrive in time.',
    shell: `curl -i {base}${TRANSFER} -H 'Content-Length: 100' -d '{'`,
  },
  expectation_failed: {
    message: "The Expect header can only be '100-continue'. Omit it.",
    how: { request: get(TRANSFER, { Expect: 'something' }) },
  },
  service_unavailable: { message: 'The service is closing.' },
  card_not_found: {
    message: `There is no card 'card_missing' in this card program ('card_id').`,
    field: '/card_id',
    how: { request: transfer({ card_id: 'card_missing' }) },
  },
  transfer_not_found: {
    message: "There is no transfer 'tr_missing' in this card program. A transfer id is tr_ and 32 hex digits.",
    how: { request: get(`${TRANSFER}/tr_missing`) },
  },
  reversal_not_found: {
    message: "There is no reversal 'rev_missing' in this card program. A reversal id is rev_ and 32 hex digits.",
    how: { request: get(OPERATIONS.get_reversal.path.replace('{reversal_id}', 'rev_missing')) },
  },
  invalid_transfer_status: {
    message:
      'The transfer tr_0196f5c2d9a17b40a5d2c08e6f1b3a97 is completed since 2026-01-31T09:30:00.000Z and cannot be ' +
      'canceled. Only a scheduled or pending transfer can be.',
    how: { before: [transfer()], request: post(OPERATIONS.cancel_transfer.path) },
  },
  program_not_found: {
    message: "There is no card program 'prog_missing'.",
    how: { request: get(OPERATIONS.get_program.path.replace('{program_id}', 'prog_missing')) },
  },
  key_not_found: {
    message: "There is no API key with the id 'key_missing'.",
    how: { request: post(OPERATIONS.revoke_key.path.replace('{key_id}', 'key_missing')) },
  },
  error_not_found: {
    message:
      "There is no error with the request id 'req_missing' in this card program. A request id is req_ and 32 hex digits.",
    how: { request: get(OPERATIONS.get_error.path.replace('{request_id}', 'req_missing')) },
  },
  card_not_activated: cardIn('card_preactive', 'has not been activated yet and cannot receive money.'),
  card_suspended: cardIn('card_inactive', 'is suspended and cannot receive money.'),
  card_closed: cardIn('card_closed', 'is closed and cannot receive money.'),
  card_expired: cardIn(
    'card_expired',
    'has expired (its last day was 2020-12-31) and cannot receive money. ' +
      'What is on it can be unloaded or moved to another card.',
  ),
  card_lost: cardIn(
    'card_lost',
    'was reported lost and cannot receive money. What is on it can be unloaded or moved to another card.',
  ),
  card_suspected_fraud: cardIn('card_fraud', 'is blocked for suspected fraud and cannot receive money.'),
  invalid_card_status: {
    message:
      "The card 'card_closed' is closed for good: it is given no other status, and nothing else of it is changed " +
      "('status').",
    field: '/status',
    how: { request: status('card_closed', 'active') },
  },
  card_not_empty: {
    message:
      "The card 'card_inactive' cannot be closed: 50.00 USD are on it. " +
      "Unload the card, or send 'balance_to': 'funding' with the status.",
    field: '/status',
    how: { request: status('card_inactive', 'closed') },
  },
  duplicate_card: {
    message: "The card program has a card 'card_active' already.",
    field: '/card_id',
    how: { request: post(OPERATIONS.create_card.path, { card_id: 'card_active' }) },
  },
  invalid_amount: {
    message:
      "'amount' is 85.5, but it must be a whole number of minor units (cents, for USD) from 1 to 999999999999, " +
      'such as 8550 for 85.50 USD.',
    field: '/amount',
    how: { request: transfer({ amount: 85.5 }) },
  },
  card_number_refused: {
    message:
      "'description' reads as a card number, which the service accepts nowhere. Omit it; a card is named by its card_id.",
    field: '/description',
    how: { request: transfer({ description: '4111 1111 1111 1111' }) },
  },
  amount_too_small: {
    message:
      "The card 'card_limited' may receive no transfer under 1.00 USD, and this one is for 0.99 USD. " +
      "Its 'minimum_amount' limit (set on the card) says so.",
    field: '/amount',
    how: { request: transfer({ amount: 99, card_id: 'card_limited' }) },
  },
  amount_too_large: {
    message:
      "The card 'card_limited' may receive no transfer over 100.00 USD, and this one is for 100.01 USD. " +
      "Its 'maximum_amount' limit (set on the card) says so.",
    field: '/amount',
    how: { request: transfer({ amount: 10_001, card_id: 'card_limited' }) },
  },
  limit_exceeded: {
    message:
      "The card 'card_limited' may receive 350.00 USD a day: 300.00 USD used, 50.00 USD left, and this transfer is for " +
      "100.00 USD. Its 'daily_amount' limit (set on the card) frees at 2026-02-01T00:00:00Z.",
    field: '/amount',
    how: { before: [FULL_LOAD, FULL_LOAD, FULL_LOAD], request: FULL_LOAD },
  },
  currency_mismatch: {
    message: "'currency' is 'EUR', but the card 'card_active' is kept in USD. Send 'USD' or leave 'currency' out.",
    field: '/currency',
    how: { request: transfer({ currency: 'EUR' }) },
  },
  insufficient_funds: {
    message: "The card 'card_empty' has 0.00 USD available, and the transfer is for 0.01 USD.",
    field: '/amount',
    how: { request: transfer({ amount: 1, card_id: 'card_empty', type: 'unload' }) },
  },
  duplicate_reference: {
    message:
      "The reference 'invoice 1' already belongs to the transfer tr_0196f5c2d9a17b40a5d2c08e6f1b3a97. " +
      'A reference is unique among the transfers of a card program.',
    field: '/reference',
    how: { before: [transfer({ reference: 'invoice 1' })], request: transfer({ reference: 'invoice 1' }) },
  },
  idempotency_key_exists: {
    message:
      'This Idempotency-Key was used before with a different request. ' +
      'Use a new key for a new request, or send the first request again exactly as it was.',
    how: {
      before: [transfer({}, { 'Idempotency-Key': 'key-1' })],
      request: transfer({ amount: 2000 }, { 'Idempotency-Key': 'key-1' }),
    },
  },
  invalid_idempotency_key: {
    message: 'The Idempotency-Key is empty.',
    how: { request: transfer({}, { 'Idempotency-Key': '' }) },
  },
};

/** How anyone sees the code in a sandbox through its real cause; undefined where no single request brings it about. */
export function reproductionOf(code: ErrorCode): Reproduction | undefined {
  const family = familyOf(code);
  if (family === undefined) return SAMPLES[code]?.how;
  return family.kind === 'schema' ? faultyRequest(family.operation) : whileDatabaseIsStopped(family.operation);
}

/** Commands for a POSIX shell that bring the code about; none where nobody can type them. */
export function reproductionCommands(code: ErrorCode, base: string): readonly string[] {
  const { before = [], request, after = [] } = reproductionOf(code) ?? {};
  const shell = SAMPLES[code]?.shell?.replaceAll('{base}', base);
  const shown = shell ?? (request === undefined ? undefined : curlOf(request, base, '-i'));
  if (shown === undefined) return [];
  const plain = (requests: readonly ExampleRequest[]) => requests.map((one) => curlOf(one, base));
  if (request?.path.includes(TAKEN) !== true) return [...plain(before), shown, ...plain(after)];
  const taking = plain(before).map((command, at) => (at === before.length - 1 ? taken(command) : command));
  return [...taking, shown.replace(`'${base}${request.path}'`, `"${base}${request.path.replace(TAKEN, '$id')}"`)];
}

/** A command that keeps the id of the transfer it makes, with what every machine has. */
function taken(command: string): string {
  return `id=$(${command} | grep -o 'tr_[0-9a-f]*')`;
}

/**
 * A request that the sandbox answers with the code because its Sandbox-Provoke header asks for it; undefined for a code
 * that belongs to no operation.
 */
export function provokingRequest(code: ErrorCode): ExampleRequest | undefined {
  const answering = OPERATION_IDS.filter((id) => precedenceOf(id).includes(code));
  const id = answering.find((operation) => operation === 'create_transfer') ?? answering[0];
  if (id === undefined) return undefined;
  const example = exampleOf(id);
  return { ...example, headers: { ...example.headers, 'Sandbox-Provoke': code } };
}

/** The same, with the outcome in doubt; undefined for a code that never leaves it so. */
export function doubtProvokingRequest(code: ErrorCode): ExampleRequest | undefined {
  const provoking = CATALOGUE[code].moneyMoved === 'no' ? undefined : provokingRequest(code);
  if (provoking === undefined) return undefined;
  return { ...provoking, headers: { ...provoking.headers, 'Sandbox-Provoke': `${code}; money_moved=unknown` } };
}

/** A record as a caller gets it. `contact` is how the service says that support is reached. */
export function exampleRecord(code: ErrorCode, contact: string): ErrorRecord {
  const { type, meaning } = CATALOGUE[code];
  const family = familyOf(code);
  const message = (family === undefined ? SAMPLES[code]?.message : familyMessage(family)) ?? meaning;
  const isForSupport = type !== 'Request Error';
  return errorRecord(code, isForSupport ? withSupport(message, { contact, requestId: EXAMPLE_REQUEST_ID }) : message);
}

/** JSON pointer that the example of a code has in its Error-Field header; undefined where it has none. */
export function exampleField(code: ErrorCode): string | undefined {
  const family = familyOf(code);
  if (family === undefined) return SAMPLES[code]?.field;
  return family.kind === 'schema' ? schemaFault(family.operation).field : undefined;
}

type SchemaFault = { readonly request: ExampleRequest; readonly message: string; readonly field: string | undefined };

/** The plainest fault that a request of the operation can have. */
function schemaFault(id: OperationId): SchemaFault {
  const { method, body, query, idempotency } = OPERATIONS[id];
  const path = examplePath(id);
  const headers: Readonly<Record<string, string>> =
    idempotency === 'required' ? { 'Idempotency-Key': 'example-1' } : {};
  const required: readonly string[] = body?.required ?? [];
  const missing = id === 'create_transfer' ? 'amount' : required[0];
  if (body !== undefined && missing !== undefined) {
    const { body: whole = '{}' } = exampleOf(id);
    const members: object = JSON.parse(whole);
    const rest = Object.fromEntries(Object.entries(members).filter(([name]) => name !== missing));
    const message = `The required field '${missing}' is missing.`;
    return { request: send(method, path, rest, headers), message, field: `/${missing}` };
  }
  if (body !== undefined) {
    const message = 'The body must be a JSON object, but it is an array.';
    const isJson = { ...headers, 'Content-Type': 'application/json' };
    return { request: send(method, path, '[]', isJson), message, field: undefined };
  }
  if (query !== undefined && Object.hasOwn(query.properties, 'limit')) {
    const message = "'limit' must be a whole number from 1 to 100, but it is '0'.";
    return { request: { method, path: `${path}?limit=0`, headers }, message, field: '/limit' };
  }
  const message = "The query parameter 'a' is repeated.";
  return { request: { method, path: `${path}?a=1&a=2`, headers }, message, field: '/a' };
}

function faultyRequest(id: OperationId): Reproduction {
  return { request: schemaFault(id).request };
}

/**
 * Stopping and starting the database work without it, and a batch answers for each of its rows: a stopped database
 * brings about no fault of theirs.
 */
function whileDatabaseIsStopped(id: OperationId): Reproduction | undefined {
  if (id === 'stop_database' || id === 'start_database' || id === 'create_transfer_batch') return undefined;
  const request = exampleOf(id);
  return {
    before: [post(OPERATIONS.stop_database.path)],
    request,
    after: [post(OPERATIONS.start_database.path)],
  };
}

function familyMessage({ kind, operation }: CodeFamily): string {
  if (kind === 'schema') return schemaFault(operation).message;
  const { failure, movesMoney } = OPERATIONS[operation];
  return movesMoney ? `${failure}. No money was moved.` : `${failure}.`;
}

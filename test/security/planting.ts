import { OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { bytesOf, type RequestSpec } from '../codes/send.ts';

/** A place for a number in a request: the bytes to send, and the expected response. */
export type Place = {
  readonly name: string;
  readonly bytes: (written: string) => string;
  /** The code of the response, or its status if it is not an error. Undefined if any error is allowed. */
  readonly expected?: Expected | ((written: string) => Expected);
  /** The code of the row, if the number is in a row of a batch. */
  readonly expectedRow?: string | ((written: string) => Expected);
  /** Returns the number as it appears in the request, if it is not in ASCII digits. */
  readonly disguised?: (written: string) => string;
};

type Expected = string | 200;

const TRANSFER = OPERATIONS.create_transfer.path;
const REFUSED = 'card_number_refused';
const PROGRAM = `/api/v0.1/operator/program/${DEMO_PROGRAM}`;

/** Returns JSON in UTF-8 with one character per byte, because the tests' connections send text that way. */
function json(value: unknown): string {
  return Buffer.from(JSON.stringify(value), 'utf8').toString('latin1');
}

function request(method: string, path: string, body?: string, headers: RequestSpec['headers'] = []): string {
  return bytesOf({ method, path, headers, ...(body === undefined ? {} : { body }) });
}

const escaped = (written: string): string => encodeURIComponent(written);
/** Returns the number for a header that does not allow spaces. */
const tight = (written: string): string => written.replaceAll(' ', '');
const everyByteEscaped = (written: string): string =>
  [...written].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('');
const everyByteInJson = (written: string): string =>
  [...written].map((character) => `\\u00${character.charCodeAt(0).toString(16)}`).join('');

function inBody(name: string, method: string, path: string, members: (written: string) => object): Place {
  return { name, bytes: (written) => request(method, path, json(members(written)), KEYED), expected: REFUSED };
}

/**
 * Returns the expected code for a key that is only a card number. Such a key is refused, unless it could be a counter
 * followed by a time.
 */
function asKey(otherwise: Expected): (written: string) => Expected {
  return (written) => (/^[0-9]+1[5-9][0-9]{11}$/.test(tight(written)) ? otherwise : REFUSED);
}

const inScript =
  (zero: number) =>
  (written: string): string =>
    written.replaceAll(/[0-9]/g, (digit) => String.fromCodePoint(zero + Number(digit)));

/** Ways to write a number without ASCII digits, or in several pieces. */
const DISGUISES: Readonly<Record<string, (written: string) => string>> = {
  'mathematical digits': inScript(0x1d7ce),
  'Tamil digits': inScript(0xbe6),
  'subscript digits': inScript(0x2080),
  'invisible characters between all digits': (written) => [...written].join('\u{e0001}\u200b\ufe0f\u180e'),
};

const KEYED: RequestSpec['headers'] = [['Idempotency-Key', 'planting']];
const inTransfer = (name: string, members: (written: string) => object): Place =>
  inBody(`create_transfer, ${name}`, 'POST', TRANSFER, (written) => ({
    amount: 1,
    card_id: 'card_active',
    ...members(written),
  }));

/**
 * Returns places in the text of a request about a case or an incident that does not exist. The service refuses the number before
 * it looks up the record.
 */
function inSupport(operation: OperationId, others: object, ...fields: readonly string[]): readonly Place[] {
  const { method, path } = OPERATIONS[operation];
  const [ofCase, ofIncident] = [`case_${'0'.repeat(32)}`, `inc_${'0'.repeat(32)}`];
  const target = path.replace('{case_id}', ofCase).replace('{incident_id}', ofIncident);
  return fields.map((field) =>
    inBody(`${operation}, ${field}`, method, target, (written) => ({ ...others, [field]: `is it ${written}?` })),
  );
}

const OUTAGE = { title: 'x', public_text: 'x', scope: 'all' } as const;

const IN_BODIES: readonly Place[] = [
  inTransfer('description', (written) => ({ description: `card ${written}, please` })),
  inTransfer('reference', (written) => ({ reference: written })),
  inTransfer('card_id', (written) => ({ card_id: written })),
  inTransfer('destination_card_id', (written) => ({ type: 'card_to_card', destination_card_id: written })),
  inTransfer('metadata', (written) => ({ metadata: { note: `pan=${written}` } })),
  inTransfer('a name in metadata', (written) => ({ metadata: { [written]: 'x' } })),
  inTransfer('an unknown member', (written) => ({ pan: written })),
  inTransfer('an unknown name', (written) => ({ [written]: 1 })),
  inTransfer('deep inside', (written) => ({ deep: { list: [0, { name: [written] }] } })),
  ...Object.entries(DISGUISES).flatMap(([disguise, write]) => [
    {
      ...inTransfer(`description in ${disguise}`, (written) => ({ description: write(written) })),
      disguised: write,
    },
    {
      ...inTransfer(`an unknown name in ${disguise}`, (written) => ({ [write(written)]: 'x' })),
      disguised: write,
    },
  ]),
  inTransfer('a number with an exponent as text', (written) => ({ note: `${digitsOf(written)}e0` })),
  inTransfer('a name deep inside', (written) => ({ deep: [{ [written]: null }] })),
  inBody('explain_transfer', 'POST', `${TRANSFER}/explain`, (written) => ({
    amount: 1,
    card_id: 'card_active',
    description: written,
  })),
  inBody('create_card', 'POST', '/api/v0.1/core/card', (written) => ({ card_id: `card-${tight(written)}` })),
  inBody('update_card', 'PATCH', '/api/v0.1/core/card/card_active', (written) => ({ holder: written })),
  inBody('update_card, metadata', 'PATCH', '/api/v0.1/core/card/card_active', (written) => ({
    metadata: { note: `pan=${written}` },
  })),
  inBody('create_program', 'POST', '/api/v0.1/operator/program', (written) => ({ name: written, currency: 'USD' })),
  inBody('create_key', 'POST', '/api/v0.1/operator/key', (written) => ({
    name: written,
    scopes: ['cards:read'],
    all_programs: true,
  })),
  inBody('change_switch', 'POST', OPERATIONS.change_switch.path, (written) => ({ disabled: true, reason: written })),
  inBody('create_deposit', 'POST', `${PROGRAM}/deposit`, (written) => ({ amount: 1, description: written })),
  inBody('create_deposit, reference', 'POST', `${PROGRAM}/deposit`, (written) => ({ amount: 1, reference: written })),
  inBody('create_deposit, a name in metadata', 'POST', `${PROGRAM}/deposit`, (written) => ({
    amount: 1,
    metadata: { [written]: 'x' },
  })),
  ...inSupport('create_case', { text: 'x' }, 'text', 'contact', 'request_id', 'transfer_id'),
  ...inSupport('reply_to_case', { text: 'x' }, 'text', 'external_author', 'external_id'),
  ...inSupport('answer_case', { text: 'x' }, 'text', 'external_author', 'external_id'),
  ...inSupport('resolve_case', { text: 'x', outcome: 'nothing' }, 'text'),
  ...inSupport('answer_sandbox_case', {}, 'text'),
  ...inSupport('create_incident', OUTAGE, 'title', 'public_text', 'internal_text'),
  ...inSupport('update_incident', {}, 'title', 'public_text', 'internal_text'),
  ...inSupport('resolve_incident', { text: 'x', outcome: 'nothing' }, 'text'),
  inBody('a batch, next to its rows', 'POST', `${TRANSFER}/batch`, (written) => ({
    note: written,
    transfers: [{ idempotency_key: 'a', amount: 1, card_id: 'card_closed' }],
  })),
  {
    ...inBody('a row of a batch', 'POST', `${TRANSFER}/batch`, (written) => ({
      transfers: [{ idempotency_key: 'a', amount: 1, card_id: 'card_active', description: written }],
    })),
    expected: 200,
    expectedRow: REFUSED,
  },
  {
    ...inBody('the key of a row', 'POST', `${TRANSFER}/batch`, (written) => ({
      transfers: [{ idempotency_key: tight(written), amount: 1, card_id: 'card_closed' }],
    })),
    expected: 200,
    expectedRow: asKey('card_closed'),
  },
  {
    ...inBody('the prefixed key of a row', 'POST', `${TRANSFER}/batch`, (written) => ({
      transfers: [{ idempotency_key: `order:${tight(written)}`, amount: 1, card_id: 'card_closed' }],
    })),
    expected: 200,
    expectedRow: 'card_closed',
  },
  {
    name: 'a JSON number outside the schema',
    bytes: (written) => request('POST', TRANSFER, `{"amount":1,"card_id":"c","pan":${digitsOf(written)}}`),
    expected: REFUSED,
  },
  {
    name: 'a JSON number outside the schema, with an exponent',
    bytes: (written) => request('POST', TRANSFER, `{"amount":1,"card_id":"c","pan":${digitsOf(written)}e0}`),
    expected: REFUSED,
  },
  {
    name: 'a JSON number outside the schema, as a fraction',
    bytes: (written) => {
      const digits = digitsOf(written);
      const scientific = `${digits.slice(0, 1)}.${digits.slice(1)}E${digits.length - 1}`;
      return request('POST', TRANSFER, `{"amount":1,"card_id":"c","pan":${scientific}}`);
    },
    expected: REFUSED,
  },
  {
    name: 'escaped in JSON',
    bytes: (written) => request('POST', TRANSFER, `{"amount":1,"card_id":"c","x":"${everyByteInJson(written)}"}`),
    expected: REFUSED,
  },
];

const digitsOf = (written: string): string => written.replaceAll(/[^0-9]/g, '');

/** Bodies with a different fault, which the service finds first. */
const IN_FAULTY_BODIES: readonly Place[] = [
  ...[
    ['the amount', 'invalid_amount', (written: string) => json({ amount: written, card_id: 'c' })],
    [
      'the amount with an exponent',
      'invalid_amount',
      (written: string) => `{"amount":${digitsOf(written)}e0,"card_id":"c"}`,
    ],
    ['the amount as a number', 'invalid_amount', (written: string) => `{"amount":${digitsOf(written)},"card_id":"c"}`],
    [
      'an amount too',
      'invalid_amount',
      (written: string) => json({ amount: '0.5', card_id: 'c', description: written }),
    ],
    ['the type', 'create_transfer_schema', (written: string) => json({ amount: 1, card_id: 'c', type: written })],
    ['a missing member', 'create_transfer_schema', (written: string) => json({ description: written })],
    [
      'metadata that is not an object',
      'create_transfer_schema',
      (written: string) => json({ ...GOOD, metadata: written }),
    ],
    [
      'a long type',
      'create_transfer_schema',
      (written: string) => json({ ...GOOD, type: `${'t'.repeat(30)} ${written}` }),
    ],
    ['broken JSON', 'create_transfer_schema', (written: string) => `{"description":"${written}"`],
    ['no JSON', 'create_transfer_schema', (written: string) => written],
    ['a name twice', 'create_transfer_schema', (written: string) => `{"${written}":1,"${written}":2}`],
    ['a body too large', 'payload_too_large', (written: string) => json({ x: `${written} `.repeat(12_000) })],
  ].map(([name, expected, body]) => ({
    name: String(name),
    bytes: (written: string) => request('POST', TRANSFER, (body as (written: string) => string)(written)),
    expected: String(expected),
  })),
];

const GOOD = { amount: 1, card_id: 'c' };

const IN_TARGETS: readonly Place[] = [
  ['a path', REFUSED, (written: string) => `/api/v0.1/core/card/${escaped(written)}`],
  ['a path, every byte escaped', REFUSED, (written: string) => `/api/v0.1/core/card/${everyByteEscaped(written)}`],
  ["a path below an operation's path", REFUSED, (written: string) => `/api/v0.1/core/card/${escaped(written)}/posting`],
  ['an id of a transfer', REFUSED, (written: string) => `${TRANSFER}/${escaped(written)}`],
  ['a query', REFUSED, (written: string) => `${TRANSFER}?reference=${escaped(written)}`],
  ['a key in a query', asKey(200), (written: string) => `${TRANSFER}?idempotency_key=${escaped(tight(written))}`],
  ['a prefixed key in a query', 200, (written: string) => `${TRANSFER}?idempotency_key=order-${tight(written)}`],
  ['a filter of cases', REFUSED, (written: string) => `/api/v0.1/core/case?request_id=${escaped(written)}`],
  ['an unknown parameter', REFUSED, (written: string) => `/api/v0.1/core/card?pan=${escaped(written)}`],
  ['the name of a parameter', REFUSED, (written: string) => `/api/v0.1/core/card?${escaped(written)}`],
  ['a filter', 'list_transfers_schema', (written: string) => `${TRANSFER}?status=${escaped(written)}`],
  ['a broken query', 'list_transfers_schema', (written: string) => `${TRANSFER}?a=${escaped(written)}&b=%zz`],
  ['a wrong route', 'route_not_found', (written: string) => `/api/nowhere/${escaped(written)}?pan=${escaped(written)}`],
  [
    'a wrong route, every byte escaped',
    'route_not_found',
    (written: string) => `/api/nowhere/${everyByteEscaped(written)}`,
  ],
  ['a broken path', 'malformed_request', (written: string) => `/api/v0.1/core/card/%zz${everyByteEscaped(written)}`],
  ['another broken path', 'malformed_request', (written: string) => `/api/v0.1/core/card/%zz/${escaped(written)}`],
  ['a path too long', 'uri_too_long', (written: string) => `${TRANSFER}/${escaped(written)}${'x'.repeat(300)}`],
  ['a code', 'route_not_found', (written: string) => `/errors/${escaped(written)}`],
  ['a search', 200, (written: string) => `/errors?q=${escaped(written)}`],
  ['the query of a page', 200, (written: string) => `/docs?pan=${escaped(written)}`],
  ['an absolute target', undefined, (written: string) => `http://${tight(written)}/nowhere`],
].map(([name, expected, target]) => ({
  name: String(name),
  bytes: (written: string) => request('GET', (target as (written: string) => string)(written)),
  ...(expected === undefined ? {} : { expected: expected as Expected }),
}));

/** Returns a request with the number in a header, for a list or for a transfer of a closed card. */
function header(name: string, expected: Place['expected'], value = tight, method = 'POST'): Place {
  const body = method === 'POST' ? json({ amount: 1, card_id: 'card_closed' }) : undefined;
  return {
    name: `${name} of a ${method}`,
    bytes: (written) => request(method, TRANSFER, body, [[name, value(written)]]),
    ...(expected === undefined ? {} : { expected }),
  };
}

const IN_HEADERS: readonly Place[] = [
  header('Idempotency-Key', asKey('card_closed')),
  header('Idempotency-Key', 'card_closed', (written) => `"order-${tight(written)}"`),
  header('Idempotency-Key', 'card_closed', (written) => `${tight(written)}/1`),
  header('Idempotency-Key', asKey(200), tight, 'GET'),
  header('Request-Id', 'card_closed'),
  header('Request-Id', 'card_closed', (written) => written),
  header('Case-Id', 'card_closed', (written) => written),
  header('Program-Id', 'program_not_found', (written) => written),
  header('Authorization', 'unauthenticated', (written) => `Bearer ${tight(written)}`),
  header('Authorization', 'unauthenticated', (written) => `Bearer ts_${tight(written)}`),
  header('Authorization', 'unauthenticated', (written) => written),
  header('Origin', 'forbidden', (written) => `https://${tight(written)}`),
  header('Expect', 'expectation_failed', (written) => written),
  header('Content-Type', 'unsupported_media_type', (written) => `text/${tight(written)}`),
  header('Sandbox-Provoke', 'create_transfer_schema', (written) => written),
  header('User-Agent', 'card_closed', (written) => written),
  header('Cookie', 'card_closed', (written) => `pan=${tight(written)}`),
  header('X-Pan', 200, (written) => written, 'GET'),
  {
    name: 'Host',
    bytes: (written) => `GET ${TRANSFER} HTTP/1.1\r\nHost: ${tight(written)}\r\n\r\n`,
    expected: 'forbidden',
  },
];

const IN_BROKEN_HTTP: readonly Place[] = [
  { name: 'a method', bytes: (written) => `${digitsOf(written)} / HTTP/1.1\r\n\r\n`, expected: 'malformed_request' },
  { name: 'a version', bytes: (written) => `GET / HTTP/${digitsOf(written)}\r\n\r\n`, expected: 'malformed_request' },
  {
    name: 'a header without a colon',
    bytes: (written) => `GET / HTTP/1.1\r\nHost: localhost\r\n${written}\r\n\r\n`,
    expected: 'malformed_request',
  },
  {
    name: 'the length of a body',
    bytes: (written) => `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${written}x\r\n\r\n`,
    expected: 'malformed_request',
  },
  {
    name: 'a header too large',
    bytes: (written) => request('GET', TRANSFER, undefined, [['X-Pan', `${written} `.repeat(1200)]]),
    expected: 'headers_too_large',
  },
  {
    name: 'a wrong method',
    bytes: (written) => request('DELETE', `/api/v0.1/core/card/${escaped(written)}`),
    expected: 'method_not_allowed',
  },
];

/** Every part of a request that a caller can fill. */
export const PLACES: readonly Place[] = [
  ...IN_BODIES,
  ...IN_FAULTY_BODIES,
  ...IN_TARGETS,
  ...IN_HEADERS,
  ...IN_BROKEN_HTTP,
];

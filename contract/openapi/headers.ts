import { CATALOGUE, type ErrorCode } from '../../domain/errors.ts';
import { isReplayed, tellsAboutMoney } from '../catalogue.ts';
import { exampleField } from '../example-failures.ts';
import { DEMO_PROGRAM, EXAMPLE_REQUEST_ID } from '../samples.ts';

type Header = {
  readonly description: string;
  readonly schema: { readonly [name: string]: string | readonly string[] };
  readonly example?: string;
};

/** Headers of successes. */
export const REPLY_HEADERS: Readonly<Record<string, Header>> = {
  'Request-Id': {
    description: 'Names this one answer; quote it to support.',
    schema: { type: 'string' },
    example: EXAMPLE_REQUEST_ID,
  },
  'Content-Disposition': {
    description: 'A name for the file.',
    schema: { type: 'string' },
    example: 'attachment; filename="transfers-2026-01-31.csv"',
  },
  Location: { description: 'Path of what was made.', schema: { type: 'string' } },
  'Idempotent-Replayed': {
    description: '`true` when this is the first answer to the `Idempotency-Key`, given again.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Ignored-Fields': {
    description: 'Names of members that were sent and that the operation does not know.',
    schema: { type: 'string' },
  },
  'Ignored-Headers': {
    description: '`Idempotency-Key` when it was sent and the operation takes none, so that it has no effect.',
    schema: { type: 'string', enum: ['Idempotency-Key'] },
  },
  'Client-Request-Id': { description: 'The `Request-Id` that the caller sent.', schema: { type: 'string' } },
  'RateLimit-Policy': {
    description: 'How many requests (`q`) one address, or one API key, may send in so many seconds (`w`).',
    schema: { type: 'string' },
    example: '"address";q=20000;w=10, "key";q=10000;w=10',
  },
  RateLimit: {
    description: 'How many requests of each policy remain (`r`), and in how many seconds all of them do again (`t`).',
    schema: { type: 'string' },
    example: '"address";r=19990;t=1, "key";r=9990;t=1',
  },
};

/** Headers that only errors have. */
export const ERROR_HEADERS: Readonly<Record<string, Header>> = {
  'Error-Code': { description: 'The `Code` of the record, for HEAD too.', schema: { type: 'string' } },
  Link: {
    description: 'Where the code is explained.',
    schema: { type: 'string' },
    example: '</errors/card_closed>; rel="describedby"',
  },
  'Should-Retry': {
    description: 'Whether the same request, sent again unchanged, can succeed.',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
  'Money-Moved': {
    description: 'Whether this request moved money; on every error of an operation that moves money.',
    schema: { type: 'string', enum: ['no', 'yes', 'unknown'] },
  },
  'Transfer-Id': {
    description: 'The transfer that may exist, when the outcome could not be confirmed.',
    schema: { type: 'string' },
  },
  'Retry-After': { description: 'Seconds after which to try again.', schema: { type: 'string' }, example: '1' },
  'Error-Field': {
    description: 'JSON pointer to the member of the request that is at fault.',
    schema: { type: 'string' },
    example: '/amount',
  },
  Allow: { description: 'The methods that the path has.', schema: { type: 'string' }, example: 'GET, HEAD, POST' },
  Accept: { description: 'The media type that is taken.', schema: { type: 'string' }, example: 'application/json' },
  'WWW-Authenticate': {
    description: 'How to send a key.',
    schema: { type: 'string' },
    example: 'Bearer realm="transfer-service"',
  },
};

/**
 * The names of the headers that answers with these codes can have. `isMoney`: whether the operation moves money;
 * `takesKey`: whether it takes an idempotency key.
 */
export function errorHeadersOf(
  codes: readonly ErrorCode[],
  isMoney = codes.some(tellsAboutMoney),
  takesKey = codes.some(isReplayed),
): readonly string[] {
  const some = (...wanted: readonly ErrorCode[]) => codes.some((code) => wanted.includes(code));
  return [
    'Request-Id',
    'Client-Request-Id',
    'Error-Code',
    'Link',
    'Should-Retry',
    ...(isMoney ? ['Money-Moved'] : []),
    ...(isMoney && codes.some((code) => CATALOGUE[code].moneyMoved !== 'no') ? ['Transfer-Id'] : []),
    ...(takesKey && codes.some(isReplayed) ? ['Idempotent-Replayed'] : []),
    ...(some('service_unavailable', 'service_disabled', 'rate_limited') ? ['Retry-After'] : []),
    ...(some('rate_limited') ? ['RateLimit-Policy', 'RateLimit'] : []),
    ...(codes.some((code) => exampleField(code) !== undefined) ? ['Error-Field'] : []),
    ...(some('method_not_allowed') ? ['Allow'] : []),
    ...(some('unsupported_media_type') ? ['Accept'] : []),
    ...(some('unauthenticated') ? ['WWW-Authenticate'] : []),
  ];
}

const VISIBLE = { type: 'string', minLength: 1, maxLength: 255 } as const;

const IDEMPOTENCY = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    '1 to 255 visible characters, such as a UUID. The same request sent again with the same key gets the first ' +
    'answer again, and nothing is done twice.',
  schema: VISIBLE,
  example: '4f1c2d9e-7a35-4b0f-9f6e-2b8f0c1d7e55',
} as const;

/** Headers of requests, by the name under which the document refers to them. */
export const REQUEST_HEADERS = {
  IdempotencyKey: { ...IDEMPOTENCY, required: false },
  IdempotencyKeyRequired: { ...IDEMPOTENCY, required: true },
  ProgramId: {
    name: 'Program-Id',
    in: 'header',
    required: false,
    description:
      "The card program to act in. A program's key names it already, an operator's key must say it, and a keyless " +
      'sandbox acts in its demo program.',
    schema: VISIBLE,
    example: DEMO_PROGRAM,
  },
  ClientRequestId: {
    name: 'Request-Id',
    in: 'header',
    required: false,
    description: 'A name of your own for the request; it comes back as `Client-Request-Id`.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
  },
  SandboxProvoke: {
    name: 'Sandbox-Provoke',
    in: 'header',
    required: false,
    description: 'Only in the sandbox: a code of the operation, which is then the answer.',
    schema: { type: 'string' },
    example: 'service_disabled',
  },
} as const;

import { SANDBOX_BEHAVIOR_PATTERN, SANDBOX_BEHAVIORS } from '../../domain/sandbox.ts';
import { ERROR_CODES, ERRORS, isReplayed, reportsMoney } from '../errors/catalogue.ts';
import type { ErrorCode } from '../operations.ts';
import { DEMO_PROGRAM, EXAMPLE_CASE_ID, EXAMPLE_INCIDENT_ID, EXAMPLE_REQUEST_ID } from '../samples.ts';
import { idPattern } from '../schema-parts.ts';
import { CASE_PATH } from '../support/cases.ts';

type Header = {
  readonly description: string;
  readonly schema: { readonly [name: string]: string | readonly string[] };
  readonly example?: string;
};

export const REPLY_HEADERS: Readonly<Record<string, Header>> = {
  'Request-Id': {
    description: 'Identifies this request. Quote it to support.',
    schema: { type: 'string' },
    example: EXAMPLE_REQUEST_ID,
  },
  'Content-Disposition': {
    description: 'A suggested name for the file.',
    schema: { type: 'string' },
    example: 'attachment; filename="transfers-2026-01-31.csv"',
  },
  Location: { description: 'Path of the created resource.', schema: { type: 'string' } },
  ETag: {
    description:
      'The version of the record. Send it as `If-Match` with a change, so that the change is made only if no one else has ' +
      'changed the record. Changes of balances and of the progress of deliveries do not change the version.',
    schema: { type: 'string' },
    example: '"iNyzm5cAFsqAVUNm"',
  },
  'Set-Cookie': {
    description: 'Sets or removes the session cookie.',
    schema: { type: 'string' },
    example: '__Host-console=…; Secure; HttpOnly; SameSite=Strict; Path=/',
  },
  'Idempotent-Replayed': {
    description: '`true` if this is a replay of the first response to the `Idempotency-Key`.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Original-Request-Id': {
    description:
      'The request that used the `Idempotency-Key` first. Look up that request, because nothing is stored about a replay. ' +
      'Missing if version 0.1.0 stored the first response.',
    schema: { type: 'string' },
    example: EXAMPLE_REQUEST_ID,
  },
  'Preference-Applied': {
    description:
      "The preference of the request that was applied: how long the response would have waited for the card's processor.",
    schema: { type: 'string' },
    example: 'wait=4',
  },
  'Ignored-Fields': {
    description: 'Names of fields in the request that the operation does not have. They were ignored.',
    schema: { type: 'string' },
  },
  Sandbox: {
    description:
      '`true`, together with `Ignored-Fields`, if the service is a sandbox, so that a client can warn its developer.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Idempotency-Key-Reused': {
    description:
      'Only in a sandbox: other operations that have used the same `Idempotency-Key` in the card program. A key belongs to one ' +
      'operation, so this request was carried out, too.',
    schema: { type: 'string' },
    example: 'create_deposit',
  },
  'Ignored-Headers': {
    description: '`Idempotency-Key` if the request has one and the operation does not support it.',
    schema: { type: 'string', enum: ['Idempotency-Key'] },
  },
  'Client-Request-Id': { description: 'The `Request-Id` header of the request.', schema: { type: 'string' } },
  'RateLimit-Policy': {
    description: 'The number of requests (`q`) that one address, or one API key, may send in a window of `w` seconds.',
    schema: { type: 'string' },
    example: '"address";q=20000;w=10, "key";q=10000;w=10',
  },
  RateLimit: {
    description: 'The remaining requests of each policy (`r`), and the seconds until all are available again (`t`).',
    schema: { type: 'string' },
    example: '"address";r=19990;t=1, "key";r=9990;t=1',
  },
};

/** Headers that every code can have, in the order of sending. */
const COMMON = {
  'Error-Code': {
    description: 'The `Code` of the error, for HEAD requests and for logs without bodies.',
    schema: { type: 'string' },
  },
  Link: {
    description: 'The page that explains the code.',
    schema: { type: 'string' },
    example: '</errors/card_closed>; rel="describedby"',
  },
  'Should-Retry': {
    description: 'Whether the same request can succeed when it is sent again unchanged.',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
  'Money-Moved': {
    description:
      'Whether the request moved money; `unknown` if the outcome could not be confirmed. Every response of an operation ' +
      'that can move money has it, and every response of a dry run. A replay has the value of the first response. For a ' +
      'batch it is `yes` if the money of any row has moved, otherwise `unknown` if the money of any row may have moved.',
    schema: { type: 'string', enum: ['no', 'yes', 'unknown'] },
  },
  'Transfer-Id': {
    description: 'The transfer to look up, if the outcome could not be confirmed.',
    schema: { type: 'string' },
  },
  'Error-Field': {
    description: 'JSON pointer to the invalid field of the request.',
    schema: { type: 'string' },
    example: '/amount',
  },
  'Support-Case': {
    description:
      'On Server Errors and Process Errors, a path. To open a case with support, POST the `request_id` to it. Missing while ' +
      'that is not possible.',
    schema: { type: 'string' },
    example: CASE_PATH,
  },
  Incident: {
    description: 'On Server Errors and Process Errors, the known incident that covers the error; missing without one.',
    schema: { type: 'string' },
    example: EXAMPLE_INCIDENT_ID,
  },
} as const;

const SPECIFIC = ERROR_CODES.flatMap((code) => ERRORS[code].headers);

export const ERROR_HEADERS: Readonly<Record<string, Header>> = {
  ...COMMON,
  ...Object.fromEntries(
    SPECIFIC.toReversed().map(({ name, value, description }) => [
      name,
      { description, schema: { type: 'string' }, example: value },
    ]),
  ),
};

/** A header of an error, with an example of its value. */
export type ErrorHeader = {
  readonly name: string;
  readonly value: string;
  readonly description: string;
  /** Whether some responses with the code do not have it. The example response omits it. */
  readonly optional?: true;
};

/** Whether only support can resolve the code, so that its responses point to a case and an incident. */
function pointsToSupport(code: ErrorCode): boolean {
  return ERRORS[code].resolver === 'support';
}

/** Whether responses with the code can name the request that used their idempotency key first. */
function namesOriginal(code: ErrorCode): boolean {
  return code === 'idempotency_key_exists' || isReplayed(code);
}

/** The headers of responses with the code, except the headers of HTTP itself. */
export function headersOf(code: ErrorCode): readonly ErrorHeader[] {
  const { retryable, moneyMoved, headers, sample } = ERRORS[code];
  const common = (name: keyof typeof COMMON, value: string): ErrorHeader => {
    return { name, value, description: COMMON[name].description.replaceAll('`', '') };
  };
  const money = reportsMoney(code);
  const original = 'The request that used the Idempotency-Key first.';
  const replayed = 'true if this is a replay of the first response to the Idempotency-Key.';
  return [
    { name: 'Request-Id', value: EXAMPLE_REQUEST_ID, description: 'Identifies this request. Quote it to support.' },
    common('Error-Code', code),
    common('Link', `</errors/${code}>; rel="describedby"`),
    common('Should-Retry', String(retryable)),
    ...(money ? [common('Money-Moved', 'no')] : []),
    ...(money && moneyMoved !== 'no' ? [{ ...common('Transfer-Id', 'tr_…'), optional: true as const }] : []),
    ...(isReplayed(code)
      ? [{ name: 'Idempotent-Replayed', value: 'true', description: replayed, optional: true as const }]
      : []),
    ...(namesOriginal(code)
      ? [{ name: 'Original-Request-Id', value: EXAMPLE_REQUEST_ID, description: original, optional: true as const }]
      : []),
    ...headers,
    ...(pointsToSupport(code)
      ? [
          { ...common('Support-Case', CASE_PATH), optional: true as const },
          { ...common('Incident', 'inc_…'), optional: true as const },
        ]
      : []),
    ...(sample.field === undefined ? [] : [common('Error-Field', sample.field)]),
  ];
}

/**
 * The names of the headers of responses with any of these codes. `isMoney` says whether the operation has `Money-Moved`,
 * `takesKey` whether it accepts an idempotency key.
 */
export function errorHeadersOf(
  codes: readonly ErrorCode[],
  isMoney = codes.some(reportsMoney),
  takesKey = codes.some(isReplayed),
): readonly string[] {
  const own = codes.flatMap((code) => ERRORS[code].headers.map(({ name }) => name));
  return [
    'Request-Id',
    'Client-Request-Id',
    'Error-Code',
    'Link',
    'Should-Retry',
    ...(isMoney ? ['Money-Moved'] : []),
    ...(isMoney && codes.some((code) => ERRORS[code].moneyMoved !== 'no') ? ['Transfer-Id'] : []),
    ...(takesKey && codes.some(isReplayed) ? ['Idempotent-Replayed'] : []),
    ...(takesKey && codes.some(namesOriginal) ? ['Original-Request-Id'] : []),
    ...(codes.includes('rate_limited') ? ['RateLimit-Policy', 'RateLimit'] : []),
    ...(codes.some((code) => ERRORS[code].sample.field !== undefined) ? ['Error-Field'] : []),
    ...(codes.some(pointsToSupport) ? ['Support-Case', 'Incident'] : []),
    ...new Set(own),
  ];
}

const BEHAVIORS = SANDBOX_BEHAVIORS.map((behavior) => `\`${behavior}\``).join(', ');

const VISIBLE = { type: 'string', minLength: 1, maxLength: 255 } as const;

const IDEMPOTENCY = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    '1 to 255 visible characters, such as a UUID. If the same request is sent again with the same key, the ' +
    'first response is returned again, and the request is not processed twice. A key belongs to one operation: another ' +
    'operation with the same key is carried out, too.',
  schema: VISIBLE,
  example: '4f1c2d9e-7a35-4b0f-9f6e-2b8f0c1d7e55',
} as const;

export const REQUEST_HEADERS = {
  IdempotencyKey: IDEMPOTENCY,
  IdempotencyKeyRequired: { ...IDEMPOTENCY, required: true },
  ProgramId: {
    name: 'Program-Id',
    in: 'header',
    description:
      "The card program of the request. Required with an operator's key. A program's key can act only in that program, and a " +
      'sandbox without keys uses its demo program.',
    schema: VISIBLE,
    example: DEMO_PROGRAM,
  },
  LastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    description: 'For a stream: the `id` of the last event that was read. It takes precedence over `after`.',
    schema: { type: 'string', pattern: '^[0-9]{1,16}$' },
  },
  ClientRequestId: {
    name: 'Request-Id',
    in: 'header',
    description: 'Your id for the request. It is returned as `Client-Request-Id`.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
  },
  CaseId: {
    name: 'Case-Id',
    in: 'header',
    description:
      'The case that an operator works on, noted in the entry of the audit log as `case_id`. It does not have to exist; a value that is ' +
      'not the id of a case is ignored.',
    schema: { type: 'string', pattern: idPattern('case') },
    example: EXAMPLE_CASE_ID,
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description:
      'The `ETag` of the response in which you read the record. If the record has another version by now, it is not changed, ' +
      'and the response is `precondition_failed`.',
    schema: { type: 'string' },
    example: '"iNyzm5cAFsqAVUNm"',
  },
  Prefer: {
    name: 'Prefer',
    in: 'header',
    description:
      "`wait=` and a number of seconds, 10 at most (RFC 7240): the response waits until the outcome at the card's " +
      'processor is known. By default, and after that time, the status of such a transfer is `pending`. An invalid ' +
      'preference is ignored, and a replay does not wait.',
    schema: { type: 'string' },
    example: 'wait=4',
  },
  SandboxProcessor: {
    name: 'Sandbox-Processor',
    in: 'header',
    description: `Sandbox only: what the card's simulated processor does with the transfer. One of ${BEHAVIORS}.`,
    schema: { type: 'string', pattern: SANDBOX_BEHAVIOR_PATTERN },
    example: 'decline=51',
  },
  SandboxProvoke: {
    name: 'Sandbox-Provoke',
    in: 'header',
    description: 'Sandbox only: an error code of the operation. The response is that error.',
    schema: { type: 'string' },
    example: 'service_disabled',
  },
} as const;

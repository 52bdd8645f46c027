import type { RefusalCode } from '../../domain/error-codes.ts';
import type { Operation } from '../operation.ts';

type StepOfRequest = {
  /** What the step checks. In a list, the text follows the step's number. */
  readonly checks: string;
  readonly codes: (operation: Operation) => readonly RefusalCode[];
};

/** An amount is checked before the other rules of its operation, and before card numbers. */
const isAmount = (code: RefusalCode): boolean => code === 'invalid_amount';

const RATE_LIMITED = (): readonly RefusalCode[] => ['rate_limited'];

/**
 * The steps of a request to an operation, in order. If several steps would refuse a request, the first of them determines the
 * error. server/http/pipeline.ts runs them, and the reference, the OpenAPI document and docs/errors-and-retries.md list them in
 * this order.
 */
export const STEPS = {
  head: {
    checks: 'the load of the service, the head of the request, and its route',
    codes: () => [
      'service_unavailable',
      'request_timeout',
      'headers_too_large',
      'malformed_request',
      'expectation_failed',
      'uri_too_long',
      'route_not_found',
      'method_not_allowed',
    ],
  },
  address: { checks: 'the rate limit of the address', codes: RATE_LIMITED },
  caller: {
    checks: 'the credentials',
    codes: ({ reach }) => (reach === 'connector' ? [] : ['unauthenticated']),
  },
  key: { checks: 'the rate limit of the key', codes: RATE_LIMITED },
  scope: {
    checks: "the permissions of the key or the person, and the age of a person's sign-in",
    codes: ({ reach, freshSignIn }) =>
      reach === 'connector' ? [] : ['forbidden', ...(freshSignIn ? (['sign_in_again'] as const) : [])],
  },
  program: {
    checks: 'the card program',
    codes: ({ reach }) => (reach === 'program' ? ['program_not_found'] : []),
  },
  exports: { checks: 'the rate limit of exports', codes: ({ csv }) => (csv ? RATE_LIMITED() : []) },
  provoked: { checks: 'in a sandbox, the error that the caller asked for', codes: () => [] },
  body: {
    checks: 'the media type and the size of the body',
    codes: ({ body }) => (body === undefined ? [] : ['unsupported_media_type', 'payload_too_large']),
  },
  signature: {
    checks: 'the signature of a notice, and the rate limit of its connector',
    codes: ({ reach }) => (reach === 'connector' ? ['unauthenticated', ...RATE_LIMITED()] : []),
  },
  idempotency_key: {
    checks: 'the idempotency key',
    codes: ({ idempotency }) => (idempotency === 'none' ? [] : ['invalid_idempotency_key']),
  },
  fields: {
    checks: 'the fields of the path, the query and the body; the amount last',
    codes: ({ id, errors }) => [`${id}_schema`, ...errors.filter(isAmount)],
  },
  rows: { checks: 'the rate limit of transfers in a batch', codes: RATE_LIMITED },
  card_numbers: { checks: 'that the request contains no card number', codes: () => ['card_number_refused'] },
  operation: {
    checks: 'the rules of the operation',
    // The last code can occur at any step.
    codes: ({ id, errors, approvable }) => [
      ...errors.filter((code) => !isAmount(code)),
      ...(approvable ? (['approval_pending'] as const) : []),
      `unknown_${id}`,
    ],
  },
} as const satisfies Readonly<Record<string, StepOfRequest>>;

export type Step = keyof typeof STEPS;

/** All codes of an operation in order of precedence. `rate_limited` belongs to several steps, and is listed at the first. */
export function codesInOrder(operation: Operation): readonly RefusalCode[] {
  return [...new Set(Object.values(STEPS).flatMap(({ codes }) => codes(operation)))];
}

import { type TObject, Type } from 'typebox';
import type { ErrorCode } from '../domain/errors.ts';
import { OPERATIONS as DOMAIN_OPERATIONS, OPERATION_IDS, type OperationId } from '../domain/operation.ts';
import { CORE_OPERATIONS } from './core-operations.ts';
import type { Operation } from './operation.ts';
import { OPERATOR_OPERATIONS } from './operator-operations.ts';

/** Every operation of the service: the routes, the reference, the SDK and the tests are made from this table. */
export const OPERATIONS: Readonly<Record<OperationId, Operation>> = { ...CORE_OPERATIONS, ...OPERATOR_OPERATIONS };
/** Faults of the HTTP request itself; they come before everything else, in the order in which they are noticed. */
const HTTP_FAULTS: readonly ErrorCode[] = [
  'service_unavailable',
  'request_timeout',
  'headers_too_large',
  'malformed_request',
  'expectation_failed',
  'uri_too_long',
  'route_not_found',
  'method_not_allowed',
];

/** What an operation that takes an amount looks at before anything else of its own. */
const AMOUNT: ErrorCode = 'invalid_amount';

/**
 * Every code that an operation can answer with, in order of precedence: the first that applies is the answer.
 * `unknown_<operation>` stands last: it can happen at any step. `rate_limited` can come three times: for the address before
 * the credentials are looked at, for the key right after them, and of an export for its card program.
 */
export function precedenceOf(id: OperationId): readonly ErrorCode[] {
  const operation = OPERATIONS[id];
  return [
    ...HTTP_FAULTS,
    'rate_limited',
    'unauthenticated',
    'forbidden',
    ...(operation.program ? (['program_not_found'] as const) : []),
    ...(operation.body === undefined ? [] : (['unsupported_media_type', 'payload_too_large'] as const)),
    ...(operation.idempotency === 'none' ? [] : (['invalid_idempotency_key'] as const)),
    `${id}_schema`,
    ...operation.rules.filter((code) => code === AMOUNT),
    'card_number_refused',
    ...operation.rules.filter((code) => code !== AMOUNT),
    `unknown_${id}`,
  ];
}

/** The names of the parameters in a path, such as `transfer_id`. */
export function parametersOf(path: string): readonly string[] {
  return [...path.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1] ?? '');
}

/** The schema of a path's parameters. */
export function parameterSchema(path: string): TObject {
  return Type.Object(
    Object.fromEntries(parametersOf(path).map((name) => [name, Type.String({ minLength: 1, maxLength: 255 })])),
  );
}

/** Whether refusals of the operation carry Money-Moved. */
export function movesMoney(id: OperationId): boolean {
  return DOMAIN_OPERATIONS[id].movesMoney;
}

export { OPERATION_IDS, type OperationId };

import { type Static, Type } from 'typebox';
import { ERROR_TYPES } from './errors/record.ts';
import { operation } from './operation.ts';
import {
  checkedName,
  cursor,
  existing,
  idText,
  limit,
  literals,
  moment,
  nextCursor,
  nullable,
  pageOf,
  textOrNull,
} from './schema-parts.ts';

const objectOrNull = (description: string) =>
  nullable(Type.Unsafe<Record<string, unknown>>({ type: 'object', description }));

/** An error response, without internal details of the service. */
export const LoggedErrorRecord = Type.Object({
  request_id: Type.String({ description: 'Request-Id of the response' }),
  created_at: moment('When the request was received'),
  operation: textOrNull('The operation; null if it is not known'),
  code: Type.String({ description: 'Error code' }),
  status: Type.Integer({ description: 'HTTP status' }),
  type: literals(ERROR_TYPES, 'Type of the error'),
  message: Type.String({ description: 'Message of the response, without card numbers' }),
  field: textOrNull('JSON pointer to the invalid field; null if the error does not concern one field'),
  method: textOrNull('HTTP method; null if the request could not be read'),
  path: textOrNull('Path template of the request; null if no route has its path'),
  card_id: textOrNull('The card that caused the error; otherwise the card in the request; null if there is none'),
  transfer_id: textOrNull('The transfer that exists or may exist; null if there is none'),
  idempotency_key: textOrNull('Idempotency-Key of the request; null if there is none'),
  key_id: textOrNull(
    'Id of the API key of the request, or of the key or person of its session; null without a key, for a key that is not known, and for ' +
      'errors of earlier versions',
  ),
  money_moved: nullable(
    literals(['no', 'yes', 'unknown'], 'Whether the request moved money; null for operations that move none'),
  ),
  request: objectOrNull('The fields of the request, without card numbers and keys; null if they were not read'),
  traceparent: textOrNull('The trace of the request (W3C Trace Context); null if the caller sent none'),
});

export const OperatorErrorRecord = Type.Object({
  ...LoggedErrorRecord.properties,
  program_id: textOrNull('The card program; null if it is not known'),
  caller: textOrNull(
    'The caller: sandbox, program_key or operator_key; null if the credentials were not checked or were refused',
  ),
  checks: objectOrNull('The values that the failed check used; null if no check failed'),
});

/** An error with its causes. */
export const InspectedErrorRecord = Type.Object({
  ...OperatorErrorRecord.properties,
  causes: Type.Array(
    Type.Object({
      name: Type.String({ description: 'Class of the exception' }),
      message: Type.String({ description: 'Message of the exception' }),
      stack: Type.Array(Type.String(), { description: 'Stack frames, innermost first' }),
    }),
    { description: 'The exception, its cause, and so on; empty for errors of the caller' },
  ),
});

const dropped = Type.Integer({ description: 'Number of errors in the period that could not be recorded' });

export const FoundErrors = Type.Object({
  data: Type.Array(OperatorErrorRecord, { description: 'Errors, newest first' }),
  next_cursor: nextCursor,
  dropped,
});

export const ErrorCounts = Type.Object({
  interval: literals(['hour', 'day'], 'Length of an interval'),
  from: moment('Start of the first interval'),
  to: moment('End of the last interval'),
  data: Type.Array(
    Type.Object({
      start: moment('Start of the interval'),
      code: Type.String({ description: 'Error code' }),
      type: nullable(literals(ERROR_TYPES, 'Type of the error; null for a code of an earlier version')),
      count: Type.Integer({ description: 'Number of errors with the code in the interval; never 0' }),
    }),
    { description: 'Oldest first, then by code' },
  ),
  dropped,
});

const code = Type.Optional(checkedName('ErrorCode', 'Only errors with this code'));
const programId = Type.Optional(idText('prog', 'Only errors of this card program'));

const FILTERS = {
  limit,
  cursor,
  code,
  type: Type.Optional(literals(ERROR_TYPES, 'Only errors of this type')),
  operation: Type.Optional(checkedName('OperationId', 'Only errors of this operation')),
  card_id: Type.Optional(
    existing('Only errors of this card. A request with an invalid body is stored without its card'),
  ),
  created_from: Type.Optional(moment('Only errors at or after this time')),
  created_to: Type.Optional(moment('Only errors before this time')),
};

const CORE = '/api/v0.1/core/error';
const OPERATOR = '/api/v0.1/operator/error';

const ERROR = {
  operation: 'create_transfer',
  code: 'insufficient_funds',
  status: 409,
  type: 'Request Error',
  message: "The card 'card_empty' has 0.00 USD available; the transfer is for 0.01 USD.",
  field: '/amount',
  method: 'POST',
  path: '/api/v0.1/core/transfer',
  card_id: 'card_empty',
  transfer_id: null,
  idempotency_key: null,
  key_id: 'key_0196f5c2d9a37d11b6e4f2a90c8d5e72',
  money_moved: 'no',
  request: { amount: 1, card_id: 'card_empty', type: 'unload' },
  traceparent: null,
} as const;
const CHECKS = { caller: 'program_key', checks: { account: 'card', available: '0', amount: '1' } } as const;

export const ERROR_LOG = [
  operation({
    id: 'get_error',
    method: 'GET',
    path: `${CORE}/{request_id}`,
    summary: 'Get an error of the card program by the Request-Id of its response',
    reach: 'program',
    scope: 'errors:read',
    reply: LoggedErrorRecord,
    errors: ['error_not_found'],
    failure: 'The error could not be read',
    example: { reply: ERROR },
  }),
  operation({
    id: 'list_errors',
    method: 'GET',
    path: CORE,
    summary: 'List errors of the card program, newest first',
    reach: 'program',
    scope: 'errors:read',
    query: Type.Object(FILTERS),
    reply: pageOf(LoggedErrorRecord),
    failure: 'The errors could not be listed',
    example: { reply: ERROR },
  }),
  operation({
    id: 'inspect_error',
    method: 'GET',
    path: `${OPERATOR}/{request_id}`,
    summary: 'Get any error by the Request-Id of its response, with its causes',
    reach: 'operator',
    scope: 'operator:read',
    reply: InspectedErrorRecord,
    audit: 'always',
    errors: ['error_not_found'],
    failure: 'The error could not be inspected',
    example: { reply: { ...ERROR, ...CHECKS, causes: [] } },
  }),
  operation({
    id: 'search_errors',
    method: 'GET',
    path: OPERATOR,
    summary: 'List the errors of all card programs, and those without a program, newest first',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({ ...FILTERS, program_id: programId }),
    reply: FoundErrors,
    failure: 'The errors could not be searched',
    example: { reply: { ...ERROR, ...CHECKS } },
  }),
  operation({
    id: 'count_errors',
    method: 'GET',
    path: `${OPERATOR}-count`,
    summary: 'Count errors by code and by hour or day, for a chart',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({
      interval: Type.Optional(literals(['hour', 'day'], 'Length of an interval, in UTC; hour if omitted')),
      from: Type.Optional(
        moment('A time in the first interval; 24 hours (30 days, for intervals of a day) before `to` if omitted'),
      ),
      to: Type.Optional(moment('End of the period: intervals that begin before this time are counted; now if omitted')),
      code,
      program_id: programId,
    }),
    reply: ErrorCounts,
    failure: 'The errors could not be counted',
    example: {
      reply: {
        from: '2026-01-31T00:00:00.000Z',
        to: '2026-02-01T00:00:00.000Z',
        data: [{ start: '2026-01-31T09:00:00.000Z', code: 'insufficient_funds', type: 'Request Error', count: 12 }],
        dropped: 0,
      },
    },
  }),
] as const;

export type LoggedErrorRecord = Static<typeof LoggedErrorRecord>;
export type OperatorErrorRecord = Static<typeof OperatorErrorRecord>;
export type InspectedErrorRecord = Static<typeof InspectedErrorRecord>;
export type ErrorCounts = Static<typeof ErrorCounts>;

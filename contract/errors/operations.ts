import { call, type ErrorDefinition, errorCode, type Sample, type SampleRequest } from '../error.ts';
import { exampleOf, examplePath, writtenJson } from '../examples.ts';
import type { Operation } from '../operation.ts';
import { movesMoney, OPERATIONS, type OperationId, saysIfMoneyMoved } from '../operations.ts';

const SCHEMA_CALLED =
  'bad json, invalid json, malformed json, json error, json parse error, syntax error, unexpected token, bad request, ' +
  'validation error, validation failed, invalid request, invalid parameter, invalid field, missing field, missing parameter, ' +
  'required field, field is required, unknown field, misspelled field, wrong type, wrong format, empty body, duplicate field, ' +
  'schema, null value, bad query parameter';

const UNKNOWN_CALLED =
  'internal error, internal server error, server error, unknown error, unexpected error, crash, bug, something went wrong, ' +
  'exception, database down, database unreachable, database error, unknown outcome, did money move, money moved unknown';

/** `<operation>_schema`: the request does not match the schema of the operation. */
export function schemaError(operation: OperationId): ErrorDefinition {
  const names = operation === 'create_transfer' ? ", 'amount' or 'card_id'," : '';
  const { body, query } = OPERATIONS[operation] as Operation;
  return errorCode({
    status: 400,
    problem: 'A field is missing or wrong, or the JSON is invalid',
    meaning: `The request does not match the schema of ${operation}.`,
    causes: [
      ...((body?.required ?? []).length > 0 ? [`A required field${names} is missing, null or an empty string.`] : []),
      ...(body === undefined
        ? []
        : [
            'A field has the wrong JSON type, a value that is not allowed, or a misspelled name.',
            'The body is not valid JSON, or contains a field twice.',
          ]),
      ...(query === undefined ? [] : ['A query parameter is empty or has a value that is not allowed.']),
      ...(body === undefined ? ['A query parameter is repeated, or the path contains a control character.'] : []),
    ],
    resolution: 'Correct the problem in the message, then send the request again.',
    alsoCalled: SCHEMA_CALLED,
    sample: schemaSample(operation),
  });
}

/** The simplest request that does not match the schema of an operation, and the response to it. */
function schemaSample(operation: OperationId): Sample {
  const { method, body, query, idempotency } = OPERATIONS[operation];
  const key: Readonly<Record<string, string>> = idempotency === 'required' ? { 'Idempotency-Key': 'example-1' } : {};
  const bare = { operation, method, path: examplePath(operation), headers: key };
  const required: readonly string[] = body?.required ?? [];
  const missing = operation === 'create_transfer' ? 'amount' : required[0];
  if (body !== undefined && missing !== undefined) {
    const { body: complete = '{}' } = exampleOf(operation);
    const fields: object = JSON.parse(complete);
    const rest = Object.fromEntries(Object.entries(fields).filter(([name]) => name !== missing));
    return {
      reproduce: `Send ${operation} without '${missing}'.`,
      request: { ...bare, body: writtenJson(rest) },
      message: `The required field '${missing}' is missing.`,
      field: `/${missing}`,
    };
  }
  if (body !== undefined) {
    const headers = { ...key, 'Content-Type': 'application/json' };
    const message = 'The body must be a JSON object, but it is an array.';
    return { reproduce: `Send ${operation} with the body [].`, request: { ...bare, headers, body: '[]' }, message };
  }
  if (query !== undefined && Object.hasOwn(query.properties, 'limit')) {
    return {
      reproduce: `Send ${operation} with limit=0.`,
      request: { ...bare, path: `${bare.path}?limit=0` },
      message: "'limit' must be a whole number from 1 to 100, but it is '0'.",
      field: '/limit',
    };
  }
  return {
    reproduce: `Send ${operation} with a query parameter twice.`,
    request: { ...bare, path: `${bare.path}?a=1&a=2` },
    message: "The query parameter 'a' is repeated.",
    field: '/a',
  };
}

const CONTACT_SUPPORT =
  'Contact support: open a case with the request id. With an idempotency key, you can safely send the request again.';

const AGAIN_WITH_KEY =
  'With an idempotency key, send exactly the same request again: it moves money at most once. Without a key, first look up whether ' +
  'the transfer was created. Contact support: open a case with the request id.';

/** `unknown_<operation>`: the operation failed because of an internal error. */
export function unknownError(operation: OperationId): ErrorDefinition {
  const { failure } = OPERATIONS[operation];
  const { change, how } = WITHOUT_DATABASE[operation] ?? { change: {}, how: '' };
  const example = exampleOf(operation);
  return errorCode({
    status: 500,
    type: 'Server Error',
    problem: 'Timeout, no response, or status 500',
    meaning: `${failure} because of an internal error.`,
    causes: ['The database is unreachable or did not respond in time.', 'The service has a bug.'],
    resolution: movesMoney(operation) ? AGAIN_WITH_KEY : CONTACT_SUPPORT,
    support: {
      tell: 'The request failed because of a problem on our side. We are working on it.',
      next:
        'Escalate to the operators with the request id if other customers are affected too, or if it lasts longer than a ' +
        'minute. The causes are for them.',
    },
    alsoCalled: UNKNOWN_CALLED,
    moneyMoved: movesMoney(operation) ? 'no or unknown' : 'no',
    headers: [
      {
        name: 'Retry-After',
        value: '1',
        description: 'Seconds to wait before the next try, while the database is unavailable.',
        optional: true,
      },
    ],
    sample: {
      reproduce: `Stop the database with "transfer-service sandbox database stop", then send ${operation}${how}.`,
      given: [call('stop_database')],
      request: { ...example, operation, headers: { ...example.headers, ...change } },
      after: [call('start_database')],
      message: failureMessage(operation),
    },
  });
}

/** A key with a valid checksum that no service has issued: only the database can tell that it is unknown. */
const UNKNOWN_KEY = { Authorization: `Bearer ts_${'0'.repeat(16)}_${'0'.repeat(64)}aeea93fd` };

/**
 * Operations that do not fail while the database is stopped, unless they must look up a program or a key. A batch reports a
 * failure for each row. The status and the overview report missing values as unknown. A request without a key has no session. The
 * controls of the database work while it is stopped.
 */
const WITHOUT_DATABASE: Partial<
  Record<OperationId, { readonly change: SampleRequest['headers']; readonly how: string }>
> = {
  create_transfer_batch: {
    change: { 'Program-Id': 'prog_00000000000070008000000000000002' },
    how: ' for a card program that does not exist',
  },
  get_status: { change: UNKNOWN_KEY, how: ' with an unknown API key' },
  get_overview: { change: UNKNOWN_KEY, how: ' with an unknown API key' },
  create_session: { change: UNKNOWN_KEY, how: ' with an unknown API key' },
  get_session: { change: UNKNOWN_KEY, how: ' with an unknown API key' },
  delete_session: { change: UNKNOWN_KEY, how: ' with an unknown API key' },
  stop_database: { change: UNKNOWN_KEY, how: ' with an unknown API key' },
  start_database: { change: UNKNOWN_KEY, how: ' with an unknown API key' },
};

/** The message of an operation that failed and has moved no money. */
export function failureMessage(operation: OperationId): string {
  const { failure } = OPERATIONS[operation];
  return saysIfMoneyMoved(operation) ? `${failure}. No money was moved.` : `${failure}.`;
}

import { randomUUID } from 'node:crypto';
import { isErrorCode } from '../../contract/errors/catalogue.ts';
import { provokingRequest } from '../../contract/errors/examples.ts';
import { type ExampleRequest, exampleOf } from '../../contract/examples.ts';
import { OPERATION_IDS } from '../../contract/operations.ts';
import { TransferServiceError, UnexpectedResponse } from '../../sdk/client.ts';
import { recordFields } from '../failure.ts';
import { answer } from './answer.ts';
import { refuseLive, sendPlain } from './plain-request.ts';
import { unknownCode } from './support-tools.ts';
import { type Call, type Called, PROGRAM_ID, RefusedCall, type Tool, textIn } from './tool.ts';

export const provokeError: Tool = {
  name: 'provoke_error',
  title: 'Provoke an error in the sandbox',
  description:
    'Makes the sandbox return an error code, so that you see the exact response and can test error handling. The operation ' +
    'itself is not carried out and no money moves, but the error is recorded like any other, so explain_request works with its ' +
    'request id. A live service is refused. The call succeeds if the service returned the code.',
  inputSchema: {
    type: 'object',
    properties: {
      code: { type: 'string', description: 'The error code, such as insufficient_funds or rate_limited' },
      operation: {
        type: 'string',
        description:
          'The operation that returns it, such as create_card; create_transfer by default if it can return the code',
      },
      money_moved_unknown: {
        type: 'boolean',
        description: 'Only for codes that begin with unknown_: whether the response says Money-Moved: unknown',
      },
      ...PROGRAM_ID,
    },
    required: ['code'],
    additionalProperties: false,
  },
  writes: true,
  isDestructive: false,
  run: async (called, call) => {
    const { code, request } = requestIn(call);
    await refuseLive(called, call.signal);
    const provoked = await provoke(called, call, request);
    if (provoked.Code !== code) throw provoked;
    const { method, path, headers, body } = request;
    return answer(`The sandbox returned ${code} (HTTP ${provoked.Status}). The request was not carried out.`, {
      error: recordFields(provoked),
      response_headers: shownHeaders(provoked.headers),
      request: { method, path, headers, body: body ?? null },
    });
  },
};

/** Returns the request that provokes the code. Throws RefusedCall if there is none. */
function requestIn({ given }: Call): { readonly code: string; readonly request: ExampleRequest } {
  const code = textIn(given, 'code').toLowerCase();
  if (!isErrorCode(code)) throw unknownCode(code);
  const request = given.operation === undefined ? provokingRequest(code) : requestOf(textIn(given, 'operation'), code);
  if (request === undefined) {
    throw new RefusedCall(
      `No operation returns ${code}, so it cannot be provoked. Use look_up_error_code to see its causes.`,
    );
  }
  const isUnknown = given.money_moved_unknown === true;
  if (isUnknown && !code.startsWith('unknown_')) {
    throw new RefusedCall("Only a code that begins with unknown_ can have 'money_moved_unknown'.");
  }
  const headers = {
    ...request.headers,
    // The key of the example may already belong to a different request.
    ...('Idempotency-Key' in request.headers && { 'Idempotency-Key': randomUUID() }),
    ...(isUnknown && { 'Sandbox-Provoke': `${code}; money_moved=unknown` }),
  };
  return { code, request: { ...request, headers } };
}

function requestOf(operation: string, code: string): ExampleRequest {
  const id = OPERATION_IDS.find((one) => one === operation);
  if (id === undefined) throw new RefusedCall('There is no such operation. Use search_docs to find its name.');
  const example = exampleOf(id);
  return { ...example, headers: { ...example.headers, 'Sandbox-Provoke': code } };
}

/** Sends the request. Returns the error, which is the wanted result. */
async function provoke(
  called: Called,
  { given, signal }: Call,
  request: ExampleRequest,
): Promise<TransferServiceError> {
  const { key } = called;
  const program = given.program_id === undefined ? called.program : textIn(given, 'program_id');
  const sent = {
    ...request,
    headers: {
      ...request.headers,
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...(program !== undefined && { 'Program-Id': program }),
    },
    signal,
  };
  const response = await sendPlain(called, sent).catch((error: unknown) => error);
  if (response instanceof TransferServiceError) return response;
  if (response instanceof Error) throw response;
  throw new UnexpectedResponse(
    'The service carried out the request instead of returning the code.',
    { status: 200, headers: new Headers(), excerpt: '' },
    { moneyMoved: 'unknown', idempotencyKey: undefined, attempts: 1 },
  );
}

/** The headers that callers of the API act on. */
const SHOWN = ['error-code', 'request-id', 'money-moved', 'should-retry', 'retry-after', 'transfer-id', 'error-field'];

function shownHeaders(headers: Headers): Readonly<Record<string, string>> {
  return Object.fromEntries(SHOWN.flatMap((name) => (headers.has(name) ? [[name, headers.get(name) ?? '']] : [])));
}

import { ERRORS } from '../../contract/errors/catalogue.ts';
import { printableJson } from '../../domain/printable-text.ts';
import {
  AwaitsApproval,
  ConnectionFailure,
  InvalidArgument,
  isErrorCode,
  TransferServiceError,
  UnexpectedResponse,
} from '../../sdk/client.ts';
import { connectionMessage, isOnThisMachine, lacksProgram, recordFields, responseFields } from '../failure.ts';
import { type Answer, type Called, RefusedCall, type Tool } from './tool.ts';

/** Returns a result: a sentence that answers the question, and the data behind it. */
export function answer(summary: string, data: object): Answer {
  const structuredContent = { summary, ...data };
  return { content: [{ type: 'text', text: printableJson(structuredContent, 2) }], structuredContent };
}

/** Returns the result of a call that failed, with the complete error and what to do next. Rethrows bugs. */
export function failure(error: unknown, called: Called, { writes }: Pick<Tool, 'writes'>): Answer {
  if (error instanceof AwaitsApproval) return waiting(error);
  const { idempotency_key, ...fields } = failureFields(error, called);
  // The SDK also generates a key for a dry run. It would only distract there.
  const structuredContent = writes ? { ...fields, idempotency_key } : fields;
  return { content: [{ type: 'text', text: printableJson(structuredContent, 2) }], structuredContent, isError: true };
}

function failureFields(error: unknown, called: Called): Record<string, unknown> {
  if (error instanceof RefusedCall) {
    return { failure: 'refused_call', message: `${error.message} Nothing was sent.`, ...error.details };
  }
  if (error instanceof InvalidArgument) {
    return { failure: 'refused_call', message: `${error.message} Nothing was sent.` };
  }
  if (error instanceof TransferServiceError) {
    const what_to_do = `${repetition(error)}${resolution(error)}`;
    return { ...recordFields(error), what_to_do, page: `${called.url}/errors/${error.Code}` };
  }
  if (error instanceof ConnectionFailure) {
    const what_to_do = `${repetition(error)}${reconnection(error, called)}`;
    return { ...responseFields(error), message: connectionMessage(error), what_to_do };
  }
  if (error instanceof UnexpectedResponse) {
    const { url, command } = called;
    return {
      ...responseFields(error),
      response_begins_with: withoutKey(error.excerpt, called),
      what_to_do: `${repetition(error)}To find out what responds at ${url}: ${command} doctor`,
    };
  }
  throw error;
}

function waiting({ approval, requestId, idempotencyKey }: AwaitsApproval): Answer {
  return answer('Nothing has changed yet: the request waits for the approval of a second person.', {
    approval,
    request_id: requestId ?? null,
    money_moved: 'no',
    idempotency_key: idempotencyKey ?? null,
  });
}

/** Advice about errors that an agent cannot resolve without a person. */
const ASK: ReadonlyMap<string, string> = new Map([
  ['unauthenticated', 'Ask the user to set TRANSFER_SERVICE_KEY to a valid key in the settings of this MCP server.'],
  ['forbidden', 'Tell the user which scope the key needs. Only a person can give it a key with more scopes.'],
]);

function resolution(error: TransferServiceError): string {
  if (lacksProgram(error)) return 'Add the argument program_id.';
  const catalogued = isErrorCode(error.Code) ? ERRORS[error.Code].resolution : 'See the page of the code.';
  return ASK.get(error.Code) ?? catalogued;
}

function reconnection({ reason }: ConnectionFailure, { url, command }: Called): string {
  const doctor = `To find out what is wrong: ${command} doctor`;
  const isDown = reason === 'unreachable' && isOnThisMachine(url);
  return isDown ? `Ask the user whether the service should run. To start it: ${command} start. ${doctor}` : doctor;
}

/** Says how to repeat a request whose outcome is unknown. A request with the same key moves money at most once. */
function repetition(error: { readonly moneyMoved: string; readonly idempotencyKey: string | undefined }): string {
  if (error.moneyMoved === 'no' || error.idempotencyKey === undefined) return '';
  return (
    'It is not known whether money moved. Call the tool again with the same arguments and this idempotency_key: ' +
    'money moves at most once. '
  );
}

/** Removes the key from a text that is not from the service, such as the page of a proxy that repeats the request. */
function withoutKey(text: string, { key }: Called): string {
  return key === undefined ? text : text.replaceAll(key, '(key)');
}

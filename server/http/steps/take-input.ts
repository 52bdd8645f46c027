import type { Operation } from '../../../contract/operation.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId, unchangeableFields } from '../../../contract/operations.ts';
import {
  findCardNumber,
  findCardNumberIn,
  findCardNumberInKey,
  refusalOfCardNumber,
} from '../../../contract/reading/card-numbers.ts';
import { findInQuery, findKeyBesideHeader, type Problem, readFields } from '../../../contract/reading/read-fields.ts';
import { MIN_MAX_BODY_BYTES } from '../../../contract/reading/request-size.ts';
import { JsonFault } from '../../../contract/reading/strict-json.ts';
import { takesIfMatch } from '../../../contract/reading/versions.ts';
import type { AmountAsSent } from '../../../domain/ledger/money.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { isSandboxBehavior, SANDBOX_BEHAVIORS } from '../../../domain/sandbox.ts';
import { parseStrictJson } from '../../calls/strict-json.ts';
import { programMissing } from '../admission/caller.ts';
import type { OperationRequest, Sent } from '../operation-request.ts';
import type { RequestContext } from '../request-context.ts';
import { type BodyLabel, type ReceivedBody, readBodyLabel, receiveBody, refuseForm } from '../wire/body.ts';
import { QueryFault, type RequestHead, readIdempotencyKey, readQuery } from '../wire/request-head.ts';

/** Receives the body. Refuses forms and bodies that are too large. */
export function takeBody(request: OperationRequest): Promise<void> | undefined {
  const { context, operation, head } = request;
  if (operation.body === undefined) return undefined;
  const label = readBodyLabel(head, operation.method);
  // Node emits the request before it has read the body, although the body usually arrived with the head.
  if (!context.request.complete) return Promise.resolve().then(() => receive(request, label));
  return receive(request, label);
}

function receive(request: OperationRequest, label: BodyLabel): Promise<void> | undefined {
  const { service, context, operation } = request;
  const maxBodyBytes = operation.maxBodyBytes ?? MIN_MAX_BODY_BYTES;
  const check = ({ bytes, received, overflow }: ReceivedBody): void => {
    service.limits.chargeBody(context, received);
    refuseForm(label, bytes);
    if (overflow) {
      const advice = operation.id === 'create_transfer_batch' ? ' Send its rows in several batches.' : '';
      throw new Refusal('payload_too_large', `The body has more than ${maxBodyBytes} bytes.${advice}`);
    }
    request.body = bytes;
  };
  const body = receiveBody(context, maxBodyBytes, service.settings.maxDiscardedBytes);
  if (body instanceof Promise) return body.then(check);
  check(body);
  return undefined;
}

export function takeIdempotencyKey(request: OperationRequest): undefined {
  const { context, head, operation } = request;
  request.idempotencyKey = readIdempotencyKey(head, operation.idempotency);
  context.idempotencyKey = request.idempotencyKey ?? undefined;
}

/** Reads path, query and body, and validates them against the definition of the operation. */
export function takeFields(request: OperationRequest): undefined {
  const { service, context, id, operation, parameters } = request;
  context.isSandbox = service.gateway.mode === 'sandbox';
  if (request.program === undefined) throw programMissing(id);
  refuseControlCharacters(id, parameters);
  request.ifMatch = readPrecondition(id, request.head);
  if (operation.csv) refuseOldHttp(id, context);
  request.sent = readSent(id, context, request.body);
  request.fields = readAll(id, context, request.sent);
  context.fields = request.fields;
  if (id === 'create_transfer' || id === 'create_transfer_batch' || id === 'explain_transfer') refuseBehavior(request);
}

function refuseBehavior({ id, context, head: { sandboxProcessor: behavior } }: OperationRequest): void {
  if (behavior === undefined) return;
  if (!context.isSandbox) {
    throw schemaRefusal(id, 'The Sandbox-Processor header can be used only in a sandbox. Omit it.', undefined);
  }
  if (id === 'create_transfer_batch') {
    // If the header were ignored, every row would move money.
    const message =
      'The Sandbox-Processor header is for one transfer, not for a batch. Omit it, or use create_transfer.';
    throw schemaRefusal(id, message, undefined);
  }
  if (isSandboxBehavior(behavior)) return;
  const message = `The Sandbox-Processor header must name a behavior of the simulator: ${SANDBOX_BEHAVIORS.join(', ')}.`;
  throw schemaRefusal(id, message, undefined);
}

/** Refuses control characters in path parameters. Ids never contain them, and PostgreSQL rejects U+0000 in text. */
function refuseControlCharacters(id: OperationId, parameters: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(parameters)) {
    for (let at = 0; at < value.length; at += 1) {
      const code = value.charCodeAt(at);
      if (code >= 0x20 && code !== 0x7f) continue;
      const message = `The '${name}' in the path contains a control character.`;
      throw new Refusal(`${id}_schema`, message, { field: `/${name}` });
    }
  }
}

/**
 * Refuses exports over HTTP/1.0. An export is sent in chunks, and the last chunk shows that it is complete. HTTP/1.0 has no chunks:
 * a response ends with the connection, so a truncated export would look complete.
 */
function refuseOldHttp(id: OperationId, { request }: RequestContext): void {
  if (request.httpVersion !== '1.0') return;
  const message =
    'An export needs HTTP/1.1, because HTTP/1.0 cannot show whether a response is complete. ' +
    'If your client does not send HTTP/1.0, configure the proxy in between to use HTTP/1.1.';
  throw new Refusal(`${id}_schema`, message);
}

function readSent(id: OperationId, context: RequestContext, body: Buffer | undefined): Sent {
  try {
    return { query: readQuery(context.target), body: body === undefined ? {} : parseStrictJson(body) };
  } catch (fault) {
    if (!(fault instanceof JsonFault) && !(fault instanceof QueryFault)) throw fault;
    throw schemaRefusal(id, fault.message, fault.field);
  }
}

/**
 * Reads the fields of the body or query. Unknown fields are ignored and listed in the response, unless they look like a misspelled
 * field of the operation. Those are refused.
 */
function readAll(id: OperationId, context: RequestContext, sent: Sent): Readonly<Record<string, unknown>> {
  const operation: Operation = OPERATIONS[id];
  const schema = operation.body ?? operation.query;
  const unread = operation.query === undefined ? Object.keys(sent.query) : [];
  if (schema === undefined) {
    context.ignored = unread;
    return {};
  }
  const isBody = operation.body !== undefined;
  // In a notice, null is a normal value: adapters send every field, as the contract of their answers requires.
  const hasNulls = operation.method === 'PATCH' || operation.reach === 'connector';
  const source = isBody ? (hasNulls ? 'patch' : 'body') : 'query';
  const reading = readFields(schema, isBody ? sent.body : sent.query, source, UNCHANGEABLE.get(id));
  if ('problem' in reading) throw refusalOf(id, reading.problem);
  const ignored = [...reading.ignored, ...unread];
  const problem =
    (operation.idempotency === 'none' ? undefined : findKeyBesideHeader(ignored)) ??
    (isBody ? findInQuery(schema, unread) : undefined);
  if (problem !== undefined) throw refusalOf(id, problem);
  context.ignored = ignored;
  return reading.fields;
}

const UNCHANGEABLE = new Map(
  OPERATION_IDS.flatMap((id) => (OPERATIONS[id].method === 'PATCH' ? [[id, unchangeableFields(id)]] : [])),
);

function refusalOf(id: OperationId, { message, field }: Problem): Refusal {
  return schemaRefusal(id, message, field);
}

function schemaRefusal(id: OperationId, message: string, field: string | undefined): Refusal {
  return new Refusal(`${id}_schema`, message, field === undefined ? {} : { field });
}

const VERSIONS = /^\s*(?:W\/)?"[\x21\x23-\x7e]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e]*")*\s*$/;

type Preconditions = Pick<RequestHead, 'ifMatch' | 'ifNoneMatch' | 'ifUnmodifiedSince'>;

/**
 * Returns the versions of a record that a change accepts, each in quotation marks. Undefined if any version is accepted. A
 * precondition that the operation cannot check is refused. Ignoring it would overwrite data that the caller wants to protect.
 * `If-None-Match` on a GET only requests a smaller response, and is ignored.
 *
 * A weak version counts as the same strong version, because proxies that compress responses make versions weak.
 *
 * @throws {Refusal} `<operation>_schema`
 */
function readPrecondition(id: OperationId, head: Preconditions): readonly string[] | undefined {
  const { ifMatch, ifNoneMatch, ifUnmodifiedSince } = head;
  if (ifUnmodifiedSince !== undefined) throw unsupported(id, 'If-Unmodified-Since');
  if (ifNoneMatch !== undefined && OPERATIONS[id].method !== 'GET') throw unsupported(id, 'If-None-Match');
  if (ifMatch === undefined) return undefined;
  if (!takesIfMatch(id)) throw unsupported(id, 'If-Match');
  if (ifMatch.trim() === '*') return undefined;
  if (!VERSIONS.test(ifMatch)) {
    const message =
      'The If-Match header is not an ETag in quotation marks. Send the ETag of the response in which you read the record, ' +
      'unchanged, or omit the header.';
    throw new Refusal(`${id}_schema`, message);
  }
  return ifMatch.match(/"[^"]*"/g) ?? [];
}

function unsupported(id: OperationId, header: string): Refusal {
  const advice = takesIfMatch(id) ? 'Send If-Match with the ETag of the record.' : `Omit it.`;
  return new Refusal(`${id}_schema`, `${id} cannot check the ${header} header, which would be ignored. ${advice}`);
}

/**
 * Refuses a request with a card number in its path, query, headers or body before the operation starts. So a card number is never
 * stored, not even as an idempotency key. The caller's Request-Id is not checked: it is never stored, and `clientRequestId` never
 * returns one with a card number. Operations that receive text from processors redact card numbers in their bodies instead.
 *
 * @throws {Refusal} card_number_refused, or invalid_amount if the amount is also invalid
 */
export function refuseCardNumbers({ operation, head, parameters, sent, fields }: OperationRequest): undefined {
  if (operation.reach === 'connector') return;
  const problem =
    findInPath(parameters) ??
    findCardNumber(sent.query, operation.query, 'query') ??
    findCardNumberInKey(head.idempotencyKey) ??
    findCardNumberIn('The Program-Id header', head.programId) ??
    (operation.redactsCardNumbers ? undefined : findCardNumber(sent.body, operation.body, 'body'));
  if (problem === undefined) return;
  const isAmountFirst = operation.errors.includes('invalid_amount');
  throw refusalOfCardNumber(problem, isAmountFirst ? (fields.amount as AmountAsSent | undefined) : undefined);
}

function findInPath(parameters: Readonly<Record<string, string>>): Problem | undefined {
  for (const [name, value] of Object.entries(parameters)) {
    const problem = findCardNumberIn(`'${name}' in the path`, value, `/${name}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

import { performance } from 'node:perf_hooks';
import type { Operation } from '../../contract/operation.ts';
import { OPERATIONS, type OperationId, precedenceOf } from '../../contract/operations.ts';
import {
  findCardNumber,
  findCardNumberIn,
  findCardNumberInKey,
  refusalOfCardNumber,
} from '../../contract/reading/card-numbers.ts';
import type { JsonValue } from '../../contract/reading/json.ts';
import { findInQuery, findKeyBesideHeader, type Problem, readFields } from '../../contract/reading/read-fields.ts';
import { toWireId } from '../../domain/identifier.ts';
import type { AmountAsSent } from '../../domain/ledger/money.ts';
import { Refusal } from '../../domain/refusal.ts';
import { newId } from '../ids.ts';
import type { AnyCall, Caller, StreamRequest } from '../operations/call.ts';
import { storedKeyOf } from '../operations/stored-key.ts';
import { prefersToJson } from '../pages/page-response.ts';
import { chooseProgram, identifyCaller, type ProgramChoice, programMissing, requireScope } from './admission/caller.ts';
import { refuseClearText } from './admission/session-cookie.ts';
import { beginWaiting, endWaiting, withTimeout } from './admission/timeouts.ts';
import { provoke } from './provoke.ts';
import type { RequestContext } from './request-context.ts';
import { closingRefusal, type HttpService } from './service.ts';
import { serveLive } from './watch.ts';
import { type BodyLabel, type ReceivedBody, readBodyLabel, receiveBody, refuseForm } from './wire/body.ts';
import { EVENT_STREAM } from './wire/event-stream.ts';
import { sendError, sendReply } from './wire/reply.ts';
import {
  QueryFault,
  type QueryMembers,
  type RequestHead,
  readHead,
  readIdempotencyKey,
  readQuery,
} from './wire/request-head.ts';
import { JsonFault, parseStrictJson } from './wire/strict-json.ts';

/**
 * Serves one request of an operation, from its credentials to its response. Never throws and never rejects. It waits only
 * for what is not there yet: each wait costs as much as reading a small body.
 */
export async function serveOperation(
  service: HttpService,
  context: RequestContext,
  id: OperationId,
  parameters: Readonly<Record<string, string>>,
): Promise<void> {
  const { gateway, settings } = service;
  const operation: Operation = OPERATIONS[id];
  const timeoutMilliseconds = settings.operationTimeoutMilliseconds + settings.operationGraceMilliseconds;
  context.operation = id;
  context.parameters = parameters;
  context.trace = service.beginTrace?.(context.traceparent, context.beganAt);
  try {
    const head = context.head ?? readHead(context.request, settings.maxHeaders);
    const identity = identify(service, context, operation, head);
    const { caller, programId } =
      identity instanceof Promise ? await withTimeout(context, timeoutMilliseconds, identity) : identity;
    context.programId = programId === '' ? undefined : programId;
    if (operation.csv && programId !== undefined) service.limits.admitExport(context, programId);
    provokeAsAsked(service, context, id, head);
    let body: Buffer | undefined;
    if (operation.body !== undefined) {
      const label = readBodyLabel(head, operation.method);
      // Node reports the head before it has read the body, which usually came with it.
      if (!context.request.complete) await undefined;
      const maxBodyBytes = operation.maxBodyBytes ?? settings.maxBodyBytes;
      const received = receiveBody(context, maxBodyBytes, settings.maxDiscardedBytes);
      body = checkBody(service, context, label, received instanceof Promise ? await received : received, maxBodyBytes);
    }
    const call = readCall(service, context, head, body, caller, programId);
    context.begun = true;
    beginWaiting(context, timeoutMilliseconds, (reason) => {
      endWaiting(context);
      context.isAbandoned = true;
      void sendError(service, context, reason);
    });
    const reply = await gateway.handlers[id](call);
    if (!endWaiting(context)) return;
    if ('wait' in reply || 'stream' in reply) {
      await serveLive(service, context, id, head, reply);
      return;
    }
    const sent = sendReply(service, context, id, reply);
    if (sent !== undefined) await sent;
  } catch (thrown) {
    if (endWaiting(context)) await sendError(service, context, thrown);
  }
}

/** The caller, and the card program of the request. */
type Identity = { readonly caller: Caller; readonly programId: ProgramChoice };

/**
 * Identifies the caller, checks its scope and rate limits, and finds the card program of the request. Faults of HTTP itself
 * were refused before.
 */
function identify(
  service: HttpService,
  context: RequestContext,
  operation: Operation,
  head: RequestHead,
): Identity | Promise<Identity> {
  const { settings, limits } = service;
  context.isStreamed = operation.csv;
  context.ignoresKey = operation.idempotency === 'none' && head.idempotencyKey !== undefined;
  limits.admitAddress(context);
  const deadline = performance.now() + settings.operationTimeoutMilliseconds;
  const refuse = (error: unknown): never => {
    if (error instanceof Refusal && error.code === 'unauthenticated') limits.chargeRefusedCredential(context);
    throw error;
  };
  let caller: Caller | Promise<Caller>;
  try {
    caller = identifyCaller(service, context, head, deadline);
  } catch (error) {
    return refuse(error);
  }
  if (!(caller instanceof Promise)) return admitCaller(service, context, operation, head, caller, deadline);
  return caller.then((identified) => admitCaller(service, context, operation, head, identified, deadline), refuse);
}

function admitCaller(
  service: HttpService,
  context: RequestContext,
  operation: Operation,
  head: RequestHead,
  caller: Caller,
  deadline: number,
): Identity | Promise<Identity> {
  context.caller = caller;
  service.limits.admitCaller(context, caller);
  requireScope(service, context, head, caller, operation);
  if (operation.id === 'create_session') {
    refuseClearText(context, head, service.settings.trustedProxies);
    service.limits.admitSignIn(caller);
  }
  const programId = chooseProgram(service.gateway, caller, operation, head, deadline);
  if (!(programId instanceof Promise)) return { caller, programId };
  return programId.then((chosen) => ({ caller, programId: chosen }));
}

/** Responds as the caller of a sandbox asked for, if it did. */
function provokeAsAsked(service: HttpService, context: RequestContext, id: OperationId, head: RequestHead): void {
  if (head.sandboxProvoke === undefined || service.gateway.mode !== 'sandbox') return;
  context.allow ??= service.routes.methodsOf(context.path).join(', ');
  context.idempotencyKey = readIdempotencyKey(head, OPERATIONS[id].idempotency) ?? undefined;
  provoke(head.sandboxProvoke, precedenceOf(id), `${id}_schema`, toWireId('tr', newId()));
}

/** Charges a received body, and refuses a form and a body that is too large. */
function checkBody(
  { limits }: HttpService,
  context: RequestContext,
  label: BodyLabel,
  body: ReceivedBody,
  maxBodyBytes: number,
): Buffer {
  limits.chargeBody(context, body.received);
  refuseForm(label, body.bytes);
  if (body.overflow) throw new Refusal('payload_too_large', `The body has more than ${maxBodyBytes} bytes.`);
  return body.bytes;
}

/** The call of a request whose body has arrived; throws the first fault in the order of the contract (`precedenceOf`). */
function readCall(
  service: HttpService,
  context: RequestContext,
  head: RequestHead,
  body: Buffer | undefined,
  caller: Caller,
  programId: ProgramChoice,
): AnyCall {
  const id = context.operation as OperationId;
  const parameters = context.parameters ?? {};
  const operation: Operation = OPERATIONS[id];
  const idempotencyKey = readIdempotencyKey(head, operation.idempotency);
  context.idempotencyKey = idempotencyKey ?? undefined;
  if (programId === undefined) throw programMissing(id);
  refuseControlCharacters(id, parameters);
  if (operation.csv) refuseOldHttp(id, context);
  const sent = readSent(id, context, body);
  const fields = readAll(id, context, sent);
  const call = {
    operation: id,
    requestId: context.requestId,
    traceparent: context.traceparent,
    trace: context.trace,
    caller,
    programId,
    params: parameters,
    query: operation.query === undefined ? undefined : fields,
    body: operation.body === undefined ? undefined : fields,
    sent: body === undefined ? sent.query : sent.body,
    idempotencyKey: idempotencyKey === null ? null : storedKeyOf(idempotencyKey),
    deadline: performance.now() + service.settings.operationTimeoutMilliseconds,
    stream: operation.stream === undefined ? undefined : readStreamRequest(context),
  };
  context.fields = fields;
  service.limits.chargeRows(context, rowsIn(fields));
  refuseCardNumbers(id, head, parameters, sent, fields);
  if (service.isRefusing) throw closingRefusal();
  return call;
}

/** No id has control characters, and PostgreSQL could not even look up some of them. */
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
 * An export is sent in chunks, and the last chunk shows that it is complete. HTTP/1.0 has no chunks: there, a response
 * ends with the connection, and a truncated one would look complete.
 */
function refuseOldHttp(id: OperationId, { request }: RequestContext): void {
  if (request.httpVersion !== '1.0') return;
  const message =
    'An export needs HTTP/1.1, because HTTP/1.0 cannot show whether a response is complete. ' +
    'If your client does not send HTTP/1.0, configure the proxy in between to use HTTP/1.1.';
  throw new Refusal(`${id}_schema`, message);
}

/** What is asked for with `Accept: text/event-stream`; undefined where JSON is. */
function readStreamRequest({ request }: RequestContext): StreamRequest | undefined {
  const { accept, 'last-event-id': lastEventId } = request.headers;
  if (!prefersToJson(accept, [EVENT_STREAM])) return undefined;
  return { lastEventId: lastEventId === undefined || lastEventId === '' ? undefined : String(lastEventId) };
}

/** The number of transfers in a request. */
function rowsIn({ transfers }: Readonly<Record<string, unknown>>): number {
  return Array.isArray(transfers) ? transfers.length : 1;
}

type Sent = { readonly query: QueryMembers; readonly body: JsonValue };

function readSent(id: OperationId, context: RequestContext, body: Buffer | undefined): Sent {
  try {
    return { query: readQuery(context.target), body: body === undefined ? {} : parseStrictJson(body) };
  } catch (fault) {
    if (!(fault instanceof JsonFault) && !(fault instanceof QueryFault)) throw fault;
    throw schemaRefusal(id, fault.message, fault.field);
  }
}

/**
 * The fields of body or query. Unknown fields are ignored and named, unless they were probably meant for a field that the
 * operation has.
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
  const source = isBody ? (operation.method === 'PATCH' ? 'patch' : 'body') : 'query';
  const reading = readFields(schema, isBody ? sent.body : sent.query, source);
  if ('problem' in reading) throw refusalOf(id, reading.problem);
  const ignored = [...reading.ignored, ...unread];
  const problem =
    (operation.idempotency === 'none' ? undefined : findKeyBesideHeader(ignored)) ??
    (isBody ? findInQuery(schema, unread) : undefined);
  if (problem !== undefined) throw refusalOf(id, problem);
  context.ignored = ignored;
  return reading.fields;
}

function refusalOf(id: OperationId, { message, field }: Problem): Refusal {
  return schemaRefusal(id, message, field);
}

function schemaRefusal(id: OperationId, message: string, field: string | undefined): Refusal {
  return new Refusal(`${id}_schema`, message, field === undefined ? {} : { field });
}

/**
 * Refuses a request with a card number in its path, query, headers or body. Called before the operation starts, so that a
 * card number is never stored, not even as an idempotency key. The caller's Request-Id is not stored and not checked here;
 * `clientRequestId` never returns one with a card number.
 *
 * @throws {Refusal} card_number_refused, or invalid_amount where the amount is none either
 */
function refuseCardNumbers(
  id: OperationId,
  head: RequestHead,
  parameters: Readonly<Record<string, string>>,
  sent: Sent,
  { amount }: Readonly<Record<string, unknown>>,
): void {
  const operation: Operation = OPERATIONS[id];
  const problem =
    findInPath(parameters) ??
    findCardNumber(sent.query, operation.query, 'query') ??
    findCardNumberInKey(head.idempotencyKey) ??
    findCardNumberIn('The Program-Id header', head.programId) ??
    findCardNumber(sent.body, operation.body, 'body');
  if (problem === undefined) return;
  const isAmountFirst = operation.errors.includes('invalid_amount');
  throw refusalOfCardNumber(problem, isAmountFirst ? (amount as AmountAsSent | undefined) : undefined);
}

function findInPath(parameters: Readonly<Record<string, string>>): Problem | undefined {
  for (const [name, value] of Object.entries(parameters)) {
    const problem = findCardNumberIn(`'${name}' in the path`, value, `/${name}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

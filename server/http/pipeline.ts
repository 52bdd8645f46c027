import { STEPS, type Step } from '../../contract/errors/precedence.ts';
import { OPERATIONS, type OperationId, precedenceOf } from '../../contract/operations.ts';
import { toWireId } from '../../domain/identifier.ts';
import type { AnyReply, LiveReply, WaitReply } from '../calls/call.ts';
import { newId } from '../foundation/ids.ts';
import { checkCallerAgain } from './admission/caller.ts';
import { beginWaiting, endWaiting } from './admission/timeouts.ts';
import { OperationRequest } from './operation-request.ts';
import { provoke } from './provoke.ts';
import type { RequestContext } from './request-context.ts';
import type { HttpService } from './service.ts';
import { carryOut } from './steps/carry-out.ts';
import { checkScope, findCaller, findProgram, verifySignature } from './steps/identify.ts';
import { refuseCardNumbers, takeBody, takeFields, takeIdempotencyKey } from './steps/take-input.ts';
import { sendStream } from './wire/event-stream.ts';
import { sendError, sendReply } from './wire/reply.ts';
import { readHead, readIdempotencyKey } from './wire/request-head.ts';

// Invariant: If several rules refuse a request, it gets the error that comes first in the documented order
// Kept by: one list of steps, `contract/errors/precedence.ts`, which is also the documented order
// Tested by: `test/api/requests/precedence.test.ts`

/** A step. It throws its refusal. It returns a promise only if it has to wait, because every `await` costs time. */
type TakeStep = (request: OperationRequest) => Promise<void> | void;

const TAKE: { readonly [Name in Step]: TakeStep } = {
  head: (request) => {
    const { service, context } = request;
    request.head = context.head ?? readHead(context.request, service.settings.maxHeaders);
    context.ignoresKey = request.operation.idempotency === 'none' && request.head.idempotencyKey !== undefined;
    return undefined;
  },
  address: ({ service, context }) => service.limits.admitAddress(context),
  caller: unlessSigned(findCaller),
  key: unlessSigned(({ service, context, caller }) => service.limits.admitCaller(context, caller)),
  scope: unlessSigned(checkScope),
  program: unlessSigned(findProgram),
  exports: ({ service, context, operation, program }) =>
    operation.csv && program !== undefined ? service.limits.admitExport(context, program) : undefined,
  provoked: provokeRequestedError,
  body: takeBody,
  signature: verifySignature,
  idempotency_key: takeIdempotencyKey,
  fields: takeFields,
  rows: ({ service, context, fields }) => service.limits.chargeRows(context, rowsIn(fields)),
  card_numbers: refuseCardNumbers,
  operation: carryOut,
};

/** Skips a step for signed requests. They have no key: the signature of the body identifies them. */
function unlessSigned(take: TakeStep): TakeStep {
  return (request) => (request.operation.reach === 'connector' ? undefined : take(request));
}

/** The steps in the order of the contract, which is also the order of precedence of the errors. */
const PIPELINE: readonly TakeStep[] = (Object.keys(STEPS) as Step[]).map((step) => TAKE[step]);

/** Serves a request to an operation, from its head to its response. Never throws and never rejects. */
export async function serveOperation(
  service: HttpService,
  context: RequestContext,
  id: OperationId,
  parameters: Readonly<Record<string, string>>,
): Promise<void> {
  context.operation = id;
  context.parameters = parameters;
  context.isStreamed = OPERATIONS[id].csv;
  context.trace = service.beginTrace?.(context.traceparent, context.beganAt);
  const request = new OperationRequest(service, context, id, parameters);
  try {
    for (const take of PIPELINE) {
      const waiting = take(request);
      if (waiting !== undefined) await waiting;
    }
    // The caller already has an error response.
    if (context.isAbandoned) return;
    const { reply } = request;
    if ('wait' in reply || 'stream' in reply) {
      await serveLive(service, context, id, reply);
      return;
    }
    const sent = sendReply(service, context, id, reply);
    if (sent !== undefined) await sent;
  } catch (thrown) {
    if (endWaiting(context)) await sendError(service, context, thrown);
  }
}

/** In a sandbox, throws the error that the header Sandbox-Provoke requests. */
function provokeRequestedError({ service, context, id, operation, head }: OperationRequest): undefined {
  if (head.sandboxProvoke === undefined || service.gateway.mode !== 'sandbox') return;
  context.allow ??= service.routes.methodsOf(context.path).join(', ');
  context.idempotencyKey = readIdempotencyKey(head, operation.idempotency) ?? undefined;
  provoke(head.sandboxProvoke, precedenceOf(id), `${id}_schema`, toWireId('tr', newId()));
}

function rowsIn({ transfers }: Readonly<Record<string, unknown>>): number {
  return Array.isArray(transfers) ? transfers.length : 1;
}

/**
 * Serves a reply that waits for events or streams them. While it waits, the request does not count as load or as late, and only
 * its own deadline applies. Throws a refusal only before the response begins.
 */
async function serveLive(
  service: HttpService,
  context: RequestContext,
  id: OperationId,
  reply: LiveReply,
): Promise<void> {
  const checkKey = (): void | Promise<void> => checkCallerAgain(service, context);
  if ('stream' in reply) {
    const signal = service.watchers.admit(context, 'stream');
    await sendStream(service, context, reply.stream, { signal, checkKey });
    return;
  }
  const last = await waitForReply(service, context, reply, checkKey);
  if (last !== undefined) await sendReply(service, context, id, last);
}

/**
 * Returns the reply after one or more waits. Undefined if the caller has disconnected or has already received an error
 * response.
 */
async function waitForReply(
  service: HttpService,
  context: RequestContext,
  first: WaitReply,
  checkKey: () => void | Promise<void>,
): Promise<Exclude<AnyReply, LiveReply> | undefined> {
  const { settings, watchers } = service;
  const timeoutMilliseconds = settings.operationTimeoutMilliseconds + settings.operationGraceMilliseconds;
  const isStored = first.isStored === true;
  const signal = isStored ? watchers.admitStored(context) : watchers.admit(context, 'wait');
  let reply: AnyReply = first;
  while ('wait' in reply) {
    const { wait }: WaitReply = reply;
    // A HEAD request must not wait.
    const isOver = (): boolean => signal.aborted || context.request.method === 'HEAD';
    if (!isOver()) await wait.forNews(signal);
    if (context.response.destroyed) return undefined;
    // If the operation has taken effect, the caller gets its reply even if its key is revoked during the wait.
    if (!isOver() && !isStored) await checkKey();
    beginWaiting(context, timeoutMilliseconds, (reason) => {
      endWaiting(context);
      context.isAbandoned = true;
      void sendError(service, context, reason);
    });
    reply = await wait.resume(isOver());
    if (!endWaiting(context)) return undefined;
  }
  if ('stream' in reply) throw new TypeError('A wait does not end in a stream.');
  return reply;
}

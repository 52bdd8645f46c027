import { performance } from 'node:perf_hooks';
import { fromWireId } from '../../../domain/identifier.ts';
import type { AnyCall, StreamRequest } from '../../calls/call.ts';
import { storedKeyOf } from '../../calls/responses/stored-key.ts';
import { prefersToJson } from '../../pages/page-response.ts';
import { beginWaiting, endWaiting } from '../admission/timeouts.ts';
import type { OperationRequest } from '../operation-request.ts';
import type { RequestContext } from '../request-context.ts';
import { closingRefusal } from '../service.ts';
import { EVENT_STREAM } from '../wire/event-stream.ts';
import { sendError } from '../wire/reply.ts';
import { type RequestHead, readCaseId, readWait } from '../wire/request-head.ts';

/**
 * Runs the operation, unless the service is closing. If the time limit passes, the caller gets an error, and a later reply is
 * discarded.
 */
export async function carryOut(request: OperationRequest): Promise<void> {
  const { service, context, id } = request;
  const { gateway, settings } = service;
  const call = callOf(request);
  if (service.isRefusing) throw closingRefusal();
  context.begun = true;
  beginWaiting(context, settings.operationTimeoutMilliseconds + settings.operationGraceMilliseconds, (reason) => {
    endWaiting(context);
    context.isAbandoned = true;
    void sendError(service, context, reason);
  });
  const reply = await gateway.handlers[id](call);
  if (endWaiting(context)) request.reply = reply;
  noteKey(request);
}

/**
 * In a sandbox, records which operations use a key. A developer who expects one key to cover all operations would move money twice.
 */
function noteKey({
  service,
  context,
  id,
  operation,
  program,
  parameters,
  idempotencyKey: key,
}: OperationRequest): void {
  if (!context.isSandbox || key === null || operation.dryRun) return;
  // The card program of a deposit or withdrawal is in the path.
  const programId = program || fromWireId('prog', parameters.program_id ?? '') || '';
  context.keyUsedBy = service.reusedKeys.note(programId, key, id);
}

function callOf(request: OperationRequest): AnyCall {
  const { service, context, operation, head, body, sent, fields, idempotencyKey, ifMatch } = request;
  return {
    operation: request.id,
    requestId: context.requestId,
    traceparent: context.traceparent,
    trace: context.trace,
    caller: request.caller,
    programId: request.program ?? '',
    caseId: readCaseId(head),
    params: request.parameters,
    query: operation.query === undefined ? undefined : fields,
    body: operation.body === undefined ? undefined : fields,
    sent: body === undefined ? sent.query : sent.body,
    idempotencyKey: idempotencyKey === null ? null : storedKeyOf(idempotencyKey),
    ifMatch,
    deadline: performance.now() + service.settings.operationTimeoutMilliseconds,
    isGone: (isWaiting) => context.isGone(isWaiting),
    ...(request.id === 'create_transfer' && ofTransfer(head)),
    ...(request.id === 'explain_transfer' && { sandboxBehavior: head.sandboxProcessor }),
    stream: operation.stream === undefined ? undefined : readStreamRequest(context),
  };
}

/** Reads how long a create_transfer waits for its card's processor, and how a simulated processor must behave. */
function ofTransfer({ prefer, sandboxProcessor }: RequestHead): Pick<AnyCall, 'waitSeconds' | 'sandboxBehavior'> {
  return { waitSeconds: prefer === undefined ? undefined : readWait(prefer), sandboxBehavior: sandboxProcessor };
}

/** Returns the stream requested with `Accept: text/event-stream`, or undefined if JSON is preferred. */
function readStreamRequest({ request }: RequestContext): StreamRequest | undefined {
  const { accept, 'last-event-id': lastEventId } = request.headers;
  if (!prefersToJson(accept, [EVENT_STREAM])) return undefined;
  return { lastEventId: lastEventId === undefined || lastEventId === '' ? undefined : String(lastEventId) };
}

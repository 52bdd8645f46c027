import { STEPS, type Step } from '../../contract/errors/precedence.ts';
import { OPERATIONS, type OperationId, precedenceOf } from '../../contract/operations.ts';
import { toWireId } from '../../domain/identifier.ts';
import { newId } from '../foundation/ids.ts';
import { endWaiting } from './admission/timeouts.ts';
import { OperationRequest } from './operation-request.ts';
import { provoke } from './provoke.ts';
import type { RequestContext } from './request-context.ts';
import type { HttpService } from './service.ts';
import { carryOut } from './steps/carry-out.ts';
import { checkScope, findCaller, findProgram, verifySignature } from './steps/identify.ts';
import { refuseCardNumbers, takeBody, takeFields, takeIdempotencyKey } from './steps/take-input.ts';
import { serveLive } from './watch.ts';
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

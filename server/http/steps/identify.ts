import { performance } from 'node:perf_hooks';
import { SIGN_INS } from '../../../contract/sessions.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Caller } from '../../calls/call.ts';
import {
  chooseProgram,
  identifyCaller,
  type ProgramChoice,
  requireFreshSignIn,
  requireScope,
} from '../admission/caller.ts';
import { refuseClearText } from '../admission/session-cookie.ts';
import { withTimeout } from '../admission/timeouts.ts';
import type { OperationRequest } from '../operation-request.ts';

/** Identifies the caller. The cost of a refused credential is charged to the caller's address. */
export function findCaller(request: OperationRequest): Promise<void> | undefined {
  const { service, context, head, identifiedBy } = request;
  const accept = (caller: Caller): void => {
    request.caller = caller;
    context.caller = caller;
  };
  const refuse = (error: unknown): never => {
    if (error instanceof Refusal && error.code === 'unauthenticated') service.limits.chargeRefusedCredential(context);
    throw error;
  };
  let caller: Caller | Promise<Caller>;
  try {
    caller = identifyCaller(service, context, head, identifiedBy);
  } catch (error) {
    return refuse(error);
  }
  if (!(caller instanceof Promise)) {
    accept(caller);
    return undefined;
  }
  return withTimeout(context, timeLeft(request), caller.then(accept, refuse));
}

/** Refuses an operation that the caller may not use, and a new session without TLS. */
export function checkScope({ service, context, head, caller, operation }: OperationRequest): undefined {
  requireScope(service, context, head, caller, operation);
  requireFreshSignIn(caller, operation);
  if (!SIGN_INS.includes(operation.id)) return;
  refuseClearText(context, head, service.settings.trustedProxies);
  service.limits.admitSignIn(caller);
}

/**
 * Verifies the signature of a request without a key, using the secret of the connector in its path. An unknown connector gets the
 * same response as a wrong signature.
 */
export function verifySignature(request: OperationRequest): undefined {
  const { service, context, operation, parameters, body = Buffer.alloc(0) } = request;
  if (operation.reach !== 'connector') return;
  const { gateway, limits } = service;
  const { connector_id: connectorId = '' } = parameters;
  if (!gateway.verifyNotice(connectorId, context.request.headers, body)) {
    limits.chargeRefusedCredential(context);
    gateway.onRefusedCredential({ address: limits.addressOf(context), sent: '', reason: 'signature' });
    const message =
      'The notice is not signed with a secret of this connector, or its webhook-timestamp is more than 5 minutes off. Sign ' +
      'the exact bytes that you send, as Standard Webhooks specifies, and use the current time.';
    throw new Refusal('unauthenticated', message, { saw: { refused_because: 'signature' } });
  }
  request.caller = { kind: 'connector', connectorId };
  request.program = '';
  context.caller = request.caller;
  limits.admitCaller(context, request.caller);
}

export function findProgram(request: OperationRequest): Promise<void> | undefined {
  const { service, context, caller, operation, head, identifiedBy } = request;
  const accept = (program: ProgramChoice): void => {
    request.program = program;
    context.programId = program === '' ? undefined : program;
  };
  const program = chooseProgram(service.gateway, caller, operation, head, identifiedBy);
  if (!(program instanceof Promise)) {
    accept(program);
    return undefined;
  }
  return withTimeout(context, timeLeft(request), program.then(accept));
}

function timeLeft({ service, identifiedBy }: OperationRequest): number {
  return Math.max(0, identifiedBy + service.settings.operationGraceMilliseconds - performance.now());
}

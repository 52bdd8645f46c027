import { performance } from 'node:perf_hooks';
import { FRESH_SECONDS, type Operation } from '../../../contract/operation.ts';
import type { OperationId } from '../../../contract/operations.ts';
import { includesScope, isOfOperators } from '../../../contract/scope.ts';
import { SIGN_INS } from '../../../contract/sessions.ts';
import { isApprovable } from '../../../domain/approvals/policy.ts';
import { readsAsCardNumber } from '../../../domain/cards/card-number.ts';
import { maskedText } from '../../../domain/cards/masked-text.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Caller, Gateway } from '../../calls/call.ts';
import type { RequestContext } from '../request-context.ts';
import type { HttpService } from '../service.ts';
import type { RequestHead } from '../wire/request-head.ts';
import { headerOfProxy, isLoopbackAddress, isLoopbackAuthority, isLoopbackOrigin } from './loopback.ts';
import { isOfConsoleItself, readSessionCookie, type SentSession, sessionCookie } from './session-cookie.ts';

// Invariant: A stream or an export ends within about a second after its key is revoked
// Kept by: `checkCallerAgain`, before every read of a stream and after every read of an export
// Tested by: `test/http/streams.test.ts`, `test/api/events/streams.test.ts`, `test/http/exports.test.ts`

type CredentialService = Pick<HttpService, 'gateway' | 'limits' | 'settings'>;

const MAX_KEY_LENGTH = 512;
const MAX_PROGRAM_ID_LENGTH = 255;

/**
 * Identifies the caller by its session or its API key. A sandbox without keys accepts any process on this machine. If the key is
 * cached, as most keys are, returns the caller without a promise.
 *
 * @throws {Refusal} unauthenticated, forbidden; the errors of the gateway
 */
export function identifyCaller(
  reporter: CredentialService,
  context: RequestContext,
  head: RequestHead,
  deadline: number,
): Caller | Promise<Caller> {
  const { gateway, settings } = reporter;
  const { authorization } = head;
  context.isOfConsole = isOfConsoleItself(context, head, settings.trustedProxies);
  // A new session replaces the old one, so a cookie that the browser still has is ignored.
  if (head.cookie !== undefined && !SIGN_INS.includes(context.operation ?? '')) {
    const session = identifyBySession(reporter, context, head);
    if (session !== undefined) return session;
  }
  if (authorization === undefined) {
    if (!gateway.keyless) {
      throw new Refusal(
        'unauthenticated',
        "The request has no API key. Send the header 'Authorization: Bearer <key>'.",
      );
    }
    refuseRemoteCallers(context, head);
    return KEYLESS_CALLER;
  }
  const refuse = (error: unknown): never => {
    reportRefusal(reporter, context, authorization, error);
    throw error;
  };
  try {
    const caller = gateway.authenticate(bearerKey(authorization), deadline, readsStatus(context.operation));
    return caller instanceof Promise ? caller.catch(refuse) : caller;
  } catch (error) {
    return refuse(error);
  }
}

/**
 * Checks the credentials of a request again while its response is sent. A stream can last for days, and its key may be revoked in
 * the meantime. Keys are cached for a second, so each key is looked up about once a second.
 *
 * @throws {Refusal} unauthenticated, forbidden; the errors of the gateway
 */
export function checkCallerAgain(service: CredentialService, context: RequestContext): void | Promise<void> {
  if (context.head === undefined) return undefined;
  const deadline = performance.now() + service.settings.operationTimeoutMilliseconds;
  const caller = identifyCaller(service, context, context.head, deadline);
  return caller instanceof Promise ? caller.then(() => undefined) : undefined;
}

/** Returns the caller of the session in the request's cookie. Undefined if there is no usable cookie. */
function identifyBySession(
  reporter: CredentialService,
  context: RequestContext,
  head: RequestHead,
): Promise<Caller> | undefined {
  const { gateway, settings } = reporter;
  const { trustedProxies } = settings;
  let session: SentSession | undefined;
  try {
    session = readSessionCookie(context, head, { keyless: gateway.keyless, trustedProxies });
  } catch (error) {
    reportRefusal(reporter, context, '', error);
    throw error;
  }
  if (session === undefined) return undefined;
  return gateway.authenticateSession(session.token, session.isActive).catch((error: unknown) => {
    if (error instanceof Refusal) {
      // The request was sent by a page of the service, and its script cannot remove the HttpOnly cookie. So the response removes
      // it.
      context.setCookie = sessionCookie(context, trustedProxies, null);
      if (error.details.saw?.refused_because !== 'session ended') reportRefusal(reporter, context, '', error);
    }
    throw error;
  });
}

/** Returns whether the operation accepts an operator's key while the database does not respond. */
function readsStatus(operation: OperationId | undefined): boolean {
  return operation === 'get_status' || operation === 'get_overview';
}

const KEYLESS_CALLER: Caller = { kind: 'sandbox' };

/** Reports a refused credential for the audit log. Ignores other errors. */
export function reportRefusal(
  { gateway, limits }: CredentialService,
  context: RequestContext,
  sent: string,
  error: unknown,
): void {
  if (!(error instanceof Refusal)) return;
  const reason = String(error.details.saw?.refused_because ?? error.code);
  gateway.onRefusedCredential({ address: limits.addressOf(context), sent, reason });
}

function bearerKey(authorization: string): string {
  const blank = authorization.indexOf(' ');
  const scheme = blank === -1 ? '' : authorization.slice(0, blank).toLowerCase();
  const key = authorization.slice(blank + 1).trim();
  if (scheme !== 'bearer' || key.length > MAX_KEY_LENGTH || !/^[A-Za-z0-9._~+/=-]+$/.test(key)) {
    const details = { saw: { refused_because: 'malformed' } };
    throw new Refusal('unauthenticated', "The Authorization header is not of the form 'Bearer <key>'.", details);
  }
  return key;
}

/**
 * Refuses callers from other machines, proxies and web pages. Without keys, a sandbox would be open to every web page that its user
 * visits, and to callers behind a proxy on this machine. A page is recognized by its Origin, or by its host name if that resolves
 * to this machine (DNS rebinding). A proxy is recognized by the headers that it adds.
 */
function refuseRemoteCallers(context: RequestContext, head: RequestHead): void {
  const host = context.authority ?? head.host ?? '';
  if (!isLoopbackAddress(context.request.socket.remoteAddress)) {
    throw forbidden('This sandbox accepts requests without an API key only from its own machine. Send an API key.');
  }
  if (!isLoopbackAuthority(host)) {
    const message = `Without an API key this sandbox must be called as localhost, but the Host is '${maskedText(host)}'.`;
    throw forbidden(message);
  }
  const added = headerOfProxy(context.request);
  if (added !== undefined) {
    throw forbidden(
      `Without an API key this sandbox accepts no requests through a proxy, but the request has the header '${maskedText(added)}'.` +
        ' Send an API key.',
    );
  }
  if (head.origin !== undefined && !isLoopbackOrigin(head.origin)) {
    const origin = maskedText(head.origin);
    throw forbidden(
      `Without an API key this sandbox accepts no requests from other web pages, but the Origin is '${origin}'.`,
    );
  }
  const site = head.fetchSite?.toLowerCase();
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw forbidden(
      `Without an API key this sandbox accepts no requests from other web pages, but Sec-Fetch-Site is not 'same-origin'.`,
    );
  }
}

function forbidden(message: string): Refusal {
  return new Refusal('forbidden', message);
}

/** Refuses a key that lacks the scope of the operation: `forbidden`. Callers without a key need no scope. */
export function requireScope(
  reporter: CredentialService,
  context: RequestContext,
  head: RequestHead,
  caller: Caller,
  operation: Operation,
): void {
  if (!('scopes' in caller)) return;
  const needed = operation.scope;
  if (needed === null || includesScope(caller.scopes, needed)) return;
  const operators = isOfOperators(needed) ? ', which only operator keys can have' : '';
  const approver = includesScope(caller.scopes, 'approvals:write') && isApprovable(operation.id);
  const instead = approver ? ' You can decide on such requests from others: see list_approvals.' : '';
  const refusal = new Refusal(
    'forbidden',
    `This operation needs the scope '${needed}'${operators}. ${'keyId' in caller ? 'This key has' : 'You have'}: ${caller.scopes.join(', ')}.${instead}`,
    { saw: { refused_because: `no scope ${needed}` } },
  );
  reportRefusal(reporter, context, head.authorization ?? '', refusal);
  throw refusal;
}

/** Refuses a person whose sign-in is too old for the operation: `sign_in_again`. Another person may be using their computer. */
export function requireFreshSignIn(caller: Caller, operation: Operation): void {
  if (!operation.freshSignIn || !('personId' in caller)) return;
  if (Date.now() - caller.signedInAt <= FRESH_SECONDS * 1000) return;
  const message = `This operation needs a sign-in within the last ${FRESH_SECONDS / 60} minutes. Sign in again, then repeat the request.`;
  throw new Refusal('sign_in_again', message);
}

/** Inner UUID of the request's card program. Empty for operations without a program. Undefined if the header is missing. */
export type ProgramChoice = string | undefined;

/** Returns the program of the key or of the Program-Id header. Throws forbidden, program_not_found or the gateway's errors. */
export function chooseProgram(
  gateway: Gateway,
  caller: Caller,
  operation: Operation,
  head: RequestHead,
  deadline: number,
): ProgramChoice | Promise<ProgramChoice> {
  const named = head.programId === '' ? undefined : head.programId;
  if ('programId' in caller) {
    if (named !== undefined && fromWireId('prog', named) !== caller.programId) {
      throw forbidden('This API key does not belong to the card program in the Program-Id header.');
    }
    return operation.reach === 'program' ? caller.programId : '';
  }
  if (operation.reach !== 'program') return '';
  if (named === undefined) return caller.kind === 'sandbox' ? gateway.demoProgramId : undefined;
  if (named.length > MAX_PROGRAM_ID_LENGTH || readsAsCardNumber(named)) {
    throw new Refusal('program_not_found', 'There is no card program with the id in the Program-Id header.');
  }
  return gateway.findProgram(named, deadline);
}

export function programMissing(operation: OperationId): Refusal {
  const message =
    "The required header 'Program-Id' is missing: this API key can act in all card programs, so each request must name one.";
  return new Refusal(`${operation}_schema`, message);
}

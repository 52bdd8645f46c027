import { OPERATIONS } from '../../../contract/operations.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { LOGIN_SECONDS, type LoginState } from '../../calls/sign-in.ts';
import type { RequestContext } from '../request-context.ts';
import type { RequestHead } from '../wire/request-head.ts';
import { headerOfProxy, isLoopbackAddress, isLoopbackAuthority } from './loopback.ts';

// Invariant: The session cookie is accepted only from pages of the service itself, and only over HTTPS or on the service's
//   machine
// Tested by: `test/security/csrf.test.ts`, `verification/mutants/sessions.ts`

/** The session cookie over HTTPS. Because of its prefix, other hosts and pages without TLS cannot set it. */
const NAME = '__Host-console';

/**
 * The beginning of the cookie's name without TLS. The port is appended, because cookies ignore ports, and two services must not
 * share a cookie.
 */
const LOOPBACK_NAME = 'console-';

/**
 * How a request arrived: over TLS at a trusted proxy, or on this machine. No other way is accepted, because someone on the
 * network could read the session.
 */
type Transport = { readonly name: string; readonly origin: string; readonly attributes: string };

export type SentSession = {
  readonly token: string;
  /** Whether the user did something. False if an open page only polls in the background. */
  readonly isActive: boolean;
};

/**
 * Returns the session of a request if its cookie is accepted.
 *
 * Browsers add the cookie to every request, regardless of the page or link that causes it. So the cookie alone proves nothing,
 * and two more things are required. First, the browser must say that a page of the same origin sent the request (Sec-Fetch-Site,
 * else Origin). Second, the request must have the header Console. No form, link or image can send it, and a page with a different
 * origin can send it only after a preflight request, which is always refused. A sandbox without keys ignores a cookie without
 * that header, and returns undefined.
 *
 * @throws {Refusal} unauthenticated
 */
export function readSessionCookie(
  context: RequestContext,
  head: RequestHead,
  { keyless, trustedProxies }: { readonly keyless: boolean; readonly trustedProxies: number },
): SentSession | undefined {
  if (head.cookie === undefined) return undefined;
  const sent = cookiesOf(head.cookie, hostOf(context, head));
  if (sent.length === 0) return undefined;
  if (head.authorization !== undefined) {
    const message = 'The request has both a session cookie and an Authorization header. Send only one of them.';
    throw refuse(message, 'cookie and key');
  }
  const { console: purpose } = head;
  if (purpose !== '1' && purpose !== 'background') {
    if (keyless) return undefined;
    throw refuse("The session cookie is accepted only with the header 'Console: 1'.", 'no Console header');
  }
  const transport = transportOf(context, head, trustedProxies);
  if (transport === undefined) throw refuse('The session cookie is accepted only over HTTPS.', 'session in clear text');
  if (!isFromOwnPage(head, transport)) {
    const message = 'The session cookie is accepted only from pages of the service itself.';
    throw refuse(message, 'session from another page');
  }
  const own = sent.filter(({ name }) => name === transport.name);
  if (own.length > 1) throw refuse('The request has the session cookie more than once.', 'several sessions');
  const [cookie] = own;
  return cookie && { token: cookie.value, isActive: purpose === '1' && !context.begun };
}

const CLEAR_TEXT =
  'A session needs HTTPS, because its cookie could be read on the network: call the service through a proxy that ends ' +
  "TLS and sends X-Forwarded-Proto, and set TRUSTED_PROXIES. Without TLS, sessions work only on the service's machine, " +
  'called as localhost.';

/** Refuses a new session from another machine without HTTPS, or from a page with a different origin: `forbidden`. */
export function refuseClearText(context: RequestContext, head: RequestHead, trustedProxies: number): void {
  const transport = transportOf(context, head, trustedProxies);
  if (transport === undefined) throw new Refusal('forbidden', CLEAR_TEXT);
  const isOfBrowser = head.fetchSite !== undefined || head.origin !== undefined;
  if (isOfBrowser && !isFromOwnPage(head, transport))
    throw new Refusal('forbidden', 'A session can be created only by pages of the service itself.');
}

/**
 * Returns whether the console sent a request without any action by its user. A failure of such a request is not the user's error.
 * The console sends reads in the background, and a request that asks who is signed in. A page with a different origin, a caller
 * with a key, or a request that changes anything cannot claim this. A refused credential is recorded in the audit log in any
 * case.
 */
export function isOfConsoleItself(context: RequestContext, head: RequestHead, trustedProxies: number): boolean {
  const { operation } = context;
  if (head.console === undefined || head.authorization !== undefined || operation === undefined) return false;
  const isOwn = head.console === 'background' || (head.console === '1' && operation === 'get_session');
  if (!isOwn || OPERATIONS[operation].method !== 'GET') return false;
  const transport = transportOf(context, head, trustedProxies);
  return transport !== undefined && isFromOwnPage(head, transport);
}

/** Returns the Set-Cookie header for a new token, or the header that removes the cookie if the token is null. */
export function sessionCookie(context: RequestContext, trustedProxies: number, token: string | null): string {
  const { head } = context;
  const transport = head === undefined ? undefined : transportOf(context, head, trustedProxies);
  const { name, attributes } = transport ?? HTTPS;
  return `${name}=${token ?? ''}; ${attributes}${token === null ? '; Max-Age=0' : ''}`;
}

const ATTRIBUTES = 'HttpOnly; SameSite=Strict; Path=/';
const HTTPS = { name: NAME, attributes: `Secure; ${ATTRIBUTES}` } as const;

function transportOf(context: RequestContext, head: RequestHead, trustedProxies: number): Transport | undefined {
  const host = hostOf(context, head);
  const proxy = headerOfProxy(context.request);
  if (proxy !== undefined) {
    if (!isForwardedAsHttps(context, trustedProxies)) return undefined;
    return { ...HTTPS, origin: `https://${host}` };
  }
  if (!isLoopbackAddress(context.request.socket.remoteAddress) || !isLoopbackAuthority(host)) return undefined;
  return { name: loopbackName(host), origin: `http://${host}`, attributes: ATTRIBUTES };
}

function hostOf({ authority }: RequestContext, { host }: RequestHead): string {
  return (authority ?? host ?? '').toLowerCase();
}

function loopbackName(host: string): string {
  return `${LOOPBACK_NAME}${/:([0-9]{1,5})$/.exec(host)?.[1] ?? '80'}`;
}

/** The suffix of the cookie's name for a login in progress. */
const LOGIN = '-login';

/** Returns the origin of the request. Refuses a request from another machine without TLS: `forbidden`. */
export function requireTransport(context: RequestContext, head: RequestHead, trustedProxies: number): string {
  const transport = transportOf(context, head, trustedProxies);
  if (transport === undefined) throw new Refusal('forbidden', CLEAR_TEXT);
  return transport.origin;
}

/**
 * Returns the Set-Cookie header for the state of a login, or the header that removes it if the state is null. It is SameSite=Lax,
 * because the browser must send it when the provider redirects back. The cookie needs no signature: it only proves that this
 * browser began the login, and other hosts cannot set it.
 */
export function loginCookie(context: RequestContext, trustedProxies: number, login: LoginState | null): string {
  const { head } = context;
  const transport = (head && transportOf(context, head, trustedProxies)) ?? HTTPS;
  const value = login === null ? '' : Buffer.from(JSON.stringify(login)).toString('base64url');
  const attributes = transport.attributes.replace('SameSite=Strict', 'SameSite=Lax');
  return `${transport.name}${LOGIN}=${value}; ${attributes}; Max-Age=${login === null ? 0 : LOGIN_SECONDS}`;
}

/** Returns the state of the login in the request's cookie. Undefined unless there is exactly one readable cookie. */
export function readLoginCookie(
  context: RequestContext,
  head: RequestHead,
  trustedProxies: number,
): LoginState | undefined {
  const transport = transportOf(context, head, trustedProxies);
  if (head.cookie === undefined || transport === undefined) return undefined;
  const sent = pairsIn(head.cookie).filter(({ name }) => name === `${transport.name}${LOGIN}`);
  const [cookie] = sent;
  if (cookie === undefined || sent.length > 1) return undefined;
  try {
    const read: unknown = parseJson(Buffer.from(cookie.value, 'base64url').toString());
    return isLoginState(read) ? read : undefined;
  } catch {
    return undefined;
  }
}

function isLoginState(value: unknown): value is LoginState {
  if (typeof value !== 'object' || value === null) return false;
  const { state, nonce, codeVerifier, returnPath, program, isFresh, begunAt } = value as Partial<LoginState>;
  const areTexts = [state, nonce, codeVerifier, returnPath].every((text) => typeof text === 'string' && text !== '');
  return (
    areTexts &&
    (program === null || typeof program === 'string') &&
    typeof isFresh === 'boolean' &&
    typeof begunAt === 'number'
  );
}

/** Returns whether the outermost trusted proxy reports HTTPS. Earlier entries of the header may come from the caller itself. */
export function isForwardedAsHttps({ request }: RequestContext, trustedProxies: number): boolean {
  const sent = request.headers['x-forwarded-proto'];
  if (sent === undefined || trustedProxies === 0) return false;
  const schemes = String(sent)
    .split(',')
    .map((scheme) => scheme.trim().toLowerCase());
  return schemes.at(-Math.min(schemes.length, trustedProxies)) === 'https';
}

/**
 * Returns whether the browser says that a page of the same origin sent the request. Browsers without Sec-Fetch-Site send an Origin.
 */
function isFromOwnPage({ fetchSite, origin }: RequestHead, transport: Transport): boolean {
  if (fetchSite !== undefined) return fetchSite.toLowerCase() === 'same-origin';
  return origin?.toLowerCase() === transport.origin;
}

type Cookie = { readonly name: string; readonly value: string };

/** Returns the cookies of a Cookie header whose names are session names of this host. */
function cookiesOf(header: string, host: string): readonly Cookie[] {
  const names = [NAME, loopbackName(host)];
  return pairsIn(header).filter(({ name }) => names.includes(name));
}

function pairsIn(header: string): readonly Cookie[] {
  return header.split(';').map((pair) => {
    const end = pair.indexOf('=');
    return { name: pair.slice(0, Math.max(end, 0)).trim(), value: pair.slice(end + 1).trim() };
  });
}

function refuse(message: string, reason: string): Refusal {
  return new Refusal('unauthenticated', message, { saw: { refused_because: reason } });
}

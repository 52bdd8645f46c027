import { Refusal } from '../../domain/refusal.ts';
import type { LoginWish, SignIn, SignInOutcome } from '../calls/sign-in.ts';
import { documentOf, PAGE_HEADERS, type Page } from '../pages/page-layout.ts';
import { chooseProgramPage, signedInPage, signedOutPage } from '../pages/sign-in-pages.ts';
import { reportRefusal } from './admission/caller.ts';
import { loginCookie, readLoginCookie, requireTransport, sessionCookie } from './admission/session-cookie.ts';
import type { RequestContext } from './request-context.ts';
import type { Router } from './router.ts';
import { closingRefusal, type HttpService } from './service.ts';
import { receiveBody } from './wire/body.ts';
import { JSON_TYPE } from './wire/error-response.ts';
import { sendBody, sendError, type WholeBody } from './wire/reply.ts';
import type { RequestHead } from './wire/request-head.ts';

// Invariant: Sign-in opens only paths of the console of this service, and its redirect URI comes from PUBLIC_URL
// Kept by: `consolePath`; `openSignIn` gets PUBLIC_URL as a setting
// Tested by: `test/security/sign-in/sign-in.test.ts`

const SIGN_IN = '/console/sign-in';

const HTML_TYPE = 'text/html; charset=utf-8';

/** A logout token is smaller than two kilobytes. */
const MAX_LOGOUT_BYTES = 16_384;

type Serve = (context: RequestContext, head: RequestHead, query: URLSearchParams) => Promise<Partial<WholeBody>>;

/** Mounts the routes of sign-in with the configured provider. If there is none, the routes do not exist. */
export function mountSignIn(router: Router, service: HttpService, signIn: SignIn): void {
  const { settings, gateway, version, supportContact } = service;
  const { trustedProxies, publicUrl } = settings;
  const page = (shown: Page): Partial<WholeBody> => ({
    type: HTML_TYPE,
    body: documentOf(shown, { version, mode: gateway.mode, supportContact }),
    headers: PAGE_HEADERS.flat(),
  });
  const newDeadline = (): number => performance.now() + settings.operationTimeoutMilliseconds;

  mount(router, service, SIGN_IN, async (context, head, query) => {
    const origin = requireTransport(context, head, trustedProxies);
    if (publicUrl !== null && origin !== publicUrl && !query.has('moved')) {
      // The provider redirects to PUBLIC_URL, where a cookie that was set on a different host would be missing.
      query.set('moved', '1');
      return redirect(`${publicUrl}${SIGN_IN}?${query}`);
    }
    const { url, login } = await signIn.begin(wishIn(query));
    context.setCookie = loginCookie(context, trustedProxies, login);
    return redirect(url);
  });

  mount(router, service, `${SIGN_IN}/callback`, async (context, head, query) => {
    requireTransport(context, head, trustedProxies);
    const login = readLoginCookie(context, head, trustedProxies);
    // A login in progress can be used only once, even if it fails.
    const ending = loginCookie(context, trustedProxies, null);
    context.setCookie = ending;
    const outcome = await signIn.finish(query, login, newDeadline);
    const path = consolePath(login?.returnPath ?? null);
    if (outcome.kind === 'choice') return page(chooseProgramPage(programLinks(outcome, path)));
    context.setCookie = sessionCookie(context, trustedProxies, outcome.token);
    const shown = page(signedInPage(path));
    return { ...shown, headers: [...(shown.headers ?? []), 'Set-Cookie', ending] };
  });

  mount(router, service, '/console/signed-out', async (_context, _head, query) => {
    const url = query.get('provider') === '1' ? await signIn.signOutUrl() : undefined;
    return url === undefined ? page(signedOutPage()) : redirect(url);
  });

  const backChannel = '/console/back-channel-logout';
  router.add(['POST'], {
    pattern: backChannel,
    serve: (context) =>
      void answer(service, context, async () => {
        const { bytes, overflow } = await receiveBody(context, MAX_LOGOUT_BYTES, settings.maxDiscardedBytes);
        const tokens = overflow ? [] : new URLSearchParams(bytes.toString()).getAll('logout_token');
        const [token] = tokens;
        if (token === undefined || tokens.length > 1) {
          throw new Refusal('logout_token_refused', "The body is not a form with one 'logout_token'.", {
            saw: { refused_because: 'not a logout token' },
          });
        }
        await signIn.logOut(token, newDeadline);
        return { type: JSON_TYPE, body: '{}' };
      }),
  });
}

function mount(router: Router, service: HttpService, pattern: string, serve: Serve): void {
  router.add(['GET'], {
    pattern,
    serve: (context) =>
      void answer(service, context, async () => {
        if (context.head === undefined) throw new TypeError('The head of the request was not read.');
        service.limits.chargePage(context, false);
        return serve(context, context.head, new URLSearchParams(context.target.slice(context.path.length)));
      }),
  });
}

/** Serves a request, or responds with the error that was thrown. A refused identity counts as a refused credential. */
async function answer(
  service: HttpService,
  context: RequestContext,
  serve: () => Promise<Partial<WholeBody>>,
): Promise<void> {
  try {
    if (service.isClosing) throw closingRefusal();
    service.limits.admitAddress(context);
    const { status = 200, type = HTML_TYPE, body = '', headers = [] } = await serve();
    await sendBody(service, context, { status, type, body, headers });
  } catch (thrown) {
    if (thrown instanceof Refusal && CREDENTIAL_CODES.includes(thrown.code)) {
      service.limits.chargeRefusedCredential(context);
      reportRefusal(service, context, '', thrown);
    }
    await sendError(service, context, thrown);
  }
}

/** The error codes that mean that a credential was refused: an authorization code, a token or a person. */
const CREDENTIAL_CODES: readonly string[] = [
  'sign_in_not_begun',
  'identity_refused',
  'no_role',
  'person_blocked',
  'logout_token_refused',
];

function redirect(url: string): Partial<WholeBody> {
  return { status: 302, type: HTML_TYPE, body: '', headers: ['Location', url, 'Referrer-Policy', 'no-referrer'] };
}

function wishIn(query: URLSearchParams): LoginWish {
  const program = query.get('program');
  return { returnPath: consolePath(query.get('return')), program, isFresh: query.get('again') === '1' };
}

const MAX_RETURN_CHARACTERS = 1_000;

/** Returns a path of the console. For any other path, and for the routes of sign-in, returns `/console`. */
function consolePath(path: string | null): string {
  const base = 'http://console.invalid';
  if (path === null || path.length > MAX_RETURN_CHARACTERS || !/^\/console(?:[/?]|$)/.test(path)) return '/console';
  const url = URL.parse(path, base);
  if (url === null || url.origin !== base || !/^\/console(?:\/|$)/.test(url.pathname)) return '/console';
  if (/^\/console\/(?:sign-in|signed-out|back-channel-logout)/.test(url.pathname)) return '/console';
  return `${url.pathname}${url.search}`;
}

function programLinks(outcome: Extract<SignInOutcome, { kind: 'choice' }>, path: string) {
  return outcome.programs.map(({ programId, name }) => ({
    name: name ?? programId,
    path: `${SIGN_IN}?${new URLSearchParams({ program: programId, return: path })}`,
  }));
}

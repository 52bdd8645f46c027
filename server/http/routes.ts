import { OPERATION_IDS, OPERATIONS } from '../../contract/operations.ts';
import { BUILT_CONSOLE, ConsoleFiles } from '../pages/console/console-files.ts';
import type { PageResponse } from '../pages/page-response.ts';
import { createPages } from '../pages/pages.ts';
import { isForwardedAsHttps } from './admission/session-cookie.ts';
import { serveOperation } from './pipeline.ts';
import { provoke } from './provoke.ts';
import type { RequestContext } from './request-context.ts';
import type { Router } from './router.ts';
import { closingRefusal, type HttpService } from './service.ts';
import { mountSignIn } from './sign-in.ts';
import { sendBody, sendError, sendRepresentation } from './wire/reply.ts';

export function mountRoutes(router: Router, service: HttpService): void {
  mountOperations(router, service);
  mountPages(router, service);
  const { signIn } = service.gateway;
  if (signIn !== undefined) mountSignIn(router, service, signIn);
  mountConsole(router, service);
}

/** Adds a route for each operation of the contract. Sandbox operations exist only in sandbox mode. */
function mountOperations(router: Router, service: HttpService): void {
  for (const id of OPERATION_IDS) {
    const { method, path, reach } = OPERATIONS[id];
    if (reach === 'sandbox' && service.gateway.mode !== 'sandbox') continue;
    router.add(method === 'GET' ? ['GET', 'HEAD'] : [method], {
      pattern: path,
      operation: id,
      serve: (context, parameters) => void serveOperation(service, context, id, parameters),
    });
  }
}

/** The only code that Sandbox-Provoke can cause on a page. All others are codes of operations. */
const PROVOKED = ['unknown_request'] as const;

/** Caches must revalidate a page before each use. For an unchanged page, this costs only a short 304 response. */
const REVALIDATE = 'no-cache';

/** Mounts the pages. They need no key. For the rate limit of an address, each page counts as several requests. */
function mountPages(router: Router, service: HttpService): void {
  const { gateway, version, supportContact } = service;
  const ready = () => {
    if (service.isClosing) throw closingRefusal();
    return gateway.ready();
  };
  const { mode, keyless } = gateway;
  const provider = gateway.signIn?.provider;
  const pages = createPages({ version, mode, keyless, supportContact, provider, ready });
  for (const [url, page] of Object.entries(pages)) {
    router.add(['GET', 'HEAD'], {
      pattern: url,
      serve: (context, parameters) =>
        void servePage(service, context, () => {
          service.limits.admitAddress(context);
          const provoked = context.head?.sandboxProvoke;
          if (provoked !== undefined && gateway.mode === 'sandbox') {
            provoke(provoked, PROVOKED, 'malformed_request', '');
          }
          const search = new URLSearchParams(context.target.slice(context.path.length)).get('q') ?? '';
          if (!isCheap(url)) service.limits.chargePage(context, search !== '');
          const { accept } = context.request.headers;
          return page({ parameters, search, accept, url: urlOf(service, context) });
        }),
    });
  }
}

/** Returns whether a page counts as only one request of its address, like health checks and icons. */
function isCheap(url: string): boolean {
  return url.startsWith('/health/') || url.startsWith('/favicon.');
}

/**
 * Returns the URL of the service, as its caller sees it. This is the setting or, if there is none, the Host of the request, with
 * https if a trusted proxy reports it. Returns undefined if the Host is not a plain name or address, because pages repeat it.
 */
function urlOf({ settings }: HttpService, context: RequestContext): string | undefined {
  const { publicUrl, trustedProxies } = settings;
  if (publicUrl !== null) return publicUrl;
  const host = context.authority ?? context.request.headers.host ?? '';
  if (!/^([a-zA-Z0-9.-]{1,253}|\[[0-9a-fA-F:.]{2,45}\])(:[0-9]{1,5})?$/.test(host)) return undefined;
  const url = `${isForwardedAsHttps(context, trustedProxies) ? 'https' : 'http'}://${host}`;
  // Refuses hosts such as 1.2.3.999 and localhost:99999.
  return URL.canParse(url) ? url : undefined;
}

async function servePage(
  service: HttpService,
  context: RequestContext,
  make: () => PageResponse | Promise<PageResponse>,
): Promise<void> {
  try {
    const { type, body, headers, isRendered = false, cacheControl = REVALIDATE, varies = false } = await make();
    if (isRendered) service.limits.chargeRendering(context);
    if (typeof body === 'string') {
      await sendBody(service, context, { status: 200, type, body, headers: headers.flat() });
      return;
    }
    const vary = varies ? ['Accept'] : [];
    await sendRepresentation(
      service,
      context,
      { type, ...(await body) },
      { headers: headers.flat(), cacheControl, vary },
    );
  } catch (thrown) {
    await sendError(service, context, thrown);
  }
}

const CONSOLE_PATH = '/console';

/** The Content-Security-Policy of the console. It allows only the console's own scripts, styles and fonts, and calls to this service. */
export const CONSOLE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const CONSOLE_HEADERS = [
  ...['Content-Security-Policy', CONSOLE_POLICY, 'Referrer-Policy', 'no-referrer'],
  ...['Cross-Origin-Opener-Policy', 'same-origin', 'Cross-Origin-Resource-Policy', 'same-origin'],
];

const FOR_EVER = 'public, max-age=31536000, immutable';

/**
 * Mounts the console. Its files need no key, because they are the same for everyone, and the data comes from the API. They are
 * small and served from memory, so each counts as one request of its address.
 */
function mountConsole(router: Router, service: HttpService): void {
  const files = new ConsoleFiles(BUILT_CONSOLE);
  for (const pattern of [CONSOLE_PATH, `${CONSOLE_PATH}/*`]) {
    router.add(['GET', 'HEAD'], {
      pattern,
      serve: (context, parameters) => void serveFile(service, context, files, parameters['*'] ?? ''),
    });
  }
}

async function serveFile(
  service: HttpService,
  context: RequestContext,
  files: ConsoleFiles,
  path: string,
): Promise<void> {
  try {
    service.limits.admitAddress(context);
    const file = await files.find(path);
    const cacheControl = file.isHashed ? FOR_EVER : 'no-store';
    await sendRepresentation(service, context, file, { headers: CONSOLE_HEADERS, cacheControl });
  } catch (thrown) {
    await sendError(service, context, thrown);
  }
}

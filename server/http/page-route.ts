import type { PageResponse } from '../pages/page-response.ts';
import { createPages } from '../pages/pages.ts';
import { isForwardedAsHttps } from './admission/session-cookie.ts';
import { provoke } from './provoke.ts';
import type { RequestContext } from './request-context.ts';
import type { Router } from './router.ts';
import { closingRefusal, type HttpService } from './service.ts';
import { sendBody, sendError } from './wire/reply.ts';
import { sendRepresentation } from './wire/representation.ts';

/** The only code that Sandbox-Provoke can cause on a page: all others belong to operations. */
const PROVOKED = ['unknown_request'] as const;

/** Caches must revalidate a page before each use, which for an unchanged page is a short 304 response. */
const REVALIDATE = 'no-cache';

/** Mounts the pages. They need no key; each counts as several requests of its address. */
export function mountPages(router: Router, service: HttpService): void {
  const { gateway, version, supportContact } = service;
  const ready = () => {
    if (service.isClosing) throw closingRefusal();
    return gateway.ready();
  };
  const { mode, keyless } = gateway;
  const pages = createPages({ version, mode, keyless, supportContact, ready });
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

/** Whether the page counts as only one request of its address: health checks and icons. */
function isCheap(url: string): boolean {
  return url.startsWith('/health/') || url.startsWith('/favicon.');
}

/**
 * The URL of the service, as its caller sees it: the setting or else the Host of the request, with https if a trusted
 * proxy reports it. Undefined if the Host is not a plain name or address, because pages repeat it.
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

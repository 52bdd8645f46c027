import type { FastifyInstance } from 'fastify';
import type { PageResponse } from '../pages/page-response.ts';
import { createPages } from '../pages/pages.ts';
import { provoke } from './provoke.ts';
import type { RequestContext } from './request-context.ts';
import { closingRefusal, type HttpService } from './service.ts';
import { contextOf } from './wire/record-response.ts';
import { sendBody, sendError } from './wire/reply.ts';

/** The only code that Sandbox-Provoke can cause on a page: no operation has it. */
const PROVOKED = ['unknown_request'] as const;

/** Mounts the pages. They need no key; each counts more than one request of its address. */
export function mountPages(app: FastifyInstance, service: HttpService): void {
  const { gateway, version, supportContact } = service;
  const ready = () => {
    if (service.isClosing) throw closingRefusal();
    return gateway.ready();
  };
  const pages = createPages({ version, mode: gateway.mode, supportContact, ready });
  for (const [url, page] of Object.entries(pages)) {
    app.route<{ Params: Record<string, string> }>({
      method: ['GET', 'HEAD'],
      url,
      handler: (request, reply) => {
        const context = contextOf(reply.raw);
        context.pattern = url;
        reply.hijack();
        void servePage(service, context, () => {
          service.limits.admitAddress(context);
          const provoked = context.head?.sandboxProvoke;
          if (provoked !== undefined && gateway.mode === 'sandbox') {
            provoke(provoked, PROVOKED, 'malformed_request', '');
          }
          const search = new URLSearchParams(context.target.slice(context.path.length)).get('q') ?? '';
          if (!url.startsWith('/health/')) service.limits.chargePage(context, search !== '');
          const { accept, host } = context.request.headers;
          return page({ parameters: request.params, search, accept, host });
        });
      },
    });
  }
}

async function servePage(
  service: HttpService,
  context: RequestContext,
  make: () => PageResponse | Promise<PageResponse>,
): Promise<void> {
  try {
    const { type, body, headers } = await make();
    await sendBody(service, context, { status: 200, type, body, headers: headers.flat() });
  } catch (thrown) {
    await sendError(service, context, thrown);
  }
}

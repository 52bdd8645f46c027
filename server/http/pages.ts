import type { FastifyInstance } from 'fastify';
import { Refusal } from '../../domain/refusal.ts';
import { sendError, sendJson } from './answer.ts';
import { catalogueRecords, findCatalogueRecord } from './catalogue-routes.ts';
import type { Exchange } from './exchange.ts';
import { exchangeOf } from './record-response.ts';
import type { HttpService } from './service.ts';

/** What a page shows, as data. */
type Page = (parameters: Readonly<Record<string, string>>) => unknown;

/** Mounts what is no operation and needs no key: the root, health, and the catalogue of errors. */
export function mountPages(app: FastifyInstance, service: HttpService): void {
  const pages: Readonly<Record<string, Page>> = {
    '/': () => rootPage(service),
    '/health/live': () => ({ status: 'live' }),
    '/health/ready': () => readiness(service),
    '/errors': () => ({ data: catalogueRecords() }),
    '/errors.json': () => ({ data: catalogueRecords() }),
    '/errors/:code': ({ code = '' }) => findCatalogueRecord(code),
  };
  for (const [url, page] of Object.entries(pages)) {
    app.route<{ Params: Record<string, string> }>({
      method: ['GET', 'HEAD'],
      url,
      handler: (request, reply) => {
        const exchange = exchangeOf(reply.raw);
        exchange.pattern = url;
        reply.hijack();
        void servePage(service, exchange, page, request.params);
      },
    });
  }
}

async function servePage(
  service: HttpService,
  exchange: Exchange,
  page: Page,
  parameters: Readonly<Record<string, string>>,
): Promise<void> {
  try {
    await sendJson(service, exchange, await page(parameters));
  } catch (thrown) {
    await sendError(service, exchange, thrown);
  }
}

async function readiness({ gateway, isClosing }: HttpService): Promise<{ readonly status: 'ready' }> {
  if (!isClosing && (await gateway.ready())) return { status: 'ready' };
  throw new Refusal('service_unavailable', 'The database does not answer, so no operation can be served.');
}

function rootPage({ gateway, version }: HttpService): unknown {
  return {
    service: 'transfer-service',
    version,
    mode: gateway.mode,
    support: gateway.supportContact,
    links: {
      transfers: '/api/v0.1/core/transfer',
      errors: '/errors',
      live: '/health/live',
      ready: '/health/ready',
    },
  };
}

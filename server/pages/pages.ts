import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { catalogueRecord } from '../../contract/catalogue.ts';
import { redactCardNumbers } from '../../domain/cards/card-number.ts';
import { Refusal } from '../../domain/refusal.ts';
import { provoke } from '../http/provoke.ts';
import type { RequestContext } from '../http/request-context.ts';
import { closingRefusal, type HttpService } from '../http/service.ts';
import { JSON_TYPE } from '../http/wire/error-response.ts';
import { contextOf } from '../http/wire/record-response.ts';
import { sendError } from '../http/wire/reply.ts';
import type { Readiness } from '../operations/call.ts';
import { catalogueData, findCode } from './catalogue-routes.ts';
import { errorCodePage } from './error-code-page.ts';
import { errorListPage } from './error-list-page.ts';
import { homePage } from './home-page.ts';
import { KeptPages } from './kept-pages.ts';
import { type PageAnswer, prefersPage, sendPage } from './page-answer.ts';
import { documentOf, PAGE_POLICY, type Page, type PageSetting } from './page-layout.ts';
import { referencePage } from './reference-page.ts';

/** A request for a page: what it says, and how the service that shows it is set. */
type Visit = {
  readonly service: HttpService;
  readonly parameters: Readonly<Record<string, string>>;
  /** What was typed into the search; empty where nothing was. */
  readonly query: string;
  readonly wantsPage: boolean;
  readonly setting: PageSetting;
  readonly kept: KeptPages;
};

/** What Sandbox-Provoke can make of a page: the one code that no operation has. */
const PROVOKED = ['unknown_request'] as const;

const OPENAPI = new URL('../../contract/openapi.json', import.meta.url);

/** Mounts what is no operation and needs neither key nor database: the root, health, the catalogue, the reference. */
export function mountPages(app: FastifyInstance, service: HttpService): void {
  const kept = new KeptPages();
  const pages: Readonly<Record<string, (visit: Visit) => PageAnswer | Promise<PageAnswer>>> = {
    '/': showHome,
    '/health/live': () => asData({ status: 'live' }),
    '/health/ready': async () => asData(await readiness(service)),
    '/errors': (visit) => showErrors(visit, visit.wantsPage),
    '/errors.json': (visit) => showErrors(visit, false),
    '/errors/:code': showError,
    '/docs': (visit) => asKeptPage('docs', visit, referencePage),
    '/openapi.json': (visit) => asKeptData('openapi', visit, () => readFileSync(OPENAPI, 'utf8')),
  };
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
          const asked = context.head?.sandboxProvoke;
          if (asked !== undefined && service.gateway.mode === 'sandbox')
            provoke(asked, PROVOKED, 'malformed_request', '');
          const visit = visitOf(service, kept, context, request.params);
          if (!url.startsWith('/health/')) service.limits.chargePage(context, visit.query !== '');
          return page(visit);
        });
      },
    });
  }
}

async function servePage(
  service: HttpService,
  context: RequestContext,
  make: () => PageAnswer | Promise<PageAnswer>,
): Promise<void> {
  try {
    await sendPage(service, context, await make());
  } catch (thrown) {
    await sendError(service, context, thrown);
  }
}

function visitOf(
  service: HttpService,
  kept: KeptPages,
  context: RequestContext,
  parameters: Readonly<Record<string, string>>,
): Visit {
  const { request, target } = context;
  // A search is never refused: what is not well-formed in it is searched for as it is, and shown without card numbers.
  const query = redactCardNumbers(new URLSearchParams(target.slice(context.path.length)).get('q') ?? '');
  const { gateway, version, supportContact } = service;
  const setting = { version, mode: gateway.mode, supportContact, base: baseOf(service, request.headers.host) };
  return { service, parameters, query, wantsPage: prefersPage(request.headers.accept), setting, kept };
}

/**
 * Where the commands on a page go: to this service, when it is a sandbox and was called by a plain name, and else to
 * where a sandbox usually is. Commands that provoke failures are not to be tried on a live service.
 */
function baseOf({ gateway }: HttpService, host: string | undefined): string {
  const isPlain = host !== undefined && /^([a-zA-Z0-9.-]{1,253}|\[[0-9a-fA-F:.]{2,45}\])(:[0-9]{1,5})?$/.test(host);
  return gateway.mode === 'sandbox' && isPlain ? `http://${host}` : 'http://localhost:8080';
}

function showHome(visit: Visit): PageAnswer {
  if (visit.wantsPage) return varying(asPage(homePage(visit.setting), visit.setting));
  const { gateway, version } = visit.service;
  const links = {
    transfers: '/api/v0.1/core/transfer',
    docs: '/docs',
    openapi: '/openapi.json',
    errors: '/errors',
    live: '/health/live',
    ready: '/health/ready',
  };
  const root = { service: 'transfer-service', version, mode: gateway.mode, support: gateway.supportContact, links };
  return varying(asData(root));
}

function showErrors(visit: Visit, isPage: boolean): PageAnswer {
  const { query, setting } = visit;
  const isSearch = query.trim() !== '';
  if (isPage && isSearch) return varying(asPage(errorListPage(query), setting));
  if (isPage) return varying(asKeptPage('errors', visit, () => errorListPage('')));
  if (isSearch) return varying(asReadableData(catalogueData(query)));
  return varying(asKeptData('errors.json', visit, () => readable(catalogueData(''))));
}

function showError(visit: Visit): PageAnswer {
  const { code, isData } = findCode(visit.parameters.code ?? '');
  if (isData || !visit.wantsPage) return varying(asReadableData(catalogueRecord(code)));
  return varying(asKeptPage(`errors/${code}`, visit, (setting) => errorCodePage(code, setting)));
}

/** A page that is the same each time. */
function asKeptPage(name: string, { setting, kept }: Visit, make: (setting: PageSetting) => Page): PageAnswer {
  return asHtml(kept.get(name, setting.base, () => documentOf(make(setting), setting)));
}

/** Data that is the same each time, and long. */
function asKeptData(name: string, { setting, kept }: Visit, make: () => string): PageAnswer {
  return { type: JSON_TYPE, body: kept.get(name, setting.base, make), headers: [] };
}

function asPage(page: Page, setting: PageSetting): PageAnswer {
  return asHtml(documentOf(page, setting));
}

function asHtml(body: string | Buffer): PageAnswer {
  const headers = [
    ['Content-Security-Policy', PAGE_POLICY],
    ['Referrer-Policy', 'no-referrer'],
  ] as const;
  return { type: 'text/html; charset=utf-8', body, headers };
}

function asData(value: unknown): PageAnswer {
  return { type: JSON_TYPE, body: JSON.stringify(value), headers: [] };
}

/** Data that people read too, in a terminal: set in lines, and ended by one. */
function asReadableData(value: unknown): PageAnswer {
  return { type: JSON_TYPE, body: readable(value), headers: [] };
}

function readable(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function varying(answer: PageAnswer): PageAnswer {
  return { ...answer, headers: [['Vary', 'Accept'], ...answer.headers] };
}

async function readiness({ gateway, isClosing }: HttpService): Promise<{ readonly status: 'ready' }> {
  if (isClosing) throw closingRefusal();
  const readiness = await gateway.ready();
  if (readiness === 'ready') return { status: 'ready' };
  throw new Refusal('service_unavailable', NOT_READY[readiness]);
}

const NOT_READY: Readonly<Record<Exclude<Readiness, 'ready'>, string>> = {
  silent: 'The database does not respond, so no operation can be served.',
  read_only: 'The database is read-only or a standby, so nothing can be written.',
  disk_full: 'The disk of the database is full, so nothing can be written.',
  no_connection: 'The database has no connection left for the service, so nothing can be written.',
  unwritable: 'The database fails to write or to commit.',
};

import { readFileSync } from 'node:fs';
import { catalogueRecord } from '../../contract/errors/catalogue.ts';
import { redactCardNumbers } from '../../domain/cards/card-number.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Readiness } from '../operations/call.ts';
import { catalogueData, findCode } from './catalogue-routes.ts';
import { errorCodePage } from './error-code-page.ts';
import { errorListPage } from './error-list-page.ts';
import { homePage } from './home-page.ts';
import { KeptPages } from './kept-pages.ts';
import { type PageAnswer, prefersPage } from './page-answer.ts';
import { documentOf, PAGE_POLICY, type Page, type PageSetting } from './page-layout.ts';
import { referencePage } from './reference-page.ts';

/** A request for a page. */
export type PageRequest = {
  readonly parameters: Readonly<Record<string, string>>;
  /** The search, the query parameter `q`; empty when there is none. */
  readonly search: string;
  /** The Accept header. */
  readonly accept: string | undefined;
  /** The Host header. */
  readonly host: string | undefined;
};

/** What the pages show of the service. */
export type PageHost = {
  readonly version: string;
  readonly mode: 'sandbox' | 'live';
  readonly supportContact: string;
  /** Rejects with a Refusal while the service closes. */
  readonly ready: () => Promise<Readiness>;
};

/** Makes the response to a request for a page. Throws a Refusal when there is none. */
export type PageHandler = (request: PageRequest) => PageAnswer | Promise<PageAnswer>;

type Visit = {
  readonly host: PageHost;
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: string;
  readonly wantsPage: boolean;
  readonly setting: PageSetting;
  readonly kept: KeptPages;
};

const JSON_TYPE = 'application/json; charset=utf-8';
const OPENAPI = new URL('../../contract/openapi.json', import.meta.url);

/** The pages by route: the root, health, the error catalogue, the API reference. They need neither key nor database. */
export function createPages(host: PageHost): Readonly<Record<string, PageHandler>> {
  const kept = new KeptPages();
  const pages: Readonly<Record<string, (visit: Visit) => PageAnswer | Promise<PageAnswer>>> = {
    '/': showHome,
    '/health/live': () => asData({ status: 'live' }),
    '/health/ready': async () => asData(await readiness(host)),
    '/errors': (visit) => showErrors(visit, visit.wantsPage),
    '/errors.json': (visit) => showErrors(visit, false),
    '/errors/:code': showError,
    '/docs': (visit) => asKeptPage('docs', visit, referencePage),
    '/openapi.json': (visit) => asKeptData('openapi', visit, () => readFileSync(OPENAPI, 'utf8')),
  };
  return Object.fromEntries(
    Object.entries(pages).map(([url, page]) => [url, (request) => page(visitOf(host, kept, request))]),
  );
}

function visitOf(host: PageHost, kept: KeptPages, request: PageRequest): Visit {
  const { version, mode, supportContact } = host;
  const setting = { version, mode, supportContact, base: baseOf(host, request.host) };
  // A search is never refused; card numbers in it are not shown.
  const query = redactCardNumbers(request.search);
  return { host, parameters: request.parameters, query, wantsPage: prefersPage(request.accept), setting, kept };
}

/**
 * The base URL of the commands on a page: this service, when it is a sandbox and the Host is a plain name; otherwise the
 * default address of a sandbox. Commands that provoke failures are not meant for a live service.
 */
function baseOf({ mode }: PageHost, host: string | undefined): string {
  const isPlain = host !== undefined && /^([a-zA-Z0-9.-]{1,253}|\[[0-9a-fA-F:.]{2,45}\])(:[0-9]{1,5})?$/.test(host);
  return mode === 'sandbox' && isPlain ? `http://${host}` : 'http://localhost:8080';
}

function showHome(visit: Visit): PageAnswer {
  if (visit.wantsPage) return varying(asPage(homePage(visit.setting), visit.setting));
  const { version, mode, supportContact } = visit.host;
  const links = {
    transfers: '/api/v0.1/core/transfer',
    docs: '/docs',
    openapi: '/openapi.json',
    errors: '/errors',
    live: '/health/live',
    ready: '/health/ready',
  };
  const root = { service: 'transfer-service', version, mode, support: supportContact, links };
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

async function readiness(host: PageHost): Promise<{ readonly status: 'ready' }> {
  const readiness = await host.ready();
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

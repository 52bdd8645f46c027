import { readFileSync } from 'node:fs';
import { type CatalogueRecord, catalogueRecord, ERROR_CODES, isErrorCode } from '../../contract/errors/catalogue.ts';
import { type EventTypeRecord, eventTypeRecord, isEventType } from '../../contract/events/catalogue.ts';
import type { ErrorCode } from '../../contract/operations.ts';
import { redactCardNumbers } from '../../domain/cards/card-number.ts';
import { EVENT_TYPES, type EventType } from '../../domain/event.ts';
import { READINESS, type ReadinessReason } from '../../domain/readiness.ts';
import { Refusal } from '../../domain/refusal.ts';
import { notReady, runbookOf } from '../operations/readiness.ts';
import { maskedText } from '../redaction.ts';
import { errorCodePage } from './error-code-page.ts';
import { errorListPage } from './error-list-page.ts';
import { searchCatalogue } from './error-search.ts';
import { eventListPage } from './event-list-page.ts';
import { searchEventTypes } from './event-search.ts';
import { eventTypePage } from './event-type-page.ts';
import { homePage } from './home-page.ts';
import { PageCache } from './page-cache.ts';
import { documentOf, PAGE_POLICY, type Page, type PageContext } from './page-layout.ts';
import { type PageResponse, prefersPage } from './page-response.ts';
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
  readonly ready: () => Promise<ReadinessReason>;
};

/** Makes the response to a request for a page. Throws a Refusal if there is none. */
export type PageHandler = (request: PageRequest) => PageResponse | Promise<PageResponse>;

type ParsedRequest = {
  readonly host: PageHost;
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: string;
  readonly wantsPage: boolean;
  readonly context: PageContext;
  readonly cache: PageCache;
};

const JSON_TYPE = 'application/json; charset=utf-8';
const OPENAPI = new URL('../../contract/openapi.json', import.meta.url);

/** The pages by route: the root, health, the catalogues of errors and events, the API reference. They need neither key nor database. */
export function createPages(host: PageHost): Readonly<Record<string, PageHandler>> {
  const cache = new PageCache();
  const pages: Readonly<Record<string, (request: ParsedRequest) => PageResponse | Promise<PageResponse>>> = {
    '/': showHome,
    '/health/live': () => asData({ status: 'live' }),
    '/health/ready': () => showReadiness(host),
    '/errors': (request) => showErrors(request, request.wantsPage),
    '/errors.json': (request) => showErrors(request, false),
    '/errors/:code': showError,
    '/events': (request) => showEvents(request, request.wantsPage),
    '/events.json': (request) => showEvents(request, false),
    '/events/:type': showEvent,
    '/docs': (request) => asCachedPage('docs', request, referencePage),
    '/openapi.json': (request) => asCachedData('openapi', request, () => readFileSync(OPENAPI, 'utf8')),
  };
  return Object.fromEntries(
    Object.entries(pages).map(([url, page]) => [url, (request) => page(parseRequest(host, cache, request))]),
  );
}

function parseRequest(host: PageHost, cache: PageCache, request: PageRequest): ParsedRequest {
  const { version, mode, supportContact } = host;
  const context = { version, mode, supportContact, base: baseOf(host, request.host) };
  // A search is never refused; card numbers in it are not shown.
  const query = redactCardNumbers(request.search);
  return { host, parameters: request.parameters, query, wantsPage: prefersPage(request.accept), context, cache };
}

/**
 * The base URL of the commands on a page: this service, when it is a sandbox and the Host is a plain name; otherwise the
 * default address of a sandbox. Commands that provoke failures are not meant for a live service.
 */
function baseOf({ mode }: PageHost, host: string | undefined): string {
  const isPlain = host !== undefined && /^([a-zA-Z0-9.-]{1,253}|\[[0-9a-fA-F:.]{2,45}\])(:[0-9]{1,5})?$/.test(host);
  return mode === 'sandbox' && isPlain ? `http://${host}` : 'http://localhost:8080';
}

function showHome(request: ParsedRequest): PageResponse {
  if (request.wantsPage) return varying(asPage(homePage(request.context), request.context));
  const { version, mode, supportContact } = request.host;
  const links = {
    transfers: '/api/v0.1/core/transfer',
    console: '/console',
    docs: '/docs',
    openapi: '/openapi.json',
    errors: '/errors',
    events: '/events',
    live: '/health/live',
    ready: '/health/ready',
  };
  const root = { service: 'transfer-service', version, mode, support: supportContact, links };
  return varying(asData(root));
}

function showErrors(request: ParsedRequest, isPage: boolean): PageResponse {
  const { query, context } = request;
  const isSearch = query.trim() !== '';
  if (isPage && isSearch) return varying(asPage(errorListPage(query), context));
  if (isPage) return varying(asCachedPage('errors', request, () => errorListPage('')));
  if (isSearch) return varying(asReadableData(catalogueData(query)));
  return varying(asCachedData('errors.json', request, () => readable(catalogueData(''))));
}

function showError(request: ParsedRequest): PageResponse {
  const { code, isData } = findCode(request.parameters.code ?? '');
  if (isData || !request.wantsPage) return varying(asReadableData(catalogueRecord(code)));
  return varying(asCachedPage(`errors/${code}`, request, (context) => errorCodePage(code, context)));
}

/** The catalogue as data, in its order; for a search, the codes that match, best first. */
function catalogueData(query: string): { readonly data: readonly CatalogueRecord[] } {
  const codes = query.trim() === '' ? ERROR_CODES : searchCatalogue(query).hits.map(({ code }) => code);
  return { data: codes.map(catalogueRecord) };
}

/** The code in a path, which may end in `.json`. Throws a Refusal, route_not_found, if there is no such code. */
function findCode(name: string): { readonly code: ErrorCode; readonly isData: boolean } {
  const isData = name.endsWith('.json');
  const code = isData ? name.slice(0, -5) : name;
  if (isErrorCode(code)) return { code, isData };
  throw new Refusal('route_not_found', `There is no error code '${maskedText(code)}'. See /errors for all codes.`);
}

function showEvents(request: ParsedRequest, isPage: boolean): PageResponse {
  const { query, context } = request;
  const isSearch = query.trim() !== '';
  if (isPage && isSearch) return varying(asPage(eventListPage(query), context));
  if (isPage) return varying(asCachedPage('events', request, () => eventListPage('')));
  if (isSearch) return varying(asReadableData(eventData(query)));
  return varying(asCachedData('events.json', request, () => readable(eventData(''))));
}

function showEvent(request: ParsedRequest): PageResponse {
  const { type, isData } = findEventType(request.parameters.type ?? '');
  if (isData || !request.wantsPage) return varying(asReadableData(eventTypeRecord(type)));
  return varying(asCachedPage(`events/${type}`, request, (context) => eventTypePage(type, context)));
}

/** The catalogue of events as data, in its order; for a search, the types that match, best first. */
function eventData(query: string): { readonly data: readonly EventTypeRecord[] } {
  const types = query.trim() === '' ? EVENT_TYPES : searchEventTypes(query).hits;
  return { data: types.map(eventTypeRecord) };
}

/** The type in a path, which may end in `.json`. Throws a Refusal, route_not_found, if there is no such type. */
function findEventType(name: string): { readonly type: EventType; readonly isData: boolean } {
  const isData = name.endsWith('.json');
  const type = isData ? name.slice(0, -5) : name;
  if (isEventType(type)) return { type, isData };
  throw new Refusal('route_not_found', `There is no type of event '${maskedText(type)}'. See /events for all types.`);
}

/** A page that does not depend on the request, apart from its base URL. */
function asCachedPage(
  name: string,
  { context, cache }: ParsedRequest,
  render: (context: PageContext) => Page,
): PageResponse {
  return asHtml(cache.get(name, context.base, () => documentOf(render(context), context)));
}

/** Long data that does not depend on the request. */
function asCachedData(name: string, { context, cache }: ParsedRequest, render: () => string): PageResponse {
  return { type: JSON_TYPE, body: cache.get(name, context.base, render), headers: [] };
}

function asPage(page: Page, context: PageContext): PageResponse {
  return asHtml(documentOf(page, context));
}

function asHtml(body: string | Buffer): PageResponse {
  const headers = [
    ['Content-Security-Policy', PAGE_POLICY],
    ['Referrer-Policy', 'no-referrer'],
  ] as const;
  return { type: 'text/html; charset=utf-8', body, headers };
}

function asData(value: unknown): PageResponse {
  return { type: JSON_TYPE, body: JSON.stringify(value), headers: [] };
}

/** Data that people also read in a terminal: indented, with a line break at the end. */
function asReadableData(value: unknown): PageResponse {
  return { type: JSON_TYPE, body: readable(value), headers: [] };
}

function readable(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function varying(response: PageResponse): PageResponse {
  return { ...response, headers: [['Vary', 'Accept'], ...response.headers] };
}

async function showReadiness(host: PageHost): Promise<PageResponse> {
  const reason = await host.ready();
  const { isReady, sentence: message } = READINESS[reason];
  if (!isReady) throw notReady(reason);
  const runbook = runbookOf(reason);
  const state = runbook === null ? {} : { degraded: reason, message, runbook };
  const headers: [string, string][] = [['Readiness', reason]];
  if (runbook !== null) headers.push(['Runbook', runbook]);
  return { ...asData({ status: 'ready', ...state }), headers };
}

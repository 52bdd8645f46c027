import { readFileSync } from 'node:fs';
import {
  type CatalogueRecord,
  catalogueRecord,
  ERROR_CODES,
  FAMILY_PATTERNS,
  isErrorCode,
} from '../../contract/errors/catalogue.ts';
import { type EventTypeRecord, eventTypeRecord, isEventType } from '../../contract/events/catalogue.ts';
import { servedDocument } from '../../contract/openapi/served.ts';
import type { JsonObject } from '../../contract/openapi/shared-schemas.ts';
import { type ErrorCode, OPERATION_IDS, type OperationId } from '../../contract/operations.ts';
import { redactCardNumbers } from '../../domain/cards/card-number.ts';
import { maskedText } from '../../domain/cards/masked-text.ts';
import { EVENT_TYPES, type EventType } from '../../domain/event.ts';
import { parseJson } from '../../domain/parse-json.ts';
import { Refusal } from '../../domain/refusal.ts';
import { READINESS, type ReadinessReason } from '../../domain/service-status.ts';
import { placeOf } from '../../installation.mjs';
import { notReady, runbookOf } from '../foundation/runbook.ts';
import { errorCodePage } from './catalogue/error-code-page.ts';
import { errorListPage } from './catalogue/error-list-page.ts';
import { eventListPage, eventTypePage } from './catalogue/event-pages.ts';
import { findGuide, guideData, guideListPage, guideMarkdown, guidePage } from './guides/guide-page.ts';
import { homePage } from './home-page.ts';
import { llmsText } from './markdown/llms-text.ts';
import { markdownOf } from './markdown/page-markdown.ts';
import { BestCompression, PageCache, storedBody } from './page-cache.ts';
import { documentOf, PAGE_HEADERS, type Page, type PageContext } from './page-layout.ts';
import { type PageResponse, prefersPage } from './page-response.ts';
import { operationPage } from './reference/operation-page.ts';
import { isServed, referencePage } from './reference/reference-page.ts';
import { nearestOf, pageSearch, searchData } from './search/page-search.ts';
import { type SearchSection, searchPage } from './search/search-page.ts';

/** The logo of the service, for a browser's tab. `console/icon.svg` is the same. */
const ICON_SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><title>Transfer Service</title><rect width="32" height="32" rx="7" fill="#218358"/><path d="M7 12h15l-4-4M25 20H10l4 4" fill="none" stroke="#ffffff" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"/></svg>\n';

/** The same logo as an icon file with one PNG of 32 by 32 pixels, for clients that request /favicon.ico. */
const ICON_ICO = Buffer.from(
  [
    'AAABAAEAICAAAAEAIADDAgAAFgAAAIlQTkcNChoKAAAADUlIRFIAAAAgAAAAIAgGAAAAc3p69AAAAnhJREFUeJzsl01oE0EUx/+z2SqJFCrU9ANKUSMo',
    'UikoNAdFPWj8uIgIQsVURFG8WQSv4tGP9qhiVRQqgiIehNRCq/hZPWjAtliMaE0J2qjED6Jt1h3fC24USdxddrO59AdhMjM7+96+ee/NGxV/s2VNTcA/',
    '+yCECAvIVkAE4QpyUkLEIeVQ9vtUN27cyRgzwvgT2LF+I3TRI4RoRBmRUqagyD3Z3v5YQYE57Rsi1PTBQ6TQN7ESAu2b5wagjQiIBngIWyKroUXxS63D',
    'a+EMb7VfRVRVBMKoECxbIe90rEB40RK0hRbDLizbN6sl1A0HhOobcfdoF6Kr1yH9JYNnrxOW11IE1Khwka6O/fn23KD1gGILHIEDPn37Sl/+GZHWFfk+',
    't3YsUdICTbVBNNdaS4RjqQlcf3wfW9tW5vtsCYos9AzGTNcKSkLy38H5wXrEj5+GU5YfPoDEu9R/nylqAQkJN5jWNNNnilqAsbMFxRj/MIkk/cwo6QNJ',
    'iy9wioIKM6OApUxYToc0VWBhXQOeHjsFpyzt3IuJj2nYVoDObbiBTyn+HlMFOJMdunQGJ6L7CmPXhu7hwu1bsIqjLWDODsSgS1k47baFV+Hh2IitU68U',
    'lqOAhXVe/HM+nCSLNM9zXrXbqgeMLzYs4QYqlafvydPqrC5gJUaTb6HpPzGedpiqSbYqhYiTf0bsrHv0chRuwLKpKJVxVAiWrUhdkGfJDDxHZli28uNK',
    '3xtdF7vhMVSE7GLZPu5ow4kXVcsWPKHRtZT5qlFGfl9Ot2cv99/kvs+YyD1/lciFms5Xqb5pioopup5Xc8EEV8hfzx+Q9F66nu/MXR0YNmZ+AQAA//+N',
    'lX1PAAAABklEQVQDAGWb8RRcoT/PAAAAAElFTkSuQmCC',
  ].join(''),
  'base64',
);

export type PageRequest = {
  readonly parameters: Readonly<Record<string, string>>;
  /** The search term, from the query parameter `q`. Empty if there is none. */
  readonly search: string;
  readonly accept: string | undefined;
  /** The URL of this service as its caller sees it: scheme, host and port. Undefined if the Host is not usable. */
  readonly url: string | undefined;
};

export type PageHost = {
  readonly version: string;
  readonly mode: 'sandbox' | 'live';
  readonly supportContact: string;
  readonly keyless: boolean;
  /** The name or host of the OpenID provider that people sign in with, if there is one. */
  readonly provider: string | undefined;
  /** Rejects with a Refusal while the service is closing. */
  readonly ready: () => Promise<ReadinessReason>;
};

/** Returns the response to a request for a page. Throws a Refusal if there is no such page. */
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
const OPENAPI = placeOf('contract/openapi.json');
/** The contract for adapters of card processors. It is the same for all services. */
const ADAPTER_OPENAPI = placeOf('contract/processors/adapter-openapi.json');

/** Returns the pages by route. They need no key and no database. */
export function createPages(host: PageHost): Readonly<Record<string, PageHandler>> {
  const cache = new PageCache();
  const openApi = openApiOf(host);
  const best = new BestCompression();
  const pages: Readonly<Record<string, (request: ParsedRequest) => PageResponse | Promise<PageResponse>>> = {
    '/': showHome,
    '/search': (request) => showResults(request, 'search'),
    '/search.json': async ({ query, host }) => asReadableData(await searchData(query, host.mode)),
    '/health/live': () => asHealth({ status: 'live' }),
    '/health/ready': () => showReadiness(host),
    '/errors': (request) => showErrors(request, request.wantsPage),
    '/errors.json': (request) => showErrors(request, false),
    '/errors.md': (request) => asPlainMarkdown('errors', request, errorListPage),
    '/errors/:code': showError,
    '/events': (request) => showEvents(request, request.wantsPage),
    '/events.json': (request) => showEvents(request, false),
    '/events.md': (request) => asPlainMarkdown('events', request, eventListPage),
    '/events/:type': showEvent,
    '/guides': (request) => showGuides(request, request.wantsPage),
    '/guides.json': (request) => showGuides(request, false),
    '/guides.md': (request) => asPlainMarkdown('guides', request, guideListPage),
    '/guides/:guide': (request) => showGuide(request, request.parameters.guide ?? ''),
    '/guides/runbook/:page': (request) => showGuide(request, `runbook/${request.parameters.page ?? ''}`),
    // Messages, headers and alerts name a page of the runbook by its path in the project. The same path must also work
    // when it is appended to the service's URL.
    '/docs/runbook/:page': (request) =>
      showGuide(request, `runbook/${request.parameters.page?.replace(/\.md$/, '') ?? ''}`),
    '/docs': showReference,
    '/docs.md': (request) => asCachedMarkdown('docs', request.context.url, request, referencePage),
    '/docs/:operation': showOperation,
    '/llms.txt': ({ context }) => ({
      type: 'text/plain; charset=utf-8',
      ...cache.ofBase('llms', context.url, () => llmsText(context)),
      headers: [],
    }),
    '/openapi.json': ({ context: { url } }) => {
      const { body, isRendered } = cache.ofBase('openapi', url, () => openApi(url));
      return { type: JSON_TYPE, body: best.of(body), isRendered, headers: [] };
    },
    '/adapter-openapi.json': ({ cache: stored }) => ({
      type: JSON_TYPE,
      ...stored.plain('adapter-openapi', () => readFileSync(ADAPTER_OPENAPI, 'utf8')),
      headers: [],
    }),
    '/favicon.ico': (request) => asIcon('image/x-icon', request, ICON_ICO),
    '/favicon.svg': (request) => asIcon('image/svg+xml', request, ICON_SVG),
  };
  return Object.fromEntries(
    Object.entries(pages).map(([url, page]) => [url, (request) => page(parseRequest(host, cache, request))]),
  );
}

const DEFAULT_URL = 'http://localhost:8080';

function parseRequest(host: PageHost, cache: PageCache, request: PageRequest): ParsedRequest {
  const { version, mode, supportContact, keyless } = host;
  const url = request.url ?? DEFAULT_URL;
  // Commands that provoke failures must not run on a live service.
  const base = mode === 'sandbox' ? url : DEFAULT_URL;
  const context = { version, mode, supportContact, base, url, needsKey: !keyless };
  // A search with a card number is not refused, but the number is not shown.
  const query = redactCardNumbers(request.search);
  return { host, parameters: request.parameters, query, wantsPage: prefersPage(request.accept), context, cache };
}

function showHome(request: ParsedRequest): PageResponse {
  if (request.wantsPage) return varying(asPage(homePage(request.context), request.context));
  const { version, mode, supportContact, provider } = request.host;
  const links = {
    transfers: '/api/v0.1/core/transfer',
    console: '/console',
    ...(provider !== undefined && { sign_in: '/console/sign-in' }),
    guides: '/guides',
    docs: '/docs',
    openapi: '/openapi.json',
    llms: '/llms.txt',
    errors: '/errors',
    events: '/events',
    live: '/health/live',
    ready: '/health/ready',
  };
  const signIn = provider === undefined ? {} : { sign_in: { provider } };
  const root = { service: 'transfer-service', version, mode, support: supportContact, ...signIn, links };
  return varying({ type: JSON_TYPE, body: storedBody(JSON.stringify(root)), headers: [] });
}

/** Shows the results of a search: in all sections, or in one. */
async function showResults({ query, context }: ParsedRequest, section: SearchSection): Promise<PageResponse> {
  return asPage(await searchPage(query, section, context), context);
}

async function showErrors(request: ParsedRequest, isPage: boolean): Promise<PageResponse> {
  const isSearch = request.query.trim() !== '';
  if (isPage && isSearch) return varying(await showResults(request, 'errors'));
  if (isPage) return varying(asPlainPage('errors', request, errorListPage));
  if (isSearch) return varying(asReadableData(await foundErrors(request.query)));
  return varying(asPlainData('errors.json', request, () => readable({ data: ERROR_CODES.map(catalogueRecord) })));
}

function showError(request: ParsedRequest): PageResponse {
  const { name, form } = formOf(request.parameters.code ?? '');
  const code = findCode(name);
  const render = (context: PageContext): Page => errorCodePage(code, context);
  if (form === 'md') return asCachedMarkdown(`errors/${code}`, request.context.base, request, render);
  if (form === 'json' || !request.wantsPage) return varying(asReadableData(catalogueRecord(code)));
  return varying(asCachedPage(`errors/${code}`, request.context.base, request, render));
}

async function foundErrors(query: string): Promise<{ readonly data: readonly CatalogueRecord[] }> {
  const { errors } = await pageSearch();
  const data = errors(query).map(({ code, family }) => ({
    ...catalogueRecord(code),
    ...(family && { family: { pattern: FAMILY_PATTERNS[family.kind], codes: [...family.codes] } }),
  }));
  return { data };
}

/** Returns the last part of a path without its suffix, and the suffix: `.json` for data, or `.md` for Markdown. */
function formOf(path: string): { readonly name: string; readonly form: 'json' | 'md' | undefined } {
  for (const form of ['json', 'md'] as const) {
    if (path.endsWith(`.${form}`)) return { name: path.slice(0, -form.length - 1), form };
  }
  return { name: path, form: undefined };
}

/** Finds the code with that name. If there is none, throws a Refusal: route_not_found. */
function findCode(name: string): ErrorCode {
  if (isErrorCode(name)) return name;
  throw new Refusal('route_not_found', `There is no error code '${maskedText(name)}'. See /errors for all codes.`);
}

async function showEvents(request: ParsedRequest, isPage: boolean): Promise<PageResponse> {
  const isSearch = request.query.trim() !== '';
  if (isPage && isSearch) return varying(await showResults(request, 'events'));
  if (isPage) return varying(asPlainPage('events', request, eventListPage));
  if (isSearch) return varying(asReadableData(await foundEvents(request)));
  return varying(asPlainData('events.json', request, () => readable({ data: EVENT_TYPES.map(eventTypeRecord) })));
}

function showEvent(request: ParsedRequest): PageResponse {
  const { name, form } = formOf(request.parameters.type ?? '');
  const type = findEventType(name);
  const render = (context: PageContext): Page => eventTypePage(type, context);
  if (form === 'md') return asCachedMarkdown(`events/${type}`, request.context.base, request, render);
  if (form === 'json' || !request.wantsPage) return varying(asReadableData(eventTypeRecord(type)));
  return varying(asCachedPage(`events/${type}`, request.context.base, request, render));
}

async function foundEvents({ query, context }: ParsedRequest): Promise<{ readonly data: readonly EventTypeRecord[] }> {
  const { others } = await pageSearch();
  const types = nearestOf(others(query, context.mode), 'event').map(({ entry }) => entry.name);
  return { data: types.filter(isEventType).map(eventTypeRecord) };
}

/** Finds the type with that name. If there is none, throws a Refusal: route_not_found. */
function findEventType(name: string): EventType {
  if (isEventType(name)) return name;
  throw new Refusal('route_not_found', `There is no type of event '${maskedText(name)}'. See /events for all types.`);
}

/** Shows the first page of the API reference or, for a search, the matching operations and fields. */
function showReference(request: ParsedRequest): PageResponse | Promise<PageResponse> {
  if (request.query.trim() !== '') return showResults(request, 'docs');
  return asCachedPage('docs', request.context.url, request, referencePage);
}

function showOperation(request: ParsedRequest): PageResponse {
  const path = request.parameters.operation ?? '';
  const id = findOperation(path.replace(/\.md$/, ''), request.context.mode);
  const show = path.endsWith('.md') ? asCachedMarkdown : asCachedPage;
  return show(`docs/${id}`, request.context.url, request, (context) => operationPage(id, context));
}

/** Finds the operation of a path. If the service has no operation with that name, throws a Refusal: route_not_found. */
function findOperation(name: string, mode: 'sandbox' | 'live'): OperationId {
  const id = OPERATION_IDS.find((own) => own === name);
  if (id !== undefined && isServed(id, mode)) return id;
  throw new Refusal('route_not_found', `There is no operation '${maskedText(name)}'. See /docs for all operations.`);
}

function showGuides(request: ParsedRequest, isPage: boolean): PageResponse | Promise<PageResponse> {
  if (isPage && request.query.trim() !== '') return showResults(request, 'guides').then(varying);
  if (isPage) return varying(asPlainPage('guides', request, guideListPage));
  return varying(asReadableData(guideData()));
}

/** Shows a guide: as a page for browsers, and as Markdown for other clients. */
function showGuide(request: ParsedRequest, name: string): PageResponse {
  const { guide, isData } = findGuide(name);
  if (!isData && request.wantsPage) {
    return varying(
      asCachedPage(`guides/${guide.slug}`, request.context.base, request, (context) => guidePage(guide, context)),
    );
  }
  return varying(asMarkdown(request.cache.plain(`guides/${guide.slug}.md`, () => guideMarkdown(guide))));
}

const URL_PLACE = 'https://url.invalid';

/**
 * Returns a function that creates the OpenAPI document as text, with the URL of this service. The document is composed only once,
 * because that takes a long time.
 */
function openApiOf({ mode, keyless }: PageHost): (url: string) => string {
  let text: string | undefined;
  return (url) => {
    // Without white space, because the document is for tools. This makes it a quarter smaller.
    text ??= JSON.stringify(
      servedDocument(parseJson(readFileSync(OPENAPI, 'utf8')) as JsonObject, {
        url: URL_PLACE,
        mode,
        needsKey: !keyless,
      }),
    );
    return text.replace(JSON.stringify(URL_PLACE), () => JSON.stringify(url));
  };
}

/** Lets browsers cache the icon for 30 days. Otherwise they would request it with every page. */
const ICON_CACHE_CONTROL = 'public, max-age=2592000';

function asIcon(type: 'image/x-icon' | 'image/svg+xml', { cache }: ParsedRequest, icon: string | Buffer): PageResponse {
  return { type, ...cache.plain(type, () => icon), headers: [], cacheControl: ICON_CACHE_CONTROL };
}

/** Returns a page that depends only on `base`, which is one of the URLs of the context. */
function asCachedPage(
  name: string,
  base: string,
  { context, cache }: ParsedRequest,
  render: (context: PageContext) => Page,
): PageResponse {
  return asHtml(cache.ofBase(name, base, () => documentOf(render(context), context, `/${name}.md`)));
}

function asPlainPage(name: string, { context, cache }: ParsedRequest, render: () => Page): PageResponse {
  return asHtml(cache.plain(name, () => documentOf(render(), context, `/${name}.md`)));
}

/** Returns the Markdown of a page that depends only on `base`. */
function asCachedMarkdown(
  name: string,
  base: string,
  { context, cache }: ParsedRequest,
  render: (context: PageContext) => Page,
): PageResponse {
  return asMarkdown(cache.ofBase(`${name}.md`, base, () => markdownOf(render(context))));
}

function asPlainMarkdown(name: string, { cache }: ParsedRequest, render: () => Page): PageResponse {
  return asMarkdown(cache.plain(`${name}.md`, () => markdownOf(render())));
}

function asMarkdown(rendered: Pick<PageResponse, 'body' | 'isRendered'>): PageResponse {
  return { type: 'text/markdown; charset=utf-8', ...rendered, headers: [] };
}

function asPlainData(name: string, { cache }: ParsedRequest, render: () => string): PageResponse {
  return { type: JSON_TYPE, ...cache.plain(name, render), headers: [] };
}

function asPage(page: Page, context: PageContext): PageResponse {
  return asHtml({ body: storedBody(documentOf(page, context)) });
}

function asHtml(rendered: Pick<PageResponse, 'body' | 'isRendered'>): PageResponse {
  return { type: 'text/html; charset=utf-8', ...rendered, headers: PAGE_HEADERS };
}

/** Returns data that people may read in a terminal: indented, with a line break at the end. */
function asReadableData(value: unknown): PageResponse {
  return { type: JSON_TYPE, body: storedBody(readable(value)), headers: [] };
}

function readable(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function varying(response: PageResponse): PageResponse {
  return { ...response, varies: true };
}

/** Returns the current state of the service, which must not be cached. */
function asHealth(value: unknown): PageResponse {
  return { type: JSON_TYPE, body: JSON.stringify(value), headers: [] };
}

async function showReadiness(host: PageHost): Promise<PageResponse> {
  const reason = await host.ready();
  const { isReady, sentence: message } = READINESS[reason];
  if (!isReady) throw notReady(reason);
  const runbook = runbookOf(reason);
  const state = runbook === null ? {} : { degraded: reason, message, runbook };
  const headers: [string, string][] = [['Readiness', reason]];
  if (runbook !== null) headers.push(['Runbook', runbook]);
  return { ...asHealth({ status: 'ready', ...state }), headers };
}

import type { StoredBody } from './page-cache.ts';
import { type Html, html } from './page-html.ts';
import { breakable, type Page } from './page-layout.ts';

export type PageResponse = {
  readonly type:
    | 'text/html; charset=utf-8'
    | 'text/markdown; charset=utf-8'
    | 'text/plain; charset=utf-8'
    | 'application/json; charset=utf-8'
    | 'image/svg+xml'
    | 'image/x-icon';
  /** Content that clients may cache, with its entity tag, or a string that must not be cached. */
  readonly body: Promise<StoredBody> | string;
  /** Whether a body that is stored for the URL of the service had to be rendered for this request. */
  readonly isRendered?: boolean;
  /** The Cache-Control header of a body that clients may cache. By default, clients must revalidate it before each use. */
  readonly cacheControl?: string;
  /** Whether the Accept header selected this content. */
  readonly varies?: boolean;
  readonly headers: readonly (readonly [name: string, value: string])[];
};

/**
 * Returns whether the Accept header prefers HTML to JSON, as it does in browsers. A header that accepts everything, as curl and
 * most clients send it, gets JSON.
 */
export function prefersPage(accept: string | undefined): boolean {
  return prefersToJson(accept, ['text/html', 'application/xhtml+xml']);
}

/** Returns whether the Accept header names one of the media types, or its group, with at least the weight of JSON. */
export function prefersToJson(accept: string | undefined, mediaTypes: readonly string[]): boolean {
  const ranges = (accept ?? '').toLowerCase().split(',').map(readRange);
  const weights = mediaTypes.map((type) => weightOf([type, groupOf(type)], ranges) ?? 0);
  const weight = Math.max(...weights);
  return weight > 0 && weight >= (weightOf([JSON_TYPE, groupOf(JSON_TYPE), '*/*'], ranges) ?? 0);
}

const JSON_TYPE = 'application/json';

type MediaRange = ReturnType<typeof readRange>;

/**
 * Returns the weight of the first name that the header contains. The names are ordered from most to least specific (RFC 9110,
 * 12.5.1).
 */
function weightOf(names: readonly string[], ranges: readonly MediaRange[]): number | undefined {
  const found = names.map((name) => ranges.filter(({ type }) => type === name)).find(({ length }) => length > 0);
  return found && Math.max(...found.map(({ weight }) => weight));
}

function groupOf(mediaType: string): string {
  return mediaType.replace(/\/.*$/, '/*');
}

function readRange(range: string): { readonly type: string; readonly weight: number } {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  if (weight === undefined) return { type, weight: 1 };
  return { type, weight: /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight) : 0 };
}

export function notFoundPage(path: string, message: string): Page {
  // The first sentence of the page says it already, in the words of a reader.
  const reason = message.replace(/^There is no route at this path\. ?/, '');
  return {
    title: 'Page not found',
    section: 'home',
    description: 'There is no page at this address.',
    data: undefined,
    content: html`<h1>Page not found</h1>
<p class="lead">There is no page at <code>${breakable(path)}</code>.</p>
<p>${reason}</p>
<h2>Where next</h2>
<dl class="says">
${PLACES.map(place)}</dl>
<p class="quiet">Programs get an error record here, with the code <a href="/errors/route_not_found">route_not_found</a>.</p>`,
  };
}

const PLACES = [
  ['/', 'Welcome', 'The first page of this service.'],
  ['/guides', 'Guides', 'How to call, run and support the service.'],
  ['/docs', 'API reference', 'All operations with their fields, examples and errors.'],
  ['/errors', 'Errors', 'All error codes: what each one means, and how to resolve it.'],
  ['/events', 'Events', 'All types of events.'],
  ['/console', 'Console', 'Find out what happened to a request, a transfer or a card.'],
] as const;

function place([path, name, purpose]: (typeof PLACES)[number]): Html {
  return html`<div><dt><a href="${path}">${name}</a></dt><dd>${purpose}</dd></div>
`;
}

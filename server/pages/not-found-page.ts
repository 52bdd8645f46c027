import { type Html, html } from './page-html.ts';
import { breakable, type Page } from './page-layout.ts';

export function notFoundPage(path: string, message: string): Page {
  return {
    title: 'Page not found',
    section: 'home',
    description: 'There is no page at this address.',
    data: undefined,
    content: html`<h1>Page not found</h1>
<p class="lead">There is no page at <code>${breakable(path)}</code></p>
<p>${message}</p>
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

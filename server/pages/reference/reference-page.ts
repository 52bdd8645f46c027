import { TYPE_GUIDES } from '../../../contract/errors/catalogue.ts';
import { ERROR_TYPES } from '../../../contract/errors/record.ts';
import { curlOf, exampleOf } from '../../../contract/examples.ts';
import { REQUEST_HEADERS } from '../../../contract/openapi/headers.ts';
import { HEALTH_PATHS, HEALTH_SECTION } from '../../../contract/openapi/health-paths.ts';
import { OPERATIONS, type OperationId, type Section } from '../../../contract/operations.ts';
import { type Html, html } from '../page-html.ts';
import { anchorOf, breakable, listing, type Page, type PageContext, withCode } from '../page-layout.ts';
import { filterSections, sectionsOf, textOf } from './operation-filter.ts';
import { operationSection } from './operation-section.ts';

const { IdempotencyKey, ProgramId, ClientRequestId, SandboxProvoke } = REQUEST_HEADERS;

const CONTENT_TYPE =
  '`application/json`, or for a PATCH `application/merge-patch+json`. Can be omitted, as in the examples, where curl says ' +
  'that the body is a form. Some programs send `text/plain` unless told otherwise, which is refused.';

/** The API reference, generated from the definitions of the operations; for a query, the operations that match it. */
export function referencePage(context: PageContext, query = ''): Page {
  const all = sectionsOf(context.mode);
  const isSearch = query.trim() !== '';
  const shown = isSearch ? filterSections(all, query) : all;
  return {
    title: isSearch ? `API reference: ${query.slice(0, 60)}` : 'API reference',
    section: 'docs',
    description:
      'All operations of the Transfer Service: fields, responses, examples, and errors in order of precedence.',
    data: '/openapi.json',
    content: html`<div class="docs">
${navigation(shown, query)}
<div class="body">
<h1>API reference</h1>
<p class="lead">All operations with their fields, responses, examples, and errors in order of precedence. For tools: <a href="/openapi.json">/openapi.json</a>, an OpenAPI 3.1 document.</p>
${isSearch ? results(shown, all, query) : conventions(context)}
${shown.length > 0 && index(shown)}
${!isSearch && health(context)}
${shown.map((section) => sectionOf(section, context))}
</div>
</div>`,
  };
}

function navigation(sections: readonly Section[], query: string): Html {
  const isSearch = query.trim() !== '';
  return html`<div class="side">
<search><form action="/docs" method="get"${!isSearch && html` data-filter`}>
<label for="q">Filter the operations</label>
<div class="filter"><input id="q" name="q" type="search" value="${query}" maxlength="200" placeholder="such as hold" autocomplete="off" autocapitalize="off" spellcheck="false"><button type="submit">Filter</button></div>
</form></search>
<details class="menu"><summary>Contents</summary>
<nav aria-label="Operations">
${!isSearch && html`<p><a href="#conventions">Conventions</a></p>`}
${sections.length > 0 && html`<p><a href="#index">Index by path</a></p>`}
${sections.map(
  ({ title, operations }) => html`<section data-group><p><a href="#${anchorOf(title)}">${title}</a></p>
<ul>${operations.map(
    (id) => html`<li data-of="${id}"><a href="#${id}" title="${OPERATIONS[id].summary}">${breakable(id)}</a></li>
`,
  )}</ul></section>
`,
)}
</nav></details>
</div>`;
}

function results(shown: readonly Section[], all: readonly Section[], query: string): Html {
  const count = (sections: readonly Section[]) => sections.flatMap(({ operations }) => operations).length;
  const found = count(shown);
  if (found === 0) {
    return html`<h2>Nothing found</h2>
<p>No operation contains ${query}. Try other words, or see <a href="/docs">all ${count(all)} operations</a>, <a href="/errors?q=${encodeURIComponent(query.toWellFormed())}">errors</a> or <a href="/events?q=${encodeURIComponent(query.toWellFormed())}">events</a>.</p>`;
  }
  return html`<p>${found} of ${count(all)} operations ${found === 1 ? 'matches' : 'match'} ${query}. <a href="/docs">Show all operations</a>.</p>`;
}

function conventions({ url, mode, needsKey }: PageContext): Html {
  const first = curlOf({ ...exampleOf('create_transfer'), headers: {} }, url, '', needsKey);
  const authorization = needsKey
    ? '“Bearer” and an API key. The examples take it from the variable `TRANSFER_SERVICE_KEY` of the shell.'
    : '“Bearer” and an API key. This sandbox requires none.';
  const headers: readonly { readonly name: string; readonly description: string }[] = [
    { name: 'Authorization', description: authorization },
    { name: 'Content-Type', description: CONTENT_TYPE },
    ...[IdempotencyKey, ProgramId, ClientRequestId],
    ...(mode === 'sandbox' ? [SandboxProvoke] : []),
  ];
  return html`<section class="group" data-unfiltered><h2 id="conventions">Conventions</h2>
<p>Requests and responses are JSON. Exports are comma-separated values. An amount is a whole number of the currency's minor unit: 8550 is 85.50 USD. This request loads 10.00 USD onto a card${mode === 'sandbox' && ' of the sandbox'}:</p>
${listing('Request', first)}
<h3>Request headers</h3>
<dl class="says">${headers.map(
    ({ name, description }) => html`<div><dt><code>${name}</code></dt><dd>${withCode(description)}</dd></div>
`,
  )}</dl>
<h3>Errors</h3>
<p>Every error response has the same four fields: <code>Message</code>, <code>Status</code>, <code>Code</code> and <code>Type</code>. See <a href="/errors">all error codes</a>.</p>
<dl class="says">${ERROR_TYPES.map(
    (
      type,
    ) => html`<div><dt><a href="/errors#${anchorOf(type)}">${type}</a></dt><dd>${TYPE_GUIDES[type].cause} ${TYPE_GUIDES[type].resolution}</dd></div>
`,
  )}</dl>
<h3>Events</h3>
<p>Events announce what happens, also without a request of yours, such as a hold that expires. See <a href="/events">all events</a>.</p>
</section>`;
}

/** Every operation by path and method, for those who know the request and look for its description. */
function index(sections: readonly Section[]): Html {
  const ids = sections.flatMap(({ operations }) => operations);
  const keyOf = (id: OperationId) => `${OPERATIONS[id].path} ${OPERATIONS[id].method}`;
  const sorted = ids.toSorted((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1));
  return html`<section class="group" data-group><h2 id="index">Index by path</h2>
<ul class="index">${sorted.map((id) => {
    const { method, path, summary } = OPERATIONS[id];
    return html`<li data-of="${id}" data-find="${textOf(id)}"><b>${method}</b> <a href="#${id}">${breakable(path)}</a> <span>${summary}</span></li>
`;
  })}</ul>
</section>`;
}

function health({ url }: PageContext): Html {
  const paths = Object.keys(HEALTH_PATHS);
  return html`<section class="group" data-unfiltered><h2 id="health">${HEALTH_SECTION.title}</h2>
<p>${HEALTH_SECTION.description}</p>
<dl class="says"><div><dt><code>GET /health/live</code></dt><dd>Responds with 200 as long as the process runs.</dd></div>
<div><dt><code>GET /health/ready</code></dt><dd>Responds with 200 while every operation can be served, otherwise with 503 and the error record <a href="/errors/service_unavailable"><code>service_unavailable</code></a>. The header <code>Readiness</code> names the state.</dd></div></dl>
${listing('Requests', paths.map((path) => `curl -i ${url}${path}`).join('\n'))}
</section>`;
}

function sectionOf(section: Section, context: PageContext): Html {
  return html`<section class="group" data-group><h2 id="${anchorOf(section.title)}">${section.title}</h2>
<p>${section.description}</p>
${section.operations.map((id) => operationSection(id, context))}
</section>
`;
}

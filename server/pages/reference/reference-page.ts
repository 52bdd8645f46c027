import { TYPE_GUIDES } from '../../../contract/errors/catalogue.ts';
import { ERROR_TYPES } from '../../../contract/errors/record.ts';
import { curlOf, exampleOf } from '../../../contract/examples.ts';
import { REQUEST_HEADERS } from '../../../contract/openapi/headers.ts';
import { HEALTH_PATHS, HEALTH_SECTION } from '../../../contract/openapi/health-paths.ts';
import { OPERATIONS, type OperationId, SECTIONS, type Section } from '../../../contract/operations.ts';
import { type Html, html } from '../page-html.ts';
import { anchorOf, breakable, listing, type Page, type PageContext, withCode } from '../page-layout.ts';

const { IdempotencyKey, ProgramId, CaseId, ClientRequestId, SandboxProvoke } = REQUEST_HEADERS;

const CONTENT_TYPE =
  '`application/json`, or for a PATCH `application/merge-patch+json`. Not needed with curl, as in the examples. Some clients ' +
  'send `text/plain` by default, which is refused.';

/** Returns the first page of the reference: the parts that all requests have in common, and a list of the operations. */
export function referencePage(context: PageContext): Page {
  const sections = sectionsOf(context.mode);
  return {
    title: 'API reference',
    section: 'docs',
    description: 'All operations of the Transfer Service: fields, examples, responses and errors.',
    data: '/openapi.json',
    content: html`<div class="docs">
${navigation(sections)}
<div class="body">
<h1>API reference</h1>
<p class="lead">Every operation has a page with its fields, its errors, and an example for curl, TypeScript, Python and Go. For tools: <a href="/openapi.json">/openapi.json</a>, an OpenAPI 3.1 document.</p>
${conventions(context)}
${sections.map(sectionOf)}
${health(context)}
</div>
</div>`,
  };
}

function conventions({ url, mode, needsKey }: PageContext): Html {
  const first = curlOf({ ...exampleOf('create_transfer'), headers: {} }, url, '', needsKey);
  const authorization = needsKey
    ? '“Bearer” and an API key. The examples take it from the variable `TRANSFER_SERVICE_KEY` of the shell.'
    : '“Bearer” and an API key. This sandbox requires none.';
  const headers: readonly { readonly name: string; readonly description: string }[] = [
    { name: 'Authorization', description: authorization },
    { name: 'Content-Type', description: CONTENT_TYPE },
    ...[IdempotencyKey, ProgramId, CaseId, ClientRequestId],
    ...(mode === 'sandbox' ? [SandboxProvoke] : []),
  ];
  return html`<section class="group"><h2 id="conventions">Conventions</h2>
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
<p>Events announce what happens, even without your request, such as a hold that expires. See <a href="/events">all events</a>.</p>
</section>`;
}

function health({ url }: PageContext): Html {
  const paths = Object.keys(HEALTH_PATHS);
  return html`<section class="group"><h2 id="health">${HEALTH_SECTION.title}</h2>
<p>${HEALTH_SECTION.description}</p>
<dl class="says"><div><dt><code>GET /health/live</code></dt><dd>Responds with 200 as long as the process runs.</dd></div>
<div><dt><code>GET /health/ready</code></dt><dd>Responds with 200 while every operation can be served, otherwise with 503 and the error record <a href="/errors/service_unavailable"><code>service_unavailable</code></a>. The header <code>Readiness</code> names the state.</dd></div></dl>
${listing('Requests', paths.map((path) => `curl -i ${url}${path}`).join('\n'))}
</section>`;
}

/** Renders the operations of a section. Their ids serve as anchors for links of earlier versions. */
function sectionOf({ title, description, operations }: Section): Html {
  return html`<section class="group" aria-labelledby="${anchorOf(title)}"><h2 id="${anchorOf(title)}">${title}</h2>
<p>${description}</p>
<ul class="index">${operations.map((id) => {
    const { method, path, summary } = OPERATIONS[id];
    return html`<li id="${id}"><a href="/docs/${id}">${summary}</a> <span><b>${method}</b> <code>${breakable(path)}</code></span></li>
`;
  })}</ul>
</section>
`;
}

/** Returns the sections of the reference, with the operations that a service has. Sandbox operations appear only in a sandbox. */
export function sectionsOf(mode: 'sandbox' | 'live'): readonly Section[] {
  return SECTIONS.map((section) => ({
    ...section,
    operations: section.operations.filter((id) => isServed(id, mode)),
  })).filter(({ operations }) => operations.length > 0);
}

export function isServed(id: OperationId, mode: 'sandbox' | 'live'): boolean {
  return mode === 'sandbox' || OPERATIONS[id].reach !== 'sandbox';
}

/** Renders the contents of the reference, which are next to each of its pages. `current` is the operation of the page. */
export function navigation(sections: readonly Section[], current?: OperationId): Html {
  return html`<div class="side">
<p><a href="/docs"${current === undefined && html` aria-current="page"`}>All operations</a></p>
<details class="menu"><summary>Contents</summary>
<nav aria-label="Operations">
${sections.map(
  ({ title, operations }) => html`<section><p><a href="/docs#${anchorOf(title)}">${title}</a></p>
<ul>${operations.map(
    (
      id,
    ) => html`<li><a href="/docs/${id}" title="${OPERATIONS[id].summary}"${id === current && html` aria-current="page"`}>${breakable(id)}</a></li>
`,
  )}</ul></section>
`,
)}
</nav></details>
</div>`;
}

import { ERRORS, TYPE_GUIDES } from '../../contract/errors/catalogue.ts';
import { ERROR_TYPES } from '../../contract/errors/record.ts';
import { curlOf, exampleFile, exampleOf, exampleReply, exampleStream } from '../../contract/examples.ts';
import { REQUEST_HEADERS } from '../../contract/openapi/headers.ts';
import { parametersOf } from '../../contract/operation.ts';
import { OPERATIONS, type OperationId, precedenceOf, SECTIONS, type Section } from '../../contract/operations.ts';
import { fields, withCode } from './page-fields.ts';
import { type Html, html } from './page-html.ts';
import { anchorOf, breakable, listing, type Page, type PageContext } from './page-layout.ts';

const { IdempotencyKey, ProgramId, ClientRequestId, SandboxProvoke } = REQUEST_HEADERS;
const HEADERS: readonly { readonly name: string; readonly description: string }[] = [
  { name: 'Authorization', description: '“Bearer” and an API key. A local sandbox requires none.' },
  ...[IdempotencyKey, ProgramId, ClientRequestId, SandboxProvoke],
];

const KEY_USE: Readonly<Record<'none' | 'optional' | 'required', string>> = {
  none: 'not supported',
  optional: 'optional',
  required: 'required',
};

/** The API reference, generated from the definitions of the operations. */
export function referencePage(context: PageContext): Page {
  return {
    title: 'API reference',
    section: 'docs',
    description:
      'All operations of the Transfer Service: fields, responses, examples, and errors in order of precedence.',
    data: '/openapi.json',
    content: html`<h1>API reference</h1>
<p class="lead">All operations with their fields, responses, examples, and errors in order of precedence.</p>
<nav class="contents" aria-label="Operations">${SECTIONS.map(contents)}</nav>
${conventions(context)}
${SECTIONS.map((section) => sectionOf(section, context))}`,
  };
}

function contents(section: Section): Html {
  const links = section.operations.map(
    (id) => html`<li><a href="#${id}">${OPERATIONS[id].summary}</a></li>
`,
  );
  return html`<section><h2><a href="#${anchorOf(section.title)}">${section.title}</a></h2><ul>${links}</ul></section>
`;
}

function conventions({ base }: PageContext): Html {
  const first = curlOf({ ...exampleOf('create_transfer'), headers: {} }, base);
  return html`<section class="group"><h2 id="conventions">Conventions</h2>
<p>Requests and responses are JSON. Exports are comma-separated values. An amount is a whole number of the currency's minor unit: 8550 is 85.50 USD. This request loads 10.00 USD onto a card of the sandbox:</p>
${listing('Request', first)}
<h3>Request headers</h3>
<dl class="says">${HEADERS.map(
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

function sectionOf(section: Section, context: PageContext): Html {
  return html`<section class="group"><h2 id="${anchorOf(section.title)}">${section.title}</h2>
<p>${section.description}</p>
${section.operations.map((id) => operation(id, context))}
</section>
`;
}

function operation(id: OperationId, { base }: PageContext): Html {
  const { method, path, summary, params, body, query } = OPERATIONS[id];
  return html`<section class="operation" aria-labelledby="${id}">
<h3 id="${id}">${summary}</h3>
<p class="route"><b>${method}</b>${breakable(path)}</p>
${facts(id)}
${parametersOf(path).length > 0 && html`<h4>Path parameters</h4>${fields(params)}`}
${query !== undefined && html`<h4>Query parameters</h4>${fields(query)}`}
${body !== undefined && html`<h4>Body</h4>${fields(body)}`}
<h4>Example</h4>
${listing('Request', curlOf(exampleOf(id), base))}
${reply(id)}
<h4>Errors in order of precedence</h4>
<ol class="precedence">${precedenceOf(id).map(
    (
      code,
    ) => html`<li${OPERATIONS[id].errors.some((own) => own === code) && html` class="own"`}><span class="number">${ERRORS[code].status}</span> <a href="/errors/${code}">${breakable(code)}</a></li>
`,
  )}</ol>
</section>`;
}

function reply(id: OperationId): Html {
  const { status, csv, stream, reply: shape } = OPERATIONS[id];
  const title = `${status} ${status === 201 ? 'Created' : 'OK'}`;
  if (csv !== true) {
    return html`<details><summary>Response: ${status}</summary>
${listing(title, JSON.stringify(exampleReply(id), null, 2))}
${fields(shape)}
${
  stream !== undefined &&
  html`<p>With <code>Accept: text/event-stream</code>, a stream of Server-Sent Events:</p>
${listing(`${title}, text/event-stream`, exampleStream(id))}`
}
</details>`;
  }
  return html`<details><summary>Response: ${status}, comma-separated values</summary>
<p>The first line contains the column names, and each other line a record. Null values are empty.</p>
${listing(`${title}, text/csv`, exampleFile(id))}
${fields(shape)}
</details>`;
}

function facts(id: OperationId): Html {
  const { scope, reach, idempotency } = OPERATIONS[id];
  const all: readonly (readonly [string, string | Html])[] = [
    ['Operation', html`<code>${breakable(id)}</code>`],
    ['Required scope', scope === null ? 'none' : html`<code>${scope}</code>`],
    ['Card program', reach === 'program' ? 'required' : 'not used'],
    ['Idempotency-Key', KEY_USE[idempotency]],
  ];
  return html`<dl class="facts">${all.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>
`,
  )}</dl>`;
}

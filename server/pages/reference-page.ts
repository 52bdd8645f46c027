import { ERRORS, TYPE_GUIDES } from '../../contract/errors/catalogue.ts';
import { ERROR_TYPES } from '../../contract/errors/record.ts';
import { curlOf, exampleFile, exampleOf, exampleReply } from '../../contract/examples.ts';
import { type Field, fieldsOf } from '../../contract/openapi/fields.ts';
import { parametersOf } from '../../contract/operation.ts';
import { OPERATIONS, type OperationId, precedenceOf, SECTIONS, type Section } from '../../contract/operations.ts';
import { type Html, html } from './page-html.ts';
import { anchorOf, breakable, listing, type Page, type PageSetting } from './page-layout.ts';

const REQUEST_HEADERS: readonly (readonly [name: string, says: string])[] = [
  ['Authorization', '“Bearer” and an API key. A sandbox on this machine takes requests without one.'],
  [
    'Idempotency-Key',
    'A name of your own for the request, 1 to 255 visible characters. Sent again with the same key, the same request gets its first answer again, and money moves once.',
  ],
  [
    'Program-Id',
    "The card program to act in. A program's key names it already; an operator's key must say it; a sandbox without keys acts in its demo program.",
  ],
  ['Request-Id', 'Your own id for the request; it comes back as Client-Request-Id.'],
  ['Sandbox-Provoke', 'In the sandbox: an error code of the operation, which is then the answer.'],
];

const KEY_USE: Readonly<Record<'none' | 'optional' | 'required', string>> = {
  none: 'not used',
  optional: 'optional',
  required: 'required',
};

/** The API reference, made from the table of operations. */
export function referencePage(setting: PageSetting): Page {
  return {
    title: 'API reference',
    section: 'docs',
    description:
      'Every operation of the Transfer Service: its fields, its reply and its errors in order of precedence.',
    data: '/openapi.json',
    content: html`<h1>API reference</h1>
<p class="lead">Every operation, with its fields and limits, what it answers, and every error it can answer with, in the order in which they are looked at.</p>
<nav class="contents" aria-label="Operations">${SECTIONS.map(contents)}</nav>
${conventions(setting)}
${SECTIONS.map((section) => sectionOf(section, setting))}`,
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

function conventions({ base }: PageSetting): Html {
  const first = curlOf({ ...exampleOf('create_transfer'), headers: {} }, base);
  return html`<section class="group"><h2 id="conventions">Before you begin</h2>
<p>Requests and replies are JSON, exports comma-separated values. An amount is a whole number of the currency's minor unit: 8550 is 85.50 USD. This loads ten dollars onto a card of the sandbox:</p>
${listing('A first transfer', first)}
<h3>Headers of a request</h3>
<dl class="says">${REQUEST_HEADERS.map(
    ([name, says]) => html`<div><dt><code>${name}</code></dt><dd>${says}</dd></div>
`,
  )}</dl>
<h3>When it does not work</h3>
<p>Every answer that is not a success has the same four members: <code>Message</code>, <code>Status</code>, <code>Code</code> and <code>Type</code>. <a href="/errors">Each code is explained</a>.</p>
<dl class="says">${ERROR_TYPES.map(
    (
      type,
    ) => html`<div><dt><a href="/errors#${anchorOf(type)}">${type}</a></dt><dd>${TYPE_GUIDES[type].cause} ${TYPE_GUIDES[type].resolution}</dd></div>
`,
  )}</dl>
</section>`;
}

function sectionOf(section: Section, setting: PageSetting): Html {
  return html`<section class="group"><h2 id="${anchorOf(section.title)}">${section.title}</h2>
<p>${section.description}</p>
${section.operations.map((id) => operation(id, setting))}
</section>
`;
}

function operation(id: OperationId, { base }: PageSetting): Html {
  const { method, path, summary, params, body, query } = OPERATIONS[id];
  return html`<section class="operation" aria-labelledby="${id}">
<h3 id="${id}">${summary}</h3>
<p class="route"><b>${method}</b>${breakable(path)}</p>
${facts(id)}
${parametersOf(path).length > 0 && html`<h4>In the path</h4>${fields(params)}`}
${query !== undefined && html`<h4>In the query</h4>${fields(query)}`}
${body !== undefined && html`<h4>In the body</h4>${fields(body)}`}
<h4>Example</h4>
${listing('Request', curlOf(exampleOf(id), base))}
${reply(id)}
<h4>Errors, the first that applies is the answer</h4>
<ol class="precedence">${precedenceOf(id).map(
    (
      code,
    ) => html`<li${OPERATIONS[id].errors.some((own) => own === code) && html` class="own"`}><span class="number">${ERRORS[code].status}</span> <a href="/errors/${code}">${breakable(code)}</a></li>
`,
  )}</ol>
</section>`;
}

function reply(id: OperationId): Html {
  const { status, csv, reply: shape } = OPERATIONS[id];
  const title = `${status} ${status === 201 ? 'Created' : 'OK'}`;
  if (csv !== true) {
    return html`<details><summary>Reply: ${status}, with an example</summary>
${listing(title, JSON.stringify(exampleReply(id), null, 2))}
${fields(shape)}
</details>`;
  }
  return html`<details><summary>Reply: ${status}, a file of comma-separated values, with an example</summary>
<p>The first line names the columns; then each record has a line. What is null is empty.</p>
${listing(`${title}, text/csv`, exampleFile(id))}
${fields(shape)}
</details>`;
}

function facts(id: OperationId): Html {
  const { scope, reach, idempotency } = OPERATIONS[id];
  const all: readonly (readonly [string, string | Html])[] = [
    ['Operation', html`<code>${breakable(id)}</code>`],
    ['Scope of the key', html`<code>${scope}</code>`],
    ['Acts in one card program', reach === 'program' ? 'yes' : 'no'],
    ['Idempotency-Key', KEY_USE[idempotency]],
  ];
  return html`<dl class="facts">${all.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>
`,
  )}</dl>`;
}

function fields(schema: object): Html {
  return html`<dl class="says">${fieldsOf(schema).flatMap((field) => entries(field, ''))}</dl>`;
}

function entries({ name, type, required, limits, description, inner }: Field, above: string): readonly Html[] {
  const path = above !== '' && html`<span class="above">${breakable(above)}</span>`;
  const own = html`<div${above !== '' && html` class="inner"`}><dt><code>${path}${breakable(name)}</code>${required && html` <span class="required">required</span>`}
<span class="type">${limits === '' ? type : `${type}, ${limits}`}</span></dt><dd>${description}</dd></div>
`;
  return [own, ...inner.flatMap((field) => entries(field, `${above}${name}.`))];
}

import { STATUS_CODES } from 'node:http';
import { goOf, pythonOf, typescriptOf } from '../../../contract/clients/example-code.ts';
import { isOfClients } from '../../../contract/clients/sdk-methods.ts';
import { ERRORS } from '../../../contract/errors/catalogue.ts';
import { curlOf, exampleFile, exampleOf, exampleReply, exampleStream } from '../../../contract/examples.ts';
import { parametersOf } from '../../../contract/operation.ts';
import { type ErrorCode, OPERATIONS, type OperationId, precedenceOf } from '../../../contract/operations.ts';
import { type Html, html } from '../page-html.ts';
import { anchorOf, breakable, fields, listing, type Page, type PageContext } from '../page-layout.ts';
import { navigation, sectionsOf } from './reference-page.ts';

const KEY_USE: Readonly<Record<'none' | 'optional' | 'required', string>> = {
  none: 'not supported',
  optional: 'optional',
  required: 'required',
};

/** Returns the page of an operation: its description on the left, a request and its response on the right. */
export function operationPage(id: OperationId, context: PageContext): Page {
  const { method, path, summary, params, body, query } = OPERATIONS[id];
  const sections = sectionsOf(context.mode);
  const section = sections.find(({ operations }) => operations.includes(id));
  return {
    title: id,
    section: 'docs',
    description: `${id}: ${summary}. ${method} ${path}`,
    data: '/openapi.json',
    content: html`<div class="docs">
${navigation(sections, id)}
<article class="body operation">
<nav class="trail" aria-label="Breadcrumb"><ol><li><a href="/docs">API reference</a></li>${
      section !== undefined && html`<li><a href="/docs#${anchorOf(section.title)}">${section.title}</a></li>`
    }</ol></nav>
<h1>${summary}</h1>
<p class="route"><b>${method}</b>${breakable(path)}</p>
<div class="columns">
<div class="example">
${request(id, context)}
${response(id)}
</div>
<div class="text">
${facts(id, context)}
${parametersOf(path).length > 0 && html`<h2>Path parameters</h2>${fields(params, 'path')}`}
${query !== undefined && html`<h2>Query parameters</h2>${fields(query, 'query')}`}
${body !== undefined && html`<h2>Body</h2>${fields(body, 'body')}`}
${replyFields(id)}
<h2>Errors, in the order checked</h2>
<p>If several apply, you get the first. Those in bold are decided by this operation.</p>
<ol class="precedence">${precedenceOf(id).map(
      (
        code,
      ) => html`<li><span class="number">${ERRORS[code].status}</span> ${isOwn(id, code) ? html`<strong>${linkTo(code)}</strong>` : linkTo(code)}</li>
`,
    )}</ol>
</div>
</div>
${adjacent(id, context)}
</article>
</div>`,
  };
}

function isOwn(id: OperationId, code: ErrorCode): boolean {
  return OPERATIONS[id].errors.some((own) => own === code);
}

function linkTo(code: ErrorCode): Html {
  return html`<a href="/errors/${code}">${breakable(code)}</a>`;
}

/** Renders the request in each language. The stylesheet shows only the language that the reader has chosen. */
function request(id: OperationId, { url, needsKey: isKeyed }: PageContext): Html {
  // Requests of connectors need no key, because they are signed.
  const needsKey = isKeyed && isOfClients(id);
  const place = { base: url, needsKey };
  const languages = [
    ['curl', 'curl', 'sh', curlOf(exampleOf(id), url, '', needsKey)],
    ['typescript', 'TypeScript', 'ts', typescriptOf(id, place)],
    ['python', 'Python', 'py', pythonOf(id, place)],
    ['go', 'Go', 'go', goOf(id, place)],
  ] as const;
  return html`<h2>Request</h2>
<fieldset class="languages"><legend class="unseen">Language of the example</legend>
${languages.map(
  ([name, label], at) =>
    html`<label><input type="radio" name="language" value="${name}"${at === 0 && html` checked`}>${label}</label>
`,
)}</fieldset>
${languages.map(
  ([
    name,
    label,
    language,
    text,
  ]) => html`<div class="in-${name}">${listing(`Request in ${label}`, text, { language })}</div>
`,
)}`;
}

function response(id: OperationId): Html {
  const { status, csv, stream } = OPERATIONS[id];
  const title = `${status} ${STATUS_CODES[status]}`;
  if (csv === true) {
    return html`<h2>Response</h2>
${listing(`${title}, text/csv`, exampleFile(id))}`;
  }
  return html`<h2>Response</h2>
${listing(title, JSON.stringify(exampleReply(id), null, 2))}
${
  stream !== undefined &&
  html`<details><summary>Response as a stream</summary>
<p>With <code>Accept: text/event-stream</code>, a stream of Server-Sent Events:</p>
${listing(`${title}, text/event-stream`, exampleStream(id))}
</details>`
}`;
}

function replyFields(id: OperationId): Html {
  const { csv, reply } = OPERATIONS[id];
  return html`<h2>${csv ? 'Columns of the response' : 'Fields of the response'}</h2>
${csv && html`<p>Comma-separated values: the first line contains the column names, and each other line a record. Null values are empty.</p>`}
${fields(reply, 'response')}`;
}

function programOf({ needsKey }: PageContext): Html {
  return html`the key's program, or the one in <code>Program-Id</code>${!needsKey && ', or the demo program'}`;
}

function facts(id: OperationId, context: PageContext): Html {
  const { scope, reach, idempotency, movesMoney, dryRun } = OPERATIONS[id];
  const all: readonly (readonly [string, string | Html])[] = [
    ['Operation', html`<code>${breakable(id)}</code>`],
    ['Required scope', scope === null ? 'none' : html`<code>${scope}</code>`],
    ['Card program', reach === 'program' ? programOf(context) : 'not used'],
    ['Idempotency-Key', KEY_USE[idempotency]],
    ...(movesMoney ? [['Money-Moved', 'on every response'] as const] : []),
    ...(dryRun ? [['Money-Moved', 'no, on every response'] as const] : []),
  ];
  return html`<dl class="facts">${all.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>
`,
  )}</dl>`;
}

function adjacent(id: OperationId, { mode }: PageContext): Html {
  const ids = sectionsOf(mode).flatMap(({ operations }) => operations);
  const at = ids.indexOf(id);
  const link = (other: OperationId | undefined, name: string) =>
    html`<p>${other !== undefined && html`<span>${name}</span><a href="/docs/${other}"><code>${breakable(other)}</code></a>`}</p>`;
  return html`<nav class="adjacent" aria-label="Previous and next operation">
${link(ids[at - 1], 'Previous')}
${link(ids[at + 1], 'Next')}
</nav>`;
}

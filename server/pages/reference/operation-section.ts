import { ERRORS } from '../../../contract/errors/catalogue.ts';
import { curlOf, exampleFile, exampleOf, exampleReply, exampleStream } from '../../../contract/examples.ts';
import { parametersOf } from '../../../contract/operation.ts';
import { OPERATIONS, type OperationId, precedenceOf } from '../../../contract/operations.ts';
import { type Html, html } from '../page-html.ts';
import { breakable, fields, listing, type PageContext } from '../page-layout.ts';

const KEY_USE: Readonly<Record<'none' | 'optional' | 'required', string>> = {
  none: 'not supported',
  optional: 'optional',
  required: 'required',
};

/** What the reference says about one operation. */
export function operationSection(id: OperationId, context: PageContext): Html {
  const { url, needsKey } = context;
  const { method, path, summary, params, body, query } = OPERATIONS[id];
  return html`<section class="operation" aria-labelledby="${id}" data-of="${id}">
<h3 id="${id}">${summary}</h3>
<p class="route"><b>${method}</b>${breakable(path)}</p>
${facts(id, context)}
${parametersOf(path).length > 0 && html`<h4>Path parameters</h4>${fields(params)}`}
${query !== undefined && html`<h4>Query parameters</h4>${fields(query)}`}
${body !== undefined && html`<h4>Body</h4>${fields(body)}`}
<h4>Example</h4>
${listing('Request', curlOf(exampleOf(id), url, '', needsKey))}
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
    return html`<h4>Response</h4>
${listing(title, JSON.stringify(exampleReply(id), null, 2))}
<details><summary>Fields of the response</summary>
${fields(shape, false)}
</details>
${
  stream !== undefined &&
  html`<details><summary>Response as a stream</summary>
<p>With <code>Accept: text/event-stream</code>, a stream of Server-Sent Events:</p>
${listing(`${title}, text/event-stream`, exampleStream(id))}
</details>`
}`;
  }
  return html`<h4>Response</h4>
<p>Comma-separated values: the first line contains the column names, and each other line a record. Null values are empty.</p>
${listing(`${title}, text/csv`, exampleFile(id))}
<details><summary>Columns of the response</summary>
${fields(shape, false)}
</details>`;
}

/** Where the card program of a request comes from. */
function programOf({ needsKey }: PageContext): Html {
  return html`that of the key, or of <code>Program-Id</code>${!needsKey && ', or the demo program'}`;
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

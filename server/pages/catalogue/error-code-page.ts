import { STATUS_CODES } from 'node:http';
import {
  CODES_AS_READ,
  ERRORS,
  familyOf,
  operationsWith,
  resolverOf,
  supportAdvice,
} from '../../../contract/errors/catalogue.ts';
import {
  exampleRecord,
  provokingRequest,
  reproductionCommands,
  unknownOutcomeRequest,
} from '../../../contract/errors/examples.ts';
import type { ErrorType } from '../../../contract/errors/record.ts';
import { curlOf } from '../../../contract/examples.ts';
import { type ErrorHeader, headersOf } from '../../../contract/openapi/headers.ts';
import { type ErrorCode, OPERATION_IDS, OPERATIONS } from '../../../contract/operations.ts';
import { type Html, html } from '../page-html.ts';
import {
  adjacentEntries,
  anchorOf,
  breakable,
  factList,
  listing,
  type Page,
  type PageContext,
  sandboxOnly,
} from '../page-layout.ts';

export const TONES: Readonly<Record<ErrorType, string>> = {
  'Request Error': 'request',
  'Server Error': 'server',
  'Process Error': 'process',
};

/** A symbol for each type, so that color is not the only way to see the type. */
export const SIGNS: Readonly<Record<ErrorType, string>> = {
  'Request Error': '◆',
  'Server Error': '■',
  'Process Error': '●',
};

export function errorCodePage(code: ErrorCode, context: PageContext): Page {
  const { type, meaning, causes, resolution } = ERRORS[code];
  const family = familyOf(code);
  return {
    title: code,
    section: 'errors',
    description: `${code}: ${meaning} ${resolution}`,
    data: `/errors/${code}.json`,
    content: html`<article class="${TONES[type]}">
<nav class="trail" aria-label="Breadcrumb"><ol><li><a href="/errors">Errors</a></li>
<li><a href="/errors#${anchorOf(type)}">${type}</a></li>${
      family !== undefined &&
      html`
<li><a href="/errors#family-${family.kind}">One for each operation</a></li>`
    }</ol></nav>
<h1><code>${breakable(code)}</code></h1>
<p class="lead">${meaning}</p>
${facts(code)}
<h2>Causes</h2>
<ul>${causes.map((cause) => html`<li>${cause}</li>`)}</ul>
<div class="remedy"><h2>Resolution</h2><p>${resolution}</p></div>
${forSupport(code)}
${response(code, context)}
${sandbox(code, context)}
${operations(code, context)}
${adjacentEntries('errors', 'code', CODES_AS_READ, code)}
</article>`,
  };
}

function facts(code: ErrorCode): Html {
  const { status, type, moneyMoved, retryable, since } = ERRORS[code];
  return factList([
    ['Status', `${status} ${STATUS_CODES[status] ?? ''}`],
    ['Type', html`<span class="kind">${SIGNS[type]} ${type}</span>`],
    ['Resolved by', resolverOf(code)],
    // `yes` if the money has moved and only the response failed.
    ['Money moved', moneyMoved === 'no' ? 'no' : 'no, unknown or yes'],
    ['Retryable', retryable ? 'yes' : 'no'],
    ['Since', `version ${since}`],
  ]);
}

/** The advice that the console shows to support on the screens of cases and requests. */
function forSupport(code: ErrorCode): Html {
  const { tell, next } = supportAdvice(ERRORS[code]);
  return html`<h2>For support</h2>
<dl class="says">
<div><dt>Next step</dt><dd>${next}</dd></div>
<div><dt>Tell the customer</dt><dd>${tell}</dd></div>
</dl>${
    ERRORS[code].moneyMoved !== 'no' &&
    html`
<p>If the money moved, or the service does not know whether it moved, tell the customer not to send a new request for it, and follow <a href="/guides/runbook/money-unknown">the runbook</a>.</p>`
  }`;
}

function response(code: ErrorCode, { supportContact }: PageContext): Html {
  const { status } = ERRORS[code];
  const headers = headersOf(code);
  const line = ({
    name,
    value,
  }: Pick<ErrorHeader, 'name' | 'value'>) => html`<span class="name">${name}:</span> ${value}
`;
  return html`<h2>Response</h2>
<p>The message names the specific cause and can change. In your code, compare the code, the type and the status, not the message.</p>
${listing(
  'Example response',
  html`<span class="status">HTTP/1.1 ${status} ${STATUS_CODES[status]}</span>
${line({ name: 'Content-Type', value: 'application/json; charset=utf-8' })}${headers.filter(({ optional }) => !optional).map(line)}
${JSON.stringify(exampleRecord(code, supportContact), null, 2)}`,
)}
<dl class="says">${headers.map(
    ({ name, description, optional }) =>
      html`<div><dt><code>${name}</code>${optional && html` <span class="type">optional</span>`}</dt><dd>${description}</dd></div>
`,
  )}</dl>`;
}

function sandbox(code: ErrorCode, { base, mode }: PageContext): Html {
  const commands = reproductionCommands(code, base);
  const provoking = provokingRequest(code);
  const unknownOutcome = unknownOutcomeRequest(code);
  return html`<h2>Reproduce it in the sandbox</h2>
${sandboxOnly(mode)}
<p>${ERRORS[code].sample.reproduce}</p>
${commands.length > 0 && listing('Commands', commands.join('\n\n'))}
${
  provoking !== undefined &&
  html`<p>In the sandbox, the header <code>Sandbox-Provoke</code> makes any operation return one of its error codes:</p>
${listing('With Sandbox-Provoke', curlOf(provoking, base, '-i'))}`
}
${unknownOutcome !== undefined && listing('With Sandbox-Provoke, and an unknown outcome', curlOf(unknownOutcome, base, '-i'))}`;
}

/** Returns where a code occurs if no operation of the service returns it. */
function whereInstead(code: ErrorCode): string {
  if (ERRORS[code].sample.isOnTransfer === true) {
    return 'It is the error of a transfer that a processor did not carry out, in the transfer record and in the event transfer.failed.';
  }
  return operationsWith(code).length === 0 ? 'It is returned for pages.' : 'Only sandbox operations return it.';
}

function operations(code: ErrorCode, { mode }: PageContext): Html {
  const served = OPERATION_IDS.filter((id) => mode === 'sandbox' || OPERATIONS[id].reach !== 'sandbox');
  const returning = operationsWith(code).filter((id) => served.includes(id));
  if (returning.length === 0) {
    return html`<h2>Operations</h2>
<p>No operation of this service returns this code. ${whereInstead(code)}</p>`;
  }
  if (returning.length === served.length) {
    return html`<h2>Operations</h2>
<p>All <a href="/docs">${returning.length} operations</a> can return this code.</p>`;
  }
  return html`<h2>Operations</h2>
<ul class="links">${returning.map(
    (id) => html`<li><a href="/docs/${id}" title="${OPERATIONS[id].summary}"><code>${breakable(id)}</code></a></li>
`,
  )}</ul>`;
}

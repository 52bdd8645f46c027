import { STATUS_CODES } from 'node:http';
import {
  CODES_AS_READ,
  type ErrorHeader,
  familyOf,
  headersOf,
  operationsWith,
  resolverOf,
} from '../../contract/catalogue.ts';
import {
  doubtProvokingRequest,
  exampleField,
  exampleRecord,
  provokingRequest,
  reproductionCommands,
} from '../../contract/example-failures.ts';
import { curlOf } from '../../contract/examples.ts';
import { OPERATION_IDS, OPERATIONS } from '../../contract/operations.ts';
import { EXAMPLE_REQUEST_ID } from '../../contract/samples.ts';
import { CATALOGUE, type ErrorCode } from '../../domain/errors.ts';
import { SIGNS, TONES } from './error-list-page.ts';
import { type Html, html } from './page-html.ts';
import { anchorOf, breakable, listing, type Page, type PageSetting } from './page-layout.ts';

/** The page of one code. */
export function errorCodePage(code: ErrorCode, setting: PageSetting): Page {
  const { type, meaning, causes, resolution } = CATALOGUE[code];
  const family = familyOf(code);
  return {
    title: code,
    section: 'errors',
    description: `${code}: ${meaning} ${resolution}`,
    data: `/errors/${code}.json`,
    content: html`<article class="${TONES[type]}">
<nav class="trail" aria-label="Where this page is"><ol><li><a href="/errors">Errors</a></li>
<li><a href="/errors#${anchorOf(type)}">${type}</a></li>${
      family !== undefined &&
      html`
<li><a href="/errors#family-${family.kind}">One for each operation</a></li>`
    }</ol></nav>
<h1><code>${breakable(code)}</code></h1>
<p class="lead">${meaning}</p>
${facts(code)}
<h2>What brings it about</h2>
<ul>${causes.map((cause) => html`<li>${cause}</li>`)}</ul>
<div class="remedy"><h2>What to do</h2><p>${resolution}</p></div>
${answer(code, setting)}
${sandbox(code, setting)}
${operations(code)}
${neighbours(code)}
</article>`,
  };
}

function facts(code: ErrorCode): Html {
  const { status, type, moneyMoved, retry, since } = CATALOGUE[code];
  const all: readonly (readonly [string, string | Html])[] = [
    ['Status', `${status} ${STATUS_CODES[status] ?? ''}`],
    ['Type', html`<span class="kind">${SIGNS[type]} ${type}</span>`],
    ['Who resolves it', resolverOf(code)],
    ['Money moved', moneyMoved],
    ['Sent again unchanged', retry ? 'can succeed' : 'will not help'],
    ['Since', `version ${since}`],
  ];
  return html`<dl class="facts">${all.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>
`,
  )}</dl>`;
}

function answer(code: ErrorCode, { supportContact }: PageSetting): Html {
  const { status } = CATALOGUE[code];
  const headers = headersOf(code, { requestId: EXAMPLE_REQUEST_ID, field: exampleField(code) });
  const line = ({
    name,
    value,
  }: Pick<ErrorHeader, 'name' | 'value'>) => html`<span class="name">${name}:</span> ${value}
`;
  return html`<h2>What you receive</h2>
<p>The message differs from case to case and names the specific cause. Compare the code, the type and the status, never the message.</p>
${listing(
  'An example of the answer',
  html`<span class="status">HTTP/1.1 ${status} ${STATUS_CODES[status]}</span>
${line({ name: 'Content-Type', value: 'application/json; charset=utf-8' })}${headers.filter(({ sometimes }) => !sometimes).map(line)}
${JSON.stringify(exampleRecord(code, supportContact), null, 2)}`,
)}
<dl class="says">${headers.map(
    ({ name, says, sometimes }) =>
      html`<div><dt><code>${name}</code>${sometimes && html` <span class="type">sometimes</span>`}</dt><dd>${says}</dd></div>
`,
  )}</dl>`;
}

function sandbox(code: ErrorCode, { base, mode }: PageSetting): Html {
  const commands = reproductionCommands(code, base);
  const provoking = provokingRequest(code);
  const doubtful = doubtProvokingRequest(code);
  return html`<h2>See it in the sandbox</h2>
${mode === 'live' && html`<p>This service is live: try these commands on a sandbox of your own, never here.</p>`}
<p>${CATALOGUE[code].reproduce}</p>
${commands.length > 0 && listing(commands.length === 1 ? 'Its real cause' : `Its real cause, in ${commands.length} steps`, commands.join('\n\n'))}
${
  provoking !== undefined &&
  html`<p>Or ask for it: in the sandbox, the header <code>Sandbox-Provoke</code> makes any operation that can answer with a code answer with it.</p>
${listing('On demand', curlOf(provoking, base, '-i'))}`
}
${doubtful !== undefined && listing('On demand, with the outcome in doubt', curlOf(doubtful, base, '-i'))}`;
}

function operations(code: ErrorCode): Html {
  const answering = operationsWith(code);
  if (answering.length === 0) {
    return html`<h2>Who answers with it</h2>
<p>No operation: it is about what is outside of them, such as paths that the service does not have.</p>`;
  }
  if (answering.length === OPERATION_IDS.length) {
    return html`<h2>Who answers with it</h2>
<p>Any of the <a href="/docs">${answering.length} operations</a> can.</p>`;
  }
  return html`<h2>Who answers with it</h2>
<ul class="links">${answering.map(
    (id) => html`<li><a href="/docs#${id}" title="${OPERATIONS[id].summary}"><code>${breakable(id)}</code></a></li>
`,
  )}</ul>`;
}

function neighbours(code: ErrorCode): Html {
  const at = CODES_AS_READ.indexOf(code);
  const link = (other: ErrorCode | undefined, name: string) =>
    html`<p>${other !== undefined && html`<span>${name}</span><a href="/errors/${other}"><code>${breakable(other)}</code></a>`}</p>`;
  return html`<nav class="neighbours" aria-label="Neighbouring codes">
${link(CODES_AS_READ[at - 1], 'Before')}
${link(CODES_AS_READ[at + 1], 'After')}
</nav>`;
}

import {
  type CodeFamily,
  ERROR_CODES,
  ERRORS,
  familyCodes,
  isRule,
  sharedCodesOf,
  TYPE_GUIDES,
} from '../../contract/errors/catalogue.ts';
import { ERROR_TYPES, type ErrorType } from '../../contract/errors/record.ts';
import { type ErrorCode, OPERATIONS } from '../../contract/operations.ts';
import { listHead, searchForm } from './catalogue-page.ts';
import { requestIdIn, searchCatalogue } from './error-search.ts';
import { type Html, html, joined } from './page-html.ts';
import { anchorOf, breakable, type Page } from './page-layout.ts';

/** The CSS class of each type, which sets its colour. */
export const TONES: Readonly<Record<ErrorType, string>> = {
  'Request Error': 'request',
  'Server Error': 'server',
  'Process Error': 'process',
};

/** A symbol for each type, so that no information is conveyed by colour alone. */
export const SIGNS: Readonly<Record<ErrorType, string>> = {
  'Request Error': '◆',
  'Server Error': '■',
  'Process Error': '●',
};

const FAMILIES: Readonly<Record<CodeFamily['kind'], { readonly name: string; readonly text: string }>> = {
  schema: {
    name: '<operation>_schema',
    text:
      'Each operation has its own code, with status 400: the request does not have a required field, or has a field ' +
      'with a wrong type or name. The message names the field.',
  },
  unknown: {
    name: 'unknown_<operation>',
    text:
      'Each operation has its own code, with status 500: the operation failed because of an internal error. Contact ' +
      'support and quote the request id.',
  },
};

const EXAMPLES = html`For example <a href="/errors?q=card">card</a>, <a href="/errors?q=409">409</a>, <a href="/errors?q=required+field+is+missing">required field is missing</a>, or paste a response.`;

/** The page of all codes, or of the results of a search. */
export function errorListPage(query: string): Page {
  const isSearch = query.trim() !== '';
  return {
    ...listHead('errors', query),
    description: 'All error codes of the Transfer Service, with causes and resolutions.',
    content: html`<h1>Errors</h1>
<p class="lead">Every error response has a <code>Code</code>. Look it up here to learn what it means, how to resolve it, and whether money moved.</p>
${searchForm('errors', query, 'Search by code, status or message', EXAMPLES)}
${isSearch ? results(query) : overview()}
${!isSearch && html`<p>Errors that only support can resolve are also announced as events: see <a href="/events/error.recorded"><code>error.recorded</code></a>.</p>`}`,
  };
}

function overview(): Html {
  const types = ERROR_TYPES.map((type) => {
    const { cause, resolvedBy } = TYPE_GUIDES[type];
    const count = ERROR_CODES.filter((code) => ERRORS[code].type === type).length;
    return html`<li class="${TONES[type]}"><span class="kind" aria-hidden="true">${SIGNS[type]}</span> <a href="#${anchorOf(type)}">${type}</a>
<p>${cause} ${count} ${count === 1 ? 'code' : 'codes'}. Resolved by ${lowerFirst(resolvedBy)}.</p></li>`;
  });
  return html`<ul class="types">${types}</ul>
${moneyNote()}
${ERROR_TYPES.map(group)}`;
}

function moneyNote(): Html {
  const uncertain = ERROR_CODES.filter((code) => ERRORS[code].moneyMoved !== 'no');
  const links = uncertain.map((code) => html`<a href="/errors/${code}"><code>${breakable(code)}</code></a>`);
  return html`<div class="remedy note"><h2>Did money move?</h2>
<p>No. A request with an error response has moved no money, with one exception: if the outcome of ${joined(links, ', ')} could not be confirmed, the header <code>Money-Moved</code> is <code>unknown</code>, and the message says how to find out.</p></div>`;
}

function group(type: ErrorType): Html {
  const { cause, resolution, resolvedBy } = TYPE_GUIDES[type];
  const families: readonly CodeFamily['kind'][] = ['schema', 'unknown'];
  const own = families.filter((kind) => familyCodes(kind).some((code) => ERRORS[code].type === type));
  const shared = sharedCodesOf(type);
  const rules = shared.filter(isRule);
  const others = shared.filter((code) => !isRule(code));
  const isSplit = rules.length > 0 && others.length > 0;
  return html`<section class="group ${TONES[type]}" aria-labelledby="${anchorOf(type)}">
<h2 id="${anchorOf(type)}"><span class="kind" aria-hidden="true">${SIGNS[type]}</span> ${type}</h2>
<p>${cause} ${resolution} <strong>Resolved by ${lowerFirst(resolvedBy)}.</strong></p>
${isSplit && html`<h3>Business rules</h3>`}
${rules.length > 0 && html`<ul class="codes">${rules.map((code) => row(code, undefined))}</ul>`}
${isSplit && html`<h3>HTTP and authentication</h3>`}
${others.length > 0 && html`<ul class="codes">${others.map((code) => row(code, undefined))}</ul>`}
${own.map(family)}
</section>`;
}

function row(code: ErrorCode, cause: string | undefined): Html {
  const { status, type, meaning } = ERRORS[code];
  return html`<li class="${TONES[type]}"><span class="number">${status}</span>
<a href="/errors/${code}">${breakable(code)}</a>
<p>${meaning}</p>${cause !== undefined && html`<p>${cause}</p>`}</li>
`;
}

function family(kind: CodeFamily['kind']): Html {
  const { name, text } = FAMILIES[kind];
  const links = familyCodes(kind).map(
    (code) => html`<li><a href="/errors/${code}">${breakable(code)}</a></li>
`,
  );
  return html`<section class="family" aria-labelledby="family-${kind}">
<h3 id="family-${kind}"><code>${name}</code></h3>
<p>${text}</p>
<ul>${links}</ul>
</section>`;
}

function results(query: string): Html {
  const { hits, isExact } = searchCatalogue(query);
  const requestId = requestIdIn(query);
  const count = `${hits.length} of ${ERROR_CODES.length} codes`;
  const said = isExact
    ? `${count} ${hits.length === 1 ? 'matches' : 'match'}.`
    : `No code matches all words. ${count} ${hits.length === 1 ? 'matches' : 'match'} some of them.`;
  const note =
    requestId !== undefined &&
    html`<div class="remedy"><h2>${requestId} is the id of one request</h2>
<p><a href="/console/request/${requestId}">See in the console what happened to it</a>, look up its error with <code>GET ${breakable(OPERATIONS.get_error.path.replace('{request_id}', requestId))}</code>, or quote the id to support.</p></div>`;
  if (hits.length === 0) {
    return html`<h2>Nothing found</h2>
${note || html`<p>No code, meaning, cause or message contains these words. Try other words, or see <a href="/errors">all ${ERROR_CODES.length} codes</a>.</p>`}`;
  }
  return html`<h2>Results</h2>
${note}
<p>${joined([said, html`<a href="/errors">Show all codes</a>`], ' ')}</p>
<ul class="codes">${hits.map(({ code, cause }) => row(code, cause))}</ul>`;
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}

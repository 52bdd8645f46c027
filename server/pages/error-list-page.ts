import {
  type CodeFamily,
  ERRORS,
  familyCodes,
  isRule,
  sharedCodesOf,
  TYPE_GUIDES,
} from '../../contract/errors/catalogue.ts';
import { ERROR_TYPES, type ErrorType } from '../../contract/errors/record.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { ERROR_CODES, type ErrorCode } from '../../domain/error-codes.ts';
import { requestIdIn, searchCatalogue } from './error-search.ts';
import { type Html, html, joined } from './page-html.ts';
import { anchorOf, breakable, type Page } from './page-layout.ts';

/** Name of a type's colour in the stylesheet. */
export const TONES: Readonly<Record<ErrorType, string>> = {
  'Request Error': 'request',
  'Server Error': 'server',
  'Process Error': 'process',
};

/** A sign for each type, so that nothing is told by colour alone. */
export const SIGNS: Readonly<Record<ErrorType, string>> = {
  'Request Error': '◆',
  'Server Error': '■',
  'Process Error': '●',
};

const FAMILIES: Readonly<Record<CodeFamily['kind'], { readonly name: string; readonly text: string }>> = {
  schema: {
    name: '<operation>_schema',
    text:
      'Each operation has its own, with status 400: the request lacks a required field, or has a field of a wrong type ' +
      'or name. The message names the field. All of them are resolved alike, by correcting it.',
  },
  unknown: {
    name: 'unknown_<operation>',
    text:
      'Each operation has its own, with status 500: it could not be carried out because of a fault inside the service. ' +
      'All of them are resolved by support; the request id leads there.',
  },
};

/** The page of all codes, or of those that fit what was searched for. */
export function errorListPage(query: string): Page {
  const isSearch = query.trim() !== '';
  return {
    title: isSearch ? `Errors: ${query.slice(0, 60)}` : 'Errors',
    section: 'errors',
    description: 'Every error code of the Transfer Service: what it means, what causes it and what to do.',
    data: isSearch ? `/errors.json?q=${encodeURIComponent(query.slice(0, 200).toWellFormed())}` : '/errors.json',
    content: html`<h1>Every error, explained</h1>
<p class="lead">An error answer carries a <code>Code</code>. Find it here to learn what it means, who can resolve it, and whether money moved.</p>
${searchForm(query)}
${isSearch ? results(query) : overview()}`,
  };
}

function searchForm(query: string): Html {
  return html`<search><form action="/errors" method="get">
<label class="label" for="q">Search by code, status, words or a whole message</label>
<div class="search"><input id="q" name="q" type="search" value="${query}" maxlength="1000" autocomplete="off" autocapitalize="off" spellcheck="false"><button type="submit">Search</button></div>
<p>For example <a href="/errors?q=card">card</a>, <a href="/errors?q=409">409</a>, <a href="/errors?q=required+field+is+missing">required field is missing</a>, or paste the answer you got.</p>
</form></search>`;
}

function overview(): Html {
  const types = ERROR_TYPES.map((type) => {
    const { cause, resolvedBy } = TYPE_GUIDES[type];
    const count = ERROR_CODES.filter((code) => ERRORS[code].type === type).length;
    return html`<li class="${TONES[type]}"><span class="kind" aria-hidden="true">${SIGNS[type]}</span> <a href="#${anchorOf(type)}">${type}</a>
<p>${cause} ${count} ${count === 1 ? 'code' : 'codes'}. Resolved by: ${lowerFirst(resolvedBy)}.</p></li>`;
  });
  return html`<ul class="types">${types}</ul>
${moneyNote()}
${ERROR_TYPES.map(group)}`;
}

/** What everyone wants to know first, said once for all codes. */
function moneyNote(): Html {
  const doubtful = ERROR_CODES.filter((code) => ERRORS[code].moneyMoved !== 'no');
  const links = doubtful.map((code) => html`<a href="/errors/${code}"><code>${breakable(code)}</code></a>`);
  return html`<div class="remedy note"><h2>Did money move?</h2>
<p>No: a request that is answered with an error has moved nothing. Only with ${joined(links, ', ')} it can be in doubt, and then the header <code>Money-Moved</code> says “unknown” and the message says how to find out.</p></div>`;
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
<p>${cause} ${resolution} <strong>Resolved by: ${lowerFirst(resolvedBy)}.</strong></p>
${isSplit && html`<h3>Refused by the rules of an operation</h3>`}
${rules.length > 0 && html`<ul class="codes">${rules.map((code) => row(code, undefined))}</ul>`}
${isSplit && html`<h3>Refused before an operation begins: the HTTP request and its credentials</h3>`}
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
    ? `${count} ${hits.length === 1 ? 'has' : 'have'} what you are looking for.`
    : `No code has all of these words. ${count} ${hits.length === 1 ? 'comes' : 'come'} closest.`;
  const note =
    requestId !== undefined &&
    html`<div class="remedy"><h2>${requestId} is the id of one request</h2>
<p>It names one answer, not a kind of error. Look the answer up with <code>GET ${breakable(OPERATIONS.get_error.path.replace('{request_id}', requestId))}</code>, or quote the id to support.</p></div>`;
  if (hits.length === 0) {
    return html`<h2>Nothing found</h2>
${note || html`<p>No code, meaning, cause or message has these words. Try fewer or other words, or look through <a href="/errors">all ${ERROR_CODES.length} codes</a>.</p>`}`;
  }
  return html`<h2>Found</h2>
${note}
<p>${joined([said, html`<a href="/errors">Show all codes</a>`], ' ')}</p>
<ul class="codes">${hits.map(({ code, cause }) => row(code, cause))}</ul>`;
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}

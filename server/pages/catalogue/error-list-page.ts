import {
  type CodeFamily,
  ERROR_CODES,
  ERRORS,
  FAMILY_PATTERNS,
  familyCodes,
  isRule,
  sharedCodesOf,
  TYPE_GUIDES,
} from '../../../contract/errors/catalogue.ts';
import { ERROR_TYPES, type ErrorType } from '../../../contract/errors/record.ts';
import {
  type FoundFamily,
  requestIdIn,
  type SearchHit,
  searchCatalogue,
} from '../../../contract/errors/search/search-catalogue.ts';
import { type ErrorCode, OPERATIONS } from '../../../contract/operations.ts';
import { type Html, html, joined } from '../page-html.ts';
import { anchorOf, breakable, type Page } from '../page-layout.ts';
import { listHead, searchForm } from './catalogue-page.ts';

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

const FAMILIES: Readonly<Record<CodeFamily['kind'], { readonly text: string }>> = {
  schema: {
    text:
      'Each operation has its own code, with status 400: the body is not valid JSON, or the request does not have a ' +
      'required field, or has one with a wrong type or name. The message names the field.',
  },
  unknown: {
    text:
      'Each operation has its own code, with status 500: the operation failed because of an internal error. Contact ' +
      'support and quote the request id.',
  },
};

/** Codes of a family that are shown without a click. */
const MAX_SHOWN_MEMBERS = 6;

const EXAMPLES = html`For example <a href="/errors?q=not+enough+money">not enough money</a>, <a href="/errors?q=409">409</a>, <a href="/errors?q=expired+card">expired card</a>, or paste a message, a response or a line of a log.`;

/** Answers to what people search for among the errors and no error code is about. */
const GUIDANCE: readonly { readonly words: RegExp; readonly note: Html }[] = [
  {
    words: /signature/i,
    note: html`<p>Signatures belong to webhooks: your receiver verifies them, and no code is about them. See <a href="/guides/webhooks">Webhooks</a>.</p>`,
  },
  {
    words: /\b(?:twice|double|duplicates?)\b/i,
    note: html`<p>No code says that money moved twice. <code>npx transfer-service cards duplicates &lt;card_id&gt;</code>, and the page of the card in the <a href="/console">console</a>, list what was probably made twice. How to make sure that it cannot happen: <a href="/guides/idempotency">Idempotency</a>.</p>`,
  },
];

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
  const { text } = FAMILIES[kind];
  const links = familyCodes(kind).map(
    (code) => html`<li><a href="/errors/${code}">${breakable(code)}</a></li>
`,
  );
  return html`<section class="family" aria-labelledby="family-${kind}">
<h3 id="family-${kind}"><code>${FAMILY_PATTERNS[kind]}</code></h3>
<p>${text}</p>
<ul>${links}</ul>
</section>`;
}

function results(query: string): Html {
  const { hits, isExact } = searchCatalogue(query);
  const requestId = requestIdIn(query);
  const count = `${hits.length} ${hits.length === 1 ? 'result' : 'results'}`;
  const said = isExact
    ? `${count}.`
    : `No code has all words. ${count} ${hits.length === 1 ? 'has' : 'have'} some of them.`;
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
${GUIDANCE.find(({ words }) => words.test(query))?.note}
<p>${joined([said, html`<a href="/errors">Show all codes</a>`], ' ')}</p>
${listed(hits)}`;
}

/** Rows of codes, and between them a section for each family: its place is that of its best code. */
function listed(hits: readonly SearchHit[]): readonly Html[] {
  const at = hits.findIndex((hit) => hit.family !== undefined);
  const rows = at === -1 ? hits : hits.slice(0, at);
  const list =
    rows.length === 0 ? [] : [html`<ul class="codes">${rows.map(({ code, cause }) => row(code, cause))}</ul>`];
  const all = hits[at]?.family;
  return all === undefined ? list : [...list, foundFamily(all), ...listed(hits.slice(at + 1))];
}

/** The codes of a family differ in nothing but the operation, so all of them are one result. */
function foundFamily({ kind, codes }: FoundFamily): Html {
  const { status } = ERRORS[codes[0] ?? 'unknown_request'];
  const links = (of: readonly ErrorCode[]) =>
    html`<ul>${of.map(
      (code) => html`<li><a href="/errors/${code}">${breakable(code)}</a></li>
`,
    )}</ul>`;
  const [first, rest] = [codes.slice(0, MAX_SHOWN_MEMBERS), codes.slice(MAX_SHOWN_MEMBERS)];
  return html`<section class="family" aria-labelledby="found-${kind}">
<h3 id="found-${kind}"><a href="/errors#family-${kind}"><code>${FAMILY_PATTERNS[kind]}</code></a> (${status})</h3>
<p>${FAMILIES[kind].text}</p>
${links(first)}
${rest.length > 0 && html`<details><summary>${rest.length} more</summary>${links(rest)}</details>`}
</section>`;
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}

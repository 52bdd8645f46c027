import {
  type CodeFamily,
  ERROR_CODES,
  ERRORS,
  FAMILY_PATTERNS,
  familyCodes,
  sharedCodesOf,
  TYPE_GUIDES,
} from '../../../contract/errors/catalogue.ts';
import { PROBLEM_GROUPS, type Problem } from '../../../contract/errors/problems.ts';
import { ERROR_TYPES, type ErrorType } from '../../../contract/errors/record.ts';
import { type ErrorCode, OPERATION_IDS, type OperationId } from '../../../contract/operations.ts';
import { SHARED_CODES } from '../../../domain/error-codes.ts';
import { type Html, html, joined } from '../page-html.ts';
import { anchorOf, breakable, type Page } from '../page-layout.ts';
import { SIGNS, TONES } from './error-code-page.ts';

const FAMILIES: Readonly<Record<CodeFamily['kind'], { readonly type: ErrorType; readonly text: string }>> = {
  schema: {
    type: 'Request Error',
    text:
      'The body is not valid JSON, a required field is missing, or a field has a wrong type or name. The message names the ' +
      'field: correct it, then send the request again.',
  },
  unknown: {
    type: 'Server Error',
    text: 'The operation failed because of an internal error. Contact support: open a case with the request id.',
  },
};

const KINDS = ['schema', 'unknown'] as const satisfies readonly CodeFamily['kind'][];

/** Returns the page of all codes: first by common problem, then by type. */
export function errorListPage(): Page {
  return {
    title: 'Errors',
    section: 'errors',
    data: '/errors.json',
    description: 'All error codes of the Transfer Service, with causes and resolutions.',
    content: html`<h1>Errors</h1>
<p class="lead">What did you see? Choose it below, or paste the message into the search above. Each code has a page that says what it means, how to resolve it, and whether money moved.</p>
<div class="problems">${PROBLEM_GROUPS.map(problemGroup)}</div>
${moneyNote()}
<h2 id="codes">All codes</h2>
${ERROR_TYPES.map(group)}
${operationFamilies()}
<p>Errors that only support can resolve are also announced as events: see <a href="/events/error.recorded"><code>error.recorded</code></a>.</p>`,
  };
}

function problemGroup({ title, problems }: (typeof PROBLEM_GROUPS)[number]): Html {
  return html`<section aria-labelledby="${anchorOf(title)}">
<h2 id="${anchorOf(title)}">${title}</h2>
<dl>${problems.map(problemRow)}</dl>
</section>
`;
}

function problemRow(problem: Problem): Html {
  const families = KINDS.filter((kind) => familyCodes(kind).some((code) => ERRORS[code].problem === problem)).map(
    (kind) => html`<a href="#family-${kind}">${breakable(FAMILY_PATTERNS[kind])}</a>`,
  );
  const shared = SHARED_CODES.filter((code) => ERRORS[code].problem === problem).map(
    (code) => html`<a href="/errors/${code}">${breakable(code)}</a>`,
  );
  return html`<div><dt>${problem}</dt><dd>${joined([...families, ...shared], ' ')}</dd></div>
`;
}

function moneyNote(): Html {
  return html`<div class="remedy note"><h2>Did money move?</h2>
<p>No. A request with an error response has moved no money, with one exception: the outcome of an operation that moves money could not be confirmed (<a href="#family-unknown"><code>${FAMILY_PATTERNS.unknown}</code></a>). Then the header <code>Money-Moved</code> is <code>unknown</code>, or <code>yes</code> if the money has moved and only the response could not be created. The message says how to find out.</p></div>`;
}

function group(type: ErrorType): Html {
  const { cause, resolution, resolvedBy } = TYPE_GUIDES[type];
  const shared = sharedCodesOf(type);
  return html`<section class="group ${TONES[type]}" aria-labelledby="${anchorOf(type)}">
<h3 id="${anchorOf(type)}"><span class="kind" aria-hidden="true">${SIGNS[type]}</span> ${type}</h3>
<p>${cause} ${resolution} <strong>Resolved by ${resolvedBy.toLowerCase()}.</strong></p>
<ul class="codes">${shared.map(row)}</ul>
</section>`;
}

function row(code: ErrorCode): Html {
  const { status, type, meaning } = ERRORS[code];
  return html`<li class="${TONES[type]}"><span class="number">${status}</span>
<a href="/errors/${code}">${breakable(code)}</a>
<p>${meaning}</p></li>
`;
}

/** Renders the codes that every operation has. Within such a family, codes differ only in the name of the operation. */
function operationFamilies(): Html {
  return html`<section class="group" aria-labelledby="of-operations">
<h3 id="of-operations">Two codes for each operation</h3>
${KINDS.map((kind) => {
  const { type, text } = FAMILIES[kind];
  const status = ERRORS[familyCodes(kind)[0] ?? 'unknown_request'].status;
  return html`<div class="family ${TONES[type]}"><h4 id="family-${kind}"><span class="kind" aria-hidden="true">${SIGNS[type]}</span> <code>${FAMILY_PATTERNS[kind]}</code> (${status})</h4>
<p>${text}</p></div>
`;
})}
<details><summary>The ${OPERATION_IDS.length * KINDS.length} codes of ${OPERATION_IDS.length} operations</summary>
<ul class="pairs">${OPERATION_IDS.map(pair)}</ul>
</details>
</section>`;
}

function pair(id: OperationId): Html {
  const codes = ERROR_CODES.filter((code) => code === `${id}_schema` || code === `unknown_${id}`);
  return html`<li>${joined(
    codes.map((code) => html`<a href="/errors/${code}">${breakable(code)}</a>`),
    ' ',
  )}</li>
`;
}

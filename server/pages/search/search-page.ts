import { ERRORS, FAMILY_PATTERNS } from '../../../contract/errors/catalogue.ts';
import { OPERATIONS } from '../../../contract/operations.ts';
import { type ErrorHit, FAMILY_MEANINGS, requestIdIn } from '../../../contract/search/error-search.ts';
import type { Found, SearchEntry } from '../../../contract/search/search-index.ts';
import { SIGNS, TONES } from '../catalogue/error-code-page.ts';
import { withNames } from '../catalogue/event-pages.ts';
import { type Html, html } from '../page-html.ts';
import { breakable, type Page, type PageContext } from '../page-layout.ts';
import { nearestOf, pageSearch } from './page-search.ts';

/** The parts of the documentation that can be searched separately. `search` means all of them. */
export type SearchSection = 'search' | 'errors' | 'events' | 'docs' | 'guides';

type Group = {
  readonly section: Exclude<SearchSection, 'search'>;
  readonly title: string;
  readonly score: number;
  readonly rows: readonly Html[];
};

/** Maximum number of results of each kind if several kinds are shown. */
const MAX_BESIDE_OTHERS = 5;
/** Maximum number of results if only one kind is shown. */
const MAX_ALONE = 30;

/** A kind is shown only if its best score is at least this share of the best score overall. */
const MIN_SHARE = 0.2;

const EXAMPLES = ['wrong password', 'blocked card', 'refund', 'partial capture', '409', 'transfer.failed'] as const;

/** Notes for frequent searches that no entry of the index answers. */
const GUIDANCE: readonly { readonly words: RegExp; readonly note: Html }[] = [
  {
    words: /signature/i,
    note: html`<p>Signatures belong to webhooks: your receiver verifies them, and no error code is about them. See <a href="/guides/webhooks">Webhooks</a>.</p>`,
  },
  {
    words: /\b(?:twice|double|duplicates?)\b/i,
    note: html`<p>No error code says that money moved twice. <code>npx transfer-service cards duplicates &lt;card_id&gt;</code>, and the page of the card in the <a href="/console">console</a>, list likely duplicates. To prevent them: <a href="/guides/idempotency">Idempotency</a>.</p>`,
  },
];

export async function searchPage(query: string, section: SearchSection, { mode }: PageContext): Promise<Page> {
  const frame = { section, query, data: undefined } as const;
  if (query.trim() === '') {
    return {
      ...frame,
      title: 'Search',
      description: 'Search the guides, the API reference, the errors and the events.',
      content: html`<h1>Search</h1>
<p class="lead">Type above what you want to do or what you saw: a word, an error code, a status, a field. You can also paste a message, a response or a line of a log.</p>
<p>For example ${EXAMPLES.map((words, at) => html`${at > 0 && ', '}<a href="/search?q=${words.replaceAll(' ', '+')}">${words}</a>`)}.</p>`,
    };
  }
  const search = await pageSearch();
  const groups = groupsOf(search.errors(query), search.others(query, mode)).filter(
    (group) => section === 'search' || group.section === section,
  );
  return {
    ...frame,
    title: `Search: ${query.slice(0, 60)}`,
    description: 'Results from the guides, the API reference, the errors and the events.',
    data: section === 'errors' || section === 'events' ? `/${section}.json?q=${encoded(query)}` : undefined,
    content: html`<h1>Results for “${query.slice(0, 100)}”</h1>
${requestNote(query)}
${section !== 'search' && html`<p>Only ${PLACES[section]} are shown. <a href="/search?q=${encoded(query)}">Search everything</a>.</p>`}
${GUIDANCE.find(({ words }) => words.test(query))?.note}
${groups.length === 0 ? noResults(query) : groups.map((group) => listed(group, query, section))}`,
  };
}

const PLACES: Readonly<Record<Exclude<SearchSection, 'search'>, string>> = {
  errors: 'error codes',
  events: 'events',
  docs: 'operations and fields',
  guides: 'guides',
};

function groupsOf(errors: readonly ErrorHit[], others: readonly Found[]): readonly Group[] {
  const group = (
    section: Group['section'],
    title: string,
    found: readonly Found[],
    row: (one: Found) => Html,
  ): Group => ({
    section,
    title,
    score: found[0]?.score ?? 0,
    rows: found.map(row),
  });
  const groups: readonly Group[] = [
    { section: 'errors', title: 'Errors', score: errors[0]?.score ?? 0, rows: errors.map(errorRow) },
    group('docs', 'Operations', nearestOf(others, 'operation'), codeRow),
    group('docs', 'Fields', nearestOf(others, 'field'), codeRow),
    group('events', 'Events', nearestOf(others, 'event'), codeRow),
    group('guides', 'Guides', nearestOf(others, 'guide'), guideRow),
  ];
  const best = Math.max(...groups.map(({ score }) => score));
  // An error code in the query scores higher than any words. Entries that match the words are still shown below the code.
  const least = Math.min(best, Math.max(0, ...others.map(({ score }) => score))) * MIN_SHARE;
  return groups
    .filter(({ score, rows }) => rows.length > 0 && score >= least)
    .toSorted((left, right) => right.score - left.score);
}

function listed({ section, title, rows }: Group, query: string, shown: SearchSection): Html {
  const max = shown === 'search' ? MAX_BESIDE_OTHERS : MAX_ALONE;
  const id = `found-${title.toLowerCase()}`;
  return html`<section aria-labelledby="${id}">
<h2 id="${id}">${title}</h2>
<ul class="found">${rows.slice(0, max)}</ul>
${rows.length > max && shown === 'search' && html`<p><a href="/${section}?q=${encoded(query)}">All ${rows.length} ${title.toLowerCase()}</a></p>`}
</section>`;
}

/** Renders one result for all codes of a family, because these codes differ only in the operation. */
function errorRow({ code, cause, family }: ErrorHit): Html {
  const { status, type, meaning } = ERRORS[code];
  const sign = html`<span class="kind" aria-hidden="true">${SIGNS[type]}</span> <span class="number">${status}</span>`;
  if (family === undefined) {
    return html`<li class="${TONES[type]}"><a href="/errors/${code}">${breakable(code)}</a>
<p>${sign} ${meaning}</p>${cause !== undefined && html`<p>${cause}</p>`}</li>
`;
  }
  const [first = code] = family.codes;
  return html`<li class="${TONES[type]}"><a href="/errors#family-${family.kind}">${breakable(FAMILY_PATTERNS[family.kind])}</a>
<p>${sign} ${FAMILY_MEANINGS[family.kind]}</p><p>One code for each operation, such as <a href="/errors/${first}">${breakable(first)}</a>.</p></li>
`;
}

const row = ({ path, name, summary }: SearchEntry, isCode: boolean): Html =>
  html`<li><a href="${path}"${!isCode && html` class="words"`}>${breakable(name)}</a>
<p>${withNames(summary, false)}</p></li>
`;

const codeRow = ({ entry }: Found): Html => row(entry, true);
const guideRow = ({ entry }: Found): Html => row(entry, false);

function noResults(query: string): Html {
  if (requestIdIn(query) !== undefined) return html``;
  return html`<p>Nothing found. Try other words, or look through the <a href="/guides">guides</a>, the <a href="/docs">API reference</a>, the <a href="/errors">errors</a> or the <a href="/events">events</a>.</p>`;
}

function requestNote(query: string): Html | undefined {
  const id = requestIdIn(query);
  if (id === undefined) return undefined;
  return html`<div class="remedy"><h2>${id} is a request id</h2>
<p><a href="/console/request/${id}">See in the console what happened to this request</a>, look up its error with <code>GET ${breakable(OPERATIONS.get_error.path.replace('{request_id}', id))}</code>, or quote the id to support.</p></div>`;
}

function encoded(query: string): string {
  return encodeURIComponent(query.slice(0, 200).toWellFormed());
}

import { createHash } from 'node:crypto';
import { type Field, fieldsOf } from '../../contract/openapi/fields.ts';
import { highlighted, type Language } from './highlight.ts';
import { Html, type HtmlPart, html } from './page-html.ts';
import { GUIDE_STYLE, STYLE as PAGE_STYLE, REFERENCE_STYLE } from './page-style.ts';

/**
 * The script of the pages. It shows the buttons that copy listings, and remembers the reader's language for examples.
 * It also redirects links of earlier versions, such as /docs#create_transfer, to the page of the operation. Each page
 * contains the script, and the Content-Security-Policy allows it by its hash. The pages work without it: the buttons
 * stay hidden, and the list of the operations still has the old anchors.
 *
 * Browsers offer the clipboard only over HTTPS and on this machine. Otherwise, the text is copied from a hidden text field.
 */
const SCRIPT = `
(() => {
  const said = document.getElementById('said');
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement('textarea');
      area.className = 'unseen';
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand('copy');
      area.remove();
      return done;
    }
  };
  for (const button of document.querySelectorAll('button.copy')) {
    button.hidden = false;
    let waiting;
    button.addEventListener('click', async () => {
      const text = button.dataset.copy ?? button.closest('figure').querySelector('code').textContent;
      const done = await copy(text);
      button.focus();
      clearTimeout(waiting);
      button.textContent = done ? 'Copied' : 'Not copied';
      said.textContent = done ? 'Copied' : 'The browser did not allow it. Select the text and copy it.';
      waiting = setTimeout(() => {
        button.textContent = 'Copy';
        said.textContent = '';
      }, 2000);
    });
  }
  const languages = [...document.querySelectorAll('input[name="language"]')];
  if (languages.length > 0) {
    try {
      const chosen = languages.find((one) => one.value === localStorage.getItem('language'));
      if (chosen) chosen.checked = true;
    } catch {}
    for (const one of languages) {
      one.addEventListener('change', () => {
        try {
          localStorage.setItem('language', one.value);
        } catch {}
      });
    }
  }
  const moved = [...document.querySelectorAll('.index li')].find((one) => '#' + one.id === location.hash);
  if (moved) location.replace(moved.querySelector('a').href);
})();
`;

const STYLE = PAGE_STYLE + GUIDE_STYLE + REFERENCE_STYLE;
const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/**
 * The Content-Security-Policy. A page may use its own stylesheet and script, show the icon, and send its search form to this
 * service.
 */
export const PAGE_POLICY =
  `default-src 'none'; style-src ${hashOf(STYLE)}; script-src ${hashOf(SCRIPT)}; img-src 'self'; ` +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

export const PAGE_HEADERS = [
  ['Content-Security-Policy', PAGE_POLICY],
  ['Referrer-Policy', 'no-referrer'],
] as const;

export type PageContext = {
  readonly version: string;
  readonly mode: 'sandbox' | 'live';
  readonly supportContact: string;
  /** Base URL for the commands on the page, such as http://localhost:8080. It is always the URL of a sandbox. */
  readonly base: string;
  /** Base URL of this service, sandbox or live. */
  readonly url: string;
  /** Whether callers of this service need a key. If so, examples contain one. */
  readonly needsKey: boolean;
};

/** A page, without the header and footer that all pages have. */
export type Page = {
  readonly title: string;
  readonly section: 'console' | 'errors' | 'events' | 'docs' | 'guides' | 'home' | 'search';
  /** The search term, on a page with results. */
  readonly query?: string;
  /** A sentence for search engines and link previews. */
  readonly description: string;
  /** The path of the same content as data. Undefined if the Accept header alone selects it. */
  readonly data: string | undefined;
  /** A path that the browser opens immediately instead of this page. */
  readonly next?: string;
  readonly content: Html;
};

const NAVIGATION = [
  { section: 'guides', path: '/guides', name: 'Guides' },
  { section: 'docs', path: '/docs', name: 'API reference' },
  { section: 'events', path: '/events', name: 'Events' },
  { section: 'errors', path: '/errors', name: 'Errors' },
  { section: 'console', path: '/console', name: 'Console' },
] as const;

/** Returns the HTML of a page. `markdown` is the path of the page as Markdown, if there is one. */
export function documentOf(
  page: Page,
  host: Pick<PageContext, 'version' | 'mode' | 'supportContact'>,
  markdown?: string,
): string {
  const { version, mode, supportContact } = host;
  const links = NAVIGATION.map(
    ({ section, path, name }) =>
      html`<li><a href="${path}"${section === page.section && html` aria-current="page"`}>${name}</a></li>`,
  );
  const body = html`<body>
<a class="skip" href="#content">Skip to content</a>
<header class="top"><div class="wide">
<a class="brand" href="/">Transfer Service</a>
<nav aria-label="Main"><ul>${links}</ul></nav>
${searchForm(page.query ?? '')}
</div></header>
<main id="content" class="wide" tabindex="-1">
${page.content}
</main>
<footer class="bottom"><div class="wide">
<p>Transfer Service ${version}, ${mode} mode. Support: ${supportContact}.</p>
${page.data !== undefined && html`<p>Data: <a href="${page.data}">${page.data}</a></p>`}
${markdown !== undefined && html`<p>Markdown: <a href="${markdown}">${markdown}</a></p>`}
</div></footer>
<p id="said" class="unseen" role="status"></p>
<script>${new Html(SCRIPT)}</script>
</body>`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${page.description}">
${
  page.next !== undefined &&
  html`<meta http-equiv="refresh" content="0; url=${page.next}">
`
}<title>${page.title} · Transfer Service</title>
<link rel="icon" href="/favicon.ico" sizes="32x32">
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
${
  markdown !== undefined &&
  html`<link rel="alternate" type="text/markdown" href="${markdown}">
`
}<style>${new Html(STYLE)}</style>
</head>
${body}
</html>
`.toString();
}

function searchForm(query: string): Html {
  return html`<search><form action="/search" method="get">
<label class="unseen" for="q">Search</label>
<input id="q" name="q" type="search" value="${query}" maxlength="1000" placeholder="Search, or paste an error" autocomplete="off" autocapitalize="off" spellcheck="false">
</form></search>`;
}

/** Renders a name or a path so that it can wrap after each underscore, slash or dot. */
export function breakable(name: string): readonly HtmlPart[] {
  return name.split(/(?<=[_/.])/).flatMap((word, at) => (at === 0 ? [word] : [html`<wbr>`, word]));
}

/** The length from which a word of a listing may be longer than a line of a phone. */
const LONG_WORD_CHARACTERS = 30;

/** Renders code that wraps between words. Only words that are longer than a line, such as URLs, also wrap within. */
function wrappable(code: string): readonly HtmlPart[] {
  return code
    .split(/(\s+)/)
    .flatMap((word) => (word.length < LONG_WORD_CHARACTERS ? [word] : word.split(/(?<=[/,])(?=[^/,])/)))
    .flatMap((part, at, parts) => (at > 0 && /[/,]$/.test(parts[at - 1] ?? '') ? [html`<wbr>`, part] : [part]));
}

type ListingOptions = {
  /** The text that the button copies instead of the listing, for example only the commands of a terminal. */
  readonly copied?: string;
  /** The language of the text. By default, it is found by its beginning. */
  readonly language?: Language | undefined;
};

/** Renders a block of code with a button that copies it. */
export function listing(label: string, text: string | Html, { copied, language }: ListingOptions = {}): Html {
  const found = language ?? (typeof text === 'string' ? languageOf(text) : undefined);
  const marked = typeof text === 'string' && found !== undefined ? highlighted(text, found, wrappable) : undefined;
  const shown = marked ?? (typeof text === 'string' ? wrappable(text) : text);
  const kind = found !== undefined && html` class="language-${found}"`;
  return html`<figure class="listing"><figcaption>${label}${copyButton(label, copied)}</figcaption><pre><code${kind}>${shown}</code></pre></figure>`;
}

function languageOf(text: string): Language | undefined {
  if (/^[[{]/.test(text)) return 'json';
  return /^(?:curl|npx|npm) /.test(text) ? 'sh' : undefined;
}

/** Renders a button that copies `copied` or, by default, the code of the figure around it. The page's script makes it visible. */
export function copyButton(label: string, copied?: string): Html {
  const own = copied !== undefined && html` data-copy="${copied}"`;
  return html` <button type="button" class="copy" hidden aria-label="Copy: ${label}"${own}>Copy</button>`;
}

/** Returns an id for a heading, derived from its text. */
export function anchorOf(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}

/** The part of a request, the response or the event that the listed fields belong to. */
export type FieldList = 'path' | 'query' | 'body' | 'response' | 'event' | 'envelope';

/** Renders the fields of a schema, with their types, limits and descriptions, and whether a request requires them. */
export function fields(schema: object, list: FieldList): Html {
  return html`<dl class="says">${fieldsOf(schema).flatMap((field) => entries(field, '', list))}</dl>`;
}

/**
 * Returns the id of a field on the page of its operation. `path` is the field's name, preceded by the names of the fields that
 * contain it.
 */
export function fieldAnchor(list: FieldList, path: string): string {
  return `${list}-${path}`;
}

function entries(
  { name, type, required, limits, description, inner }: Field,
  above: string,
  list: FieldList,
): readonly Html[] {
  const isOfRequest = list === 'path' || list === 'query' || list === 'body';
  const path = above !== '' && html`<span class="above">${breakable(above)}</span>`;
  const own = html`<div id="${fieldAnchor(list, above + name)}"${above !== '' && html` class="inner"`}><dt><code>${path}${breakable(name)}</code>${isOfRequest && required && html` <span class="required">required</span>`}
<span class="type">${limits === '' ? type : `${type}, ${limits}`}</span></dt><dd>${withCode(description)}</dd></div>
`;
  return [own, ...inner.flatMap((field) => entries(field, `${above}${name}.`, list))];
}

/** Renders a sentence of the contract, with its backticks replaced by code elements. */
export function withCode(text: string): readonly Html[] {
  return text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}

type Catalogue = 'errors' | 'events';

export function factList(facts: readonly (readonly [string, string | Html])[]): Html {
  return html`<dl class="facts">${facts.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>
`,
  )}</dl>`;
}

export function sandboxOnly(mode: 'sandbox' | 'live'): Html | false {
  return mode === 'live' && html`<p>This service runs in live mode. Run these commands against a sandbox.</p>`;
}

export function adjacentEntries(section: Catalogue, what: string, all: readonly string[], entry: string): Html {
  const at = all.indexOf(entry);
  const link = (other: string | undefined, name: string) =>
    html`<p>${other !== undefined && html`<span>${name}</span><a href="/${section}/${other}"><code>${breakable(other)}</code></a>`}</p>`;
  return html`<nav class="adjacent" aria-label="Previous and next ${what}">
${link(all[at - 1], 'Previous')}
${link(all[at + 1], 'Next')}
</nav>`;
}

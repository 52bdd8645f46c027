import { createHash } from 'node:crypto';
import { Html, type HtmlPart, html } from './page-html.ts';
import { STYLE } from './page-style.ts';

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** The Content-Security-Policy: a page may use its own stylesheet and send its search form to this service. */
export const PAGE_POLICY =
  `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'; ` +
  "base-uri 'none'; frame-ancestors 'none'";

/** What the pages show of the service. */
export type PageContext = {
  readonly version: string;
  readonly mode: 'sandbox' | 'live';
  readonly supportContact: string;
  /** Base URL of the commands on the page, such as http://localhost:8080: always that of a sandbox. */
  readonly base: string;
};

/** One page, without the frame that all pages have. */
export type Page = {
  readonly title: string;
  readonly section: 'errors' | 'events' | 'docs' | 'home';
  /** A sentence for search engines and link previews. */
  readonly description: string;
  /** Path of the same content as data; undefined if only the Accept header selects it. */
  readonly data: string | undefined;
  readonly content: Html;
};

const NAVIGATION = [
  { section: 'docs', path: '/docs', name: 'API reference' },
  { section: 'events', path: '/events', name: 'Events' },
  { section: 'errors', path: '/errors', name: 'Errors' },
  { section: 'console', path: '/console', name: 'Console' },
] as const;

/** The whole document of a page. */
export function documentOf(page: Page, { version, mode, supportContact }: PageContext): string {
  const links = NAVIGATION.map(
    ({ section, path, name }) =>
      html`<li><a href="${path}"${section === page.section && html` aria-current="page"`}>${name}</a></li>`,
  );
  const body = html`<body>
<a class="skip" href="#content">Skip to content</a>
<header class="top"><div class="wide">
<a class="brand" href="/">Transfer Service</a>
<nav aria-label="Main"><ul>${links}</ul></nav>
</div></header>
<main id="content" class="wide" tabindex="-1">
${page.content}
</main>
<footer class="bottom"><div class="wide">
<p>Transfer Service ${version}, ${mode} mode. Support: ${supportContact}.</p>
${page.data !== undefined && html`<p>Data: <a href="${page.data}">${page.data}</a></p>`}
</div></footer>
</body>`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${page.description}">
<title>${page.title} · Transfer Service</title>
<style>${new Html(STYLE)}</style>
</head>
${body}
</html>
`.toString();
}

/** A name or a path, which may wrap after each underscore, slash or dot. */
export function breakable(name: string): readonly HtmlPart[] {
  return name.split(/(?<=[_/.])/).flatMap((word, at) => (at === 0 ? [word] : [html`<wbr>`, word]));
}

/** A block of code. */
export function listing(label: string, text: string | Html): Html {
  const shown = typeof text === 'string' ? breakable(text) : text;
  return html`<figure class="listing"><figcaption>${label}</figcaption><pre><code>${shown}</code></pre></figure>`;
}

/** The id of a heading, derived from its text. */
export function anchorOf(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}

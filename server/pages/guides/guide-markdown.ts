import { Marked, type RendererObject, type Token, type Tokens } from 'marked';
import { isLanguage, type Language } from '../highlight.ts';
import { Html, html } from '../page-html.ts';
import { breakable, listing } from '../page-layout.ts';
import { headingIds, servedLink, withoutDiagrams } from './guide-text.ts';

/** A heading of the second level, for the contents of a page. */
export type GuideSection = { readonly id: string; readonly title: string };

export type RenderedGuide = {
  readonly title: string;
  readonly sections: readonly GuideSection[];
  /** The first paragraph. It says what the reader can do after reading. */
  readonly lead: Html | undefined;
  readonly content: Html;
};

/** The labels of listings, by the language after their fence. */
const LABELS: Readonly<Record<string, string>> = {
  sh: 'Terminal',
  bash: 'Terminal',
  json: 'JSON',
  js: 'JavaScript',
  ts: 'TypeScript',
  yaml: 'YAML',
  sql: 'SQL',
  ini: 'INI',
  py: 'Python',
  python: 'Python',
  go: 'Go',
};

/** Renders the Markdown of a guide. `picture` returns the markup of a drawing. */
export function renderGuide(file: string, text: string, picture: (path: string) => string): RenderedGuide {
  const sections: GuideSection[] = [];
  const marked = new Marked({ renderer: rendererOf(file, sections, picture) });
  const tokens = marked.lexer(withoutDiagrams(text));
  nameListings(tokens);
  const isTitle = (token: Token): token is Tokens.Heading => token.type === 'heading' && token.depth === 1;
  const title = tokens.find(isTitle);
  const rest = tokens.filter((token) => token !== title && token.type !== 'space');
  const [first] = rest;
  const hasLead = first?.type === 'paragraph';
  return {
    title: plainText(title?.tokens ?? []),
    lead: hasLead ? new Html(marked.parser([first])) : undefined,
    // The parser calls the renderer, and that fills `sections`.
    content: new Html(marked.parser(hasLead ? rest.slice(1) : rest)),
    sections,
  };
}

/** Adds the name of a file to its listing. The name is in backticks in the line above. */
function nameListings(tokens: readonly Token[]): void {
  let above = '';
  for (const token of tokens) {
    if (token.type === 'code' && token.lang !== '' && token.lang !== undefined) {
      const name = /`([a-zA-Z-]+\.[a-z]+)`/.exec(above)?.[1];
      if (name !== undefined) token.lang = `file:${name}`;
    }
    if (token.type !== 'space') above = token.raw.trimEnd().split('\n').at(-1) ?? '';
  }
}

function rendererOf(file: string, sections: GuideSection[], picture: (path: string) => string): RendererObject {
  const idOf = headingIds();
  return {
    heading({ tokens, depth }) {
      const title = plainText(tokens);
      const id = idOf(title);
      if (depth === 2) sections.push({ id, title });
      const link = html`<a class="anchor" href="#${id}" aria-label="Link to ${title}">#</a>`;
      return `<h${depth} id="${id}">${this.parser.parseInline(tokens)} ${link}</h${depth}>\n`;
    },
    link({ href, tokens }) {
      const content = this.parser.parseInline(tokens);
      const served = servedLink(file, href);
      return served === null ? content : html`<a href="${served}">${new Html(content)}</a>`.toString();
    },
    image: ({ href, text }) =>
      html`<figure class="picture">${new Html(picture(href))}<figcaption>${text}</figcaption></figure>`.toString(),
    paragraph({ tokens }) {
      const content = this.parser.parseInline(tokens);
      // HTML does not allow a figure inside a paragraph.
      return content.startsWith('<figure') ? `${content}\n` : `<p>${content}</p>\n`;
    },
    code: ({ text, lang = '' }) => listingOf(text, lang).toString(),
    codespan: ({ text }) => html`<code>${breakable(text)}</code>`.toString(),
    table(token) {
      const header = token.header.map((cell) => `<th>${this.parser.parseInline(cell.tokens)}</th>`).join('');
      const rows = token.rows.map(
        (row) => `<tr>${row.map((cell) => `<td>${this.parser.parseInline(cell.tokens)}</td>`).join('')}</tr>\n`,
      );
      const head = token.header.every(({ text }) => text === '') ? '' : `<thead><tr>${header}</tr></thead>\n`;
      return `<div class="table" tabindex="0"><table>${head}<tbody>${rows.join('')}</tbody></table></div>\n`;
    },
    // Guides contain no HTML, so text that looks like HTML is shown as text.
    html: ({ text }) => html`${text}`.toString(),
  };
}

function listingOf(text: string, lang: string): Html {
  if (lang.startsWith('file:')) {
    const name = lang.slice('file:'.length);
    return listing(name, text, { language: languageNamed(name.split('.').at(-1) ?? '') });
  }
  if (lang === '' && /^\$ /m.test(text)) return listing('Terminal', text, { copied: commandsOf(text) });
  return listing(LABELS[lang] ?? 'Example', text, { language: languageNamed(lang) });
}

/** Returns the language with the name after a fence, or with the extension of a file. */
function languageNamed(name: string): Language | undefined {
  const usual = name
    .replace(/^bash$/, 'sh')
    .replace(/^mjs$/, 'js')
    .replace(/^yml$/, 'yaml')
    .replace(/^python$/, 'py');
  return isLanguage(usual) ? usual : undefined;
}

/** Returns the commands in a listing of a terminal: lines with a prompt, and their continuation lines. */
function commandsOf(text: string): string {
  const typed: string[] = [];
  let command = '';
  for (const line of text.split('\n')) {
    if (command === '' && !line.startsWith('$ ')) continue;
    command = command === '' ? line.slice(2) : `${command}\n${line}`;
    if (command.endsWith('\\') || !hasClosedQuotes(command)) continue;
    typed.push(command);
    command = '';
  }
  return typed.join('\n');
}

function hasClosedQuotes(command: string): boolean {
  const unquoted = command.replaceAll(/'[^']*'|"[^"]*"/g, '');
  return !/['"]/.test(unquoted);
}

function plainText(tokens: readonly Token[]): string {
  return tokens.map((token) => ('tokens' in token && token.tokens ? plainText(token.tokens) : textOf(token))).join('');
}

function textOf(token: Token): string {
  return 'text' in token && typeof token.text === 'string' ? token.text : token.raw;
}

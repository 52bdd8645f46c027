import { type Html, type HtmlPart, html } from './page-html.ts';

export type Language = 'go' | 'http' | 'ini' | 'js' | 'json' | 'py' | 'sh' | 'sql' | 'ts' | 'yaml';

const DOUBLE = String.raw`"(?:\\.|[^"\\\n])*"`;
const SINGLE = String.raw`'(?:\\.|[^'\\\n])*'`;
const NUMBER = String.raw`(?<![\w.])-?\d[\d_]*(?:\.\d+)?\b`;

/** Returns an expression that finds any of the words. */
const anyOf = (words: string): string => `\\b(?:${words.replaceAll(' ', '|')})\\b`;

/** `name` is found, so that no other rule finds a part of it, but it is shown like other text. */
type Rules = Readonly<Partial<Record<'comment' | 'name' | 'string' | 'keyword' | 'value', string>>>;

const SCRIPT: Rules = {
  comment: String.raw`\/\/.*|\/\*[^]*?\*\/`,
  string: `${DOUBLE}|${SINGLE}|\`(?:\\\\.|[^\`\\\\])*\``,
  keyword: anyOf(
    'async await break case catch class const continue default else export finally for from function if import in ' +
      'interface let new of return switch throw try type while',
  ),
  value: `${NUMBER}|${anyOf('true false null undefined')}`,
};

const JSON_RULES: Rules = {
  name: `${DOUBLE}(?=\\s*:)`,
  string: DOUBLE,
  value: `${NUMBER}|${anyOf('true false null')}`,
};

const RULES: Readonly<Record<Language, Rules>> = {
  go: {
    comment: String.raw`\/\/.*`,
    string: `${DOUBLE}|\`[^\`]*\``,
    keyword: anyOf('package import func var const type struct return if else for range defer go switch case'),
    value: `${NUMBER}|${anyOf('true false nil')}`,
  },
  http: { keyword: String.raw`^HTTP\/1\.1 .*`, ...JSON_RULES },
  ini: { comment: '^[;#].*', keyword: String.raw`^\[.*\]` },
  js: SCRIPT,
  json: JSON_RULES,
  py: {
    comment: '#.*',
    string: `[fbr]?(?:${DOUBLE}|${SINGLE})`,
    keyword: anyOf(
      'and as class def elif else except finally for from if import in is not or raise return try while with',
    ),
    value: `${NUMBER}|${anyOf('True False None')}`,
  },
  sh: {
    comment: String.raw`(?<=^|\s)#.*`,
    string: String.raw`"(?:\\[^]|[^"\\])*"|'[^']*'`,
    keyword: String.raw`^(?:\$ )?[a-z][\w.-]*(?=\s|$)`,
    value: String.raw`(?<=\s)--?[a-zA-Z][\w-]*`,
  },
  sql: { comment: '--.*', string: `'[^']*'`, keyword: String.raw`\b[A-Z]{2,}\b`, value: NUMBER },
  ts: SCRIPT,
  yaml: {
    comment: String.raw`(?<=^|\s)#.*`,
    string: `${DOUBLE}|${SINGLE}`,
    keyword: String.raw`^[ -]*[\w.-]+(?=:)`,
    value: `${NUMBER}|${anyOf('true false null')}`,
  },
};

const EXPRESSIONS = new Map(
  Object.entries(RULES).map(([language, rules]) => {
    const groups = Object.entries(rules).map(([name, source]) => `(?<${name}>${source})`);
    return [language, new RegExp(groups.join('|'), 'gm')] as const;
  }),
);

export function isLanguage(name: string): name is Language {
  return EXPRESSIONS.has(name);
}

/**
 * Renders a text with its comments, strings, keywords and values marked, for the colors of the stylesheet. `render` renders the parts
 * of the text.
 */
export function highlighted(text: string, language: Language, render: (part: string) => HtmlPart): readonly Html[] {
  const expression = EXPRESSIONS.get(language);
  if (expression === undefined) return [html`${render(text)}`];
  const parts: Html[] = [];
  let from = 0;
  for (const { 0: found, index, groups = {} } of text.matchAll(expression)) {
    if (found === '') continue;
    const kind = Object.keys(groups).find((name) => groups[name] !== undefined);
    if (kind === 'name') continue;
    parts.push(html`${render(text.slice(from, index))}<span class="${kind}">${render(found)}</span>`);
    from = index + found.length;
  }
  parts.push(html`${render(text.slice(from))}`);
  return parts;
}

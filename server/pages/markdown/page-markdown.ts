import type { Page } from '../page-layout.ts';

/** Elements that only help to use a page in a browser: navigation, buttons, drawings and the choice of a language. */
const LEFT_OUT = new Set(['nav', 'button', 'fieldset', 'svg']);
const CLASSES_LEFT_OUT = new Set<string | undefined>(['side', 'anchor']);

/** Elements that a paragraph cannot contain. All others are part of a line of text. */
const BLOCKS = new Set(
  'article blockquote details div dl figure h1 h2 h3 h4 li ol p pre section summary table ul'.split(' '),
);

type Node = Element | string;

/** Returns the content of a page as Markdown. It is derived from the markup, so page and Markdown have the same text. */
export function markdownOf({ content }: Pick<Page, 'content'>): string {
  return `${blocksOf(readMarkup(content.toString())).join('\n\n')}\n`;
}

/** The paths of pages that also exist as Markdown. */
const HAS_MARKDOWN = /^\/(?:(?:guides|errors|events|docs)(?:\/[^#?.]+(?:\.[a-z_]+)?)?)(?=#|$)/;

/** Returns the link to the Markdown of a page. Other links stay as they are. */
export function markdownLink(link: string): string {
  if (/^[^#]*\.(?:md|json)(?:#|$)/.test(link)) return link;
  return link.replace(HAS_MARKDOWN, (path) => `${path}.md`);
}

/** Renders nodes as blocks. Text between two blocks becomes a paragraph. */
function blocksOf(nodes: readonly Node[]): readonly string[] {
  const blocks: string[] = [];
  let line: Node[] = [];
  const endLine = () => {
    const text = lineOf(line);
    if (text !== '') blocks.push(text);
    line = [];
  };
  for (const node of nodes) {
    if (typeof node === 'string' || !BLOCKS.has(node.tag)) {
      line.push(node);
      continue;
    }
    endLine();
    blocks.push(...blockOf(node));
  }
  endLine();
  return blocks;
}

function blockOf(element: Element): readonly string[] {
  const { tag, children } = element;
  if (isLeftOut(element)) return [];
  if (/^h[1-4]$/.test(tag)) return [`${'#'.repeat(Number(tag.slice(1)))} ${lineOf(children)}`];
  if (tag === 'summary') return [`**${lineOf(children)}**`];
  if (tag === 'p') return [lineOf(children)].filter((text) => text !== '');
  if (tag === 'pre') return [fenced(element)];
  if (tag === 'ul' || tag === 'ol') return [listOf(elementsIn(children, 'li'), tag === 'ol')];
  if (tag === 'dl') return [definitionsOf(element)];
  if (tag === 'table') return [tableOf(element)];
  if (tag === 'figure') return figureOf(children);
  if (tag === 'blockquote') return [blocksOf(children).join('\n\n').replaceAll(/^/gm, '> ')];
  return blocksOf(children);
}

function isLeftOut({ tag, attributes }: Element): boolean {
  return LEFT_OUT.has(tag) || CLASSES_LEFT_OUT.has(attributes.get('class')) || attributes.get('aria-hidden') === 'true';
}

function fenced(listing: Element): string {
  const [code] = elementsIn(listing.children, 'code');
  const language = /^language-(\w+)$/.exec(code?.attributes.get('class') ?? '')?.[1] ?? '';
  return `\`\`\`${language}\n${textOf(listing).replace(/\n$/, '')}\n\`\`\``;
}

/** Renders a listing below its caption. For a drawing, only the caption is rendered. */
function figureOf(children: readonly Node[]): readonly string[] {
  const [caption] = elementsIn(children, 'figcaption');
  const rest = children.filter((child) => child !== caption);
  const label = caption === undefined ? '' : lineOf(caption.children);
  const blocks = blocksOf(rest);
  if (label === '' || blocks.length === 0) return label === '' ? blocks : [label];
  return [`${label}:`, ...blocks];
}

function listOf(items: readonly Element[], isOrdered: boolean): string {
  return items.map(({ children }, at) => itemOf(isOrdered ? `${at + 1}. ` : '- ', blocksOf(children))).join('\n');
}

/** Renders an item. If it consists of short texts, they share its line. */
function itemOf(mark: string, blocks: readonly string[]): string {
  const isShort = blocks.every((block) => !block.includes('\n'));
  if (isShort) return mark + blocks.join(': ');
  return mark + blocks.join('\n\n').replaceAll(/\n(?=.)/g, `\n${' '.repeat(mark.length)}`);
}

/** Renders terms with their descriptions as a list. */
function definitionsOf(list: Element): string {
  const entries = list.children.flatMap((child) =>
    typeof child !== 'string' && child.tag === 'div' ? child.children : [child],
  );
  const lines: string[] = [];
  let term = '';
  for (const entry of entries) {
    if (typeof entry === 'string') continue;
    if (entry.tag === 'dt') term = lineOf(entry.children);
    else lines.push(itemOf('- ', [term, ...blocksOf(entry.children)]));
  }
  return lines.join('\n');
}

function tableOf(table: Element): string {
  const rows = table.children.flatMap((part) =>
    typeof part === 'string'
      ? []
      : elementsIn(part.children, 'tr').map((row) => ({ row, isHead: part.tag === 'thead' })),
  );
  const lines = rows.map(({ row }) => {
    const cells = row.children.flatMap((cell) => (typeof cell === 'string' ? [] : [lineOf(cell.children)]));
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  const columns = (lines[0]?.match(/(?<!\\)\|/g)?.length ?? 1) - 1;
  const head = rows[0]?.isHead === true ? [] : [`|${'  |'.repeat(columns)}`];
  const [first = '', ...rest] = [...head, ...lines];
  return [first, `|${' --- |'.repeat(columns)}`, ...rest].join('\n');
}

/** Renders nodes as one line of text. */
function lineOf(nodes: readonly Node[]): string {
  return nodes.map(inline).join('').replaceAll(/\s+/g, ' ').trim();
}

function inline(node: Node): string {
  // In Markdown, these characters have a meaning in the middle of a text.
  if (typeof node === 'string') return node.replaceAll(/[\\`*<[\]]/g, '\\$&');
  const { tag, attributes, children } = node;
  if (isLeftOut(node)) return '';
  if (attributes.get('class') === 'type') return `(${lineOf(children)})`;
  if (tag === 'code') return codeOf(textOf(node).replaceAll(/\s+/g, ' '));
  if (tag === 'a') return `[${lineOf(children)}](${markdownLink(attributes.get('href') ?? '')})`;
  if (tag === 'strong' || tag === 'b') return ` **${lineOf(children)}** `;
  if (tag === 'em') return ` *${lineOf(children)}* `;
  if (tag === 'br') return ' ';
  return children.map(inline).join('');
}

function codeOf(text: string): string {
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``;
}

function textOf({ children }: Element): string {
  return children.map((child) => (typeof child === 'string' ? child : textOf(child))).join('');
}

function elementsIn(nodes: readonly Node[], tag: string): readonly Element[] {
  return nodes.filter((node): node is Element => typeof node !== 'string' && node.tag === tag);
}

type Element = {
  readonly tag: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly (Element | string)[];
};

type Open = Element & { readonly children: (Element | string)[] };

const TAG = /<(\/?)([a-z][a-z0-9]*)((?:\s[a-z-]+(?:="[^"]*")?)*)\s*(\/?)>/gi;
const ATTRIBUTE = /\s([a-z-]+)(?:="([^"]*)")?/gi;
const VOID = new Set(['br', 'hr', 'img', 'input', 'link', 'meta', 'wbr']);
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/**
 * Reads the markup of a page's content. It reads only markup that the pages write: every element is closed, and every attribute is
 * in double quotes.
 *
 * @throws {Error} if an element is not closed in order
 */
function readMarkup(markup: string): readonly (Element | string)[] {
  const root: Open = { tag: '', attributes: new Map(), children: [] };
  const open = [root];
  let from = 0;
  for (const { 0: whole, 1: slash, 2: name = '', 3: written = '', 4: end, index } of markup.matchAll(TAG)) {
    const inside = open.at(-1) ?? root;
    if (index > from) inside.children.push(decoded(markup.slice(from, index)));
    from = index + whole.length;
    const tag = name.toLowerCase();
    if (slash === '/') {
      if (open.length === 1 || inside.tag !== tag) throw new Error(`</${tag}> closes ${inside.tag}`);
      open.pop();
      continue;
    }
    const element: Open = { tag, attributes: attributesOf(written), children: [] };
    inside.children.push(element);
    if (!VOID.has(tag) && end !== '/') open.push(element);
  }
  if (open.length > 1) throw new Error(`never closed: ${open.at(-1)?.tag}`);
  if (from < markup.length) root.children.push(decoded(markup.slice(from)));
  return root.children;
}

function attributesOf(written: string): ReadonlyMap<string, string> {
  return new Map([...written.matchAll(ATTRIBUTE)].map(([, name = '', value = '']) => [name, decoded(value)]));
}

function decoded(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_whole, name: string) => ENTITIES[name] ?? '');
}

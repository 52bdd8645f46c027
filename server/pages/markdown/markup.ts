export type Element = {
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
export function readMarkup(markup: string): readonly (Element | string)[] {
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

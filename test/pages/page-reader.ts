export type Element = {
  readonly tag: string;
  readonly attributes: ReadonlyMap<string, string>;
  /** All readable text inside the element, decoded, on one line. */
  readonly text: string;
  /** The tags of the element's ancestors, outermost first. */
  readonly around: readonly string[];
};

type Reading = {
  readonly elements: Element[];
  /** The open elements, outermost first. `close` sets the end of their text. */
  readonly open: { readonly tag: string; readonly close: () => void }[];
  /** All readable text so far, decoded. */
  readonly said: string[];
};

const VOID = new Set(['meta', 'link', 'input', 'br', 'hr', 'img', 'wbr']);
const KNOWN = new Set(
  (
    'html head body title style header nav main footer search form fieldset legend section article figure figcaption details summary ' +
    'div p ul ol li dl dt dd h1 h2 h3 h4 a b strong em span code pre label button script ' +
    'table thead tbody tr th td blockquote'
  ).split(' '),
);
/** Tags at which a browser ends an open paragraph. */
const BLOCKS = new Set(
  'div p ul ol dl pre table blockquote figure section article nav header footer main form h1 h2 h3 h4 details'.split(
    ' ',
  ),
);
const PARENTS: Readonly<Record<string, readonly string[]>> = {
  li: ['ul', 'ol'],
  dt: ['dl', 'div'],
  dd: ['dl', 'div'],
  summary: ['details'],
  figcaption: ['figure'],
  tr: ['thead', 'tbody'],
  th: ['tr'],
  td: ['tr'],
};
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

const TAG = /<(\/?)([a-z][a-z0-9]*)((?: [a-z-]+(?:="[^"<>]*")?)*)>/y;
const ATTRIBUTE = / ([a-z-]+)(?:="([^"]*)")?/g;

/**
 * Reads a page more strictly than a browser. Every tag must be known, closed in order and in an allowed position. Every
 * attribute must be in double quotes and unique. Every ampersand must start an entity, and `<` and `>` must not occur
 * outside a tag.
 */
export function readPage(page: string): readonly Element[] {
  const beginning = '<!doctype html>\n';
  if (!page.startsWith(beginning)) throw new Error('the page does not begin with its doctype');
  const reading: Reading = { elements: [], open: [], said: [] };
  const { elements, open, said } = reading;
  let at = beginning.length;
  while (at < page.length) {
    const inside = open.at(-1)?.tag ?? '';
    // A stylesheet or a script contains no markup.
    const isRaw = inside === 'style' || inside === 'script';
    const next = page.indexOf(isRaw ? `</${inside}>` : '<', at);
    const text = page.slice(at, next === -1 ? page.length : next);
    if (!isRaw) said.push(decoded(text));
    if (next === -1) break;
    TAG.lastIndex = next;
    const match = TAG.exec(page);
    if (match === null) throw new Error(`not a tag: ${page.slice(next, next + 80)}`);
    at = TAG.lastIndex;
    const [, slash, tag = '', attributes = ''] = match;
    if (slash === '/') end(reading, tag);
    else begin(reading, tag, attributes);
  }
  if (open.length > 0) throw new Error(`never closed: ${open.map(({ tag }) => tag).join(', ')}`);
  return elements;
}

function begin({ elements, open, said }: Reading, tag: string, written: string): void {
  const parent = open.at(-1)?.tag ?? '';
  if (!KNOWN.has(tag) && !VOID.has(tag)) throw new Error(`no element of these pages: ${tag}`);
  if (parent === 'p' && BLOCKS.has(tag)) throw new Error(`a ${tag} inside a paragraph`);
  if (tag === 'a' && open.some((one) => one.tag === 'a')) throw new Error('a link inside a link');
  if (PARENTS[tag]?.includes(parent) === false) throw new Error(`a ${tag} directly inside ${parent}`);
  if (['ul', 'ol'].includes(parent) && tag !== 'li') throw new Error(`a ${tag} directly inside ${parent}`);
  const attributes = new Map<string, string>();
  for (const [, name = '', value = ''] of written.matchAll(ATTRIBUTE)) {
    if (attributes.has(name)) throw new Error(`the attribute ${name} twice`);
    attributes.set(name, decoded(value));
  }
  const from = said.length;
  let to = from;
  elements.push({
    tag,
    attributes,
    around: open.map((outer) => outer.tag),
    // Computed only on demand, because the text of few elements is needed, and an outer element contains the text of all inner
    // ones.
    get text() {
      return said.slice(from, to).join('').replaceAll(/\s+/g, ' ').trim();
    },
  });
  const close = () => {
    to = said.length;
  };
  if (!VOID.has(tag)) open.push({ tag, close });
}

function end({ open }: Reading, tag: string): void {
  const last = open.pop();
  if (last?.tag !== tag) throw new Error(`</${tag}> closes ${last?.tag ?? 'nothing'}`);
  last.close();
}

function decoded(text: string): string {
  if (text.includes('>')) throw new Error(`a bare > in: ${text.slice(0, 80)}`);
  return text.replaceAll(/&([^;&\s]*;?)/g, (_whole, name: string) => {
    const character = ENTITIES[name.replace(/;$/, '')];
    if (character === undefined || !name.endsWith(';')) throw new Error(`a bare & in: ${text.slice(0, 80)}`);
    return character;
  });
}

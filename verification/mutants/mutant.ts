import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

/**
 * Text from the source and its replacement. In the replacement, `$&` stands for the original text. If nothing remains of its line,
 * the line is removed.
 */
export type Edit = readonly [text: string, replacement: string];

/**
 * Edits by the place where their text occurs. The text must occur exactly once there. A place is a function, a constant, a class,
 * an entry or a member of these (`decide`, `Chain.concerns`, `ENDS.wait`), or the end of a file's path. If several files declare
 * the same symbol, only one of them may have the text.
 */
export type Edits = Readonly<Record<string, Edit | readonly Edit[]>>;

/** A test file that must catch the mutant. `only` selects the tests whose names contain this text. */
export type Witness = { readonly file: string; readonly only?: string };

/** A typical mistake, planted in a copy of the source. */
export type Mutant = {
  readonly mistake: string;
  readonly edits: Edits;
  /** The tests run in this order. The first one that fails has caught the mutant. */
  readonly witnesses: readonly [Witness, ...Witness[]];
};

/** The mutants of a subject by their names. */
export type Mutants = Readonly<Record<string, Mutant>>;

const PRODUCT = ['cli', 'console', 'contract', 'domain', 'sdk', 'server', 'simulator'];

/** The product's source: the contents of each file by its path. */
export type Sources = ReadonlyMap<string, string>;

type Range = { readonly start: number; readonly end: number };

/** Part of a file. */
type Place = Range & { readonly path: string };

/** Reads the source that mutants may change. */
export async function readSources(root: string): Promise<Sources> {
  const sources = new Map<string, string>();
  for (const folder of PRODUCT) {
    for (const entry of await readdir(join(root, folder), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name).slice(root.length + 1);
      if (!entry.isFile() || !/\.(ts|tsx|mjs|sql|json)$/.test(path) || /\.test\.tsx?$|\/node_modules\//.test(path))
        continue;
      sources.set(path, await readFile(join(root, path), 'utf8'));
    }
  }
  return sources;
}

/**
 * Makes edits in their order, and returns the new contents of the changed files. Throws unless the text of each edit occurs
 * exactly once.
 */
export function changedBy(edits: Edits, sources: Sources): Sources {
  const changed = new Map<string, string>();
  for (const [where, made] of Object.entries(edits)) {
    for (const [text, replacement] of isOne(made) ? [made] : made) {
      const { path, start, end } = find(text, where, new Map([...sources, ...changed]));
      const before = changed.get(path) ?? sources.get(path) ?? '';
      const inserted = replacement.replaceAll('$&', () => text);
      const lineStart = before.lastIndexOf('\n', start) + 1;
      const lineEnd = before.indexOf('\n', end);
      const rest = before.slice(lineStart, start) + inserted + before.slice(end, lineEnd);
      const after = rest.trim() === '' ? before.slice(lineEnd + 1) : rest + before.slice(lineEnd);
      changed.set(path, before.slice(0, lineStart) + after);
    }
  }
  return changed;
}

const isOne = (edits: Edit | readonly Edit[]): edits is Edit => typeof edits[0] === 'string';

function find(text: string, where: string, sources: Sources): Place {
  const found = [...sources].flatMap(([path, source]) => {
    // Parsing all files would take seconds.
    if (!source.includes(text)) return [];
    const isFile = path.endsWith(`/${where}`);
    const whole = { path, name: where, start: 0, end: source.length };
    const places = isFile ? [whole] : symbolsOf(path, source).filter(({ name }) => name === where);
    return places.flatMap(({ start, end }) => {
      const [before = '', ...others] = source.slice(start, end).split(text);
      const at = start + before.length;
      return others.map(() => ({ path, start: at, end: at + text.length }));
    });
  });
  if (found[0] !== undefined && found.length === 1) return found[0];
  const paths = found.length === 0 ? '' : ` (${[...new Set(found.map(({ path }) => path))].join(', ')})`;
  throw new Error(`this occurs ${found.length} times in ${where}${paths}, not once: ${text}`);
}

/** Parses a file. Throws if its syntax is wrong. */
export const parse = (path: string, text: string): ReturnType<typeof parseAst> =>
  parseAst(text, { lang: path.endsWith('.tsx') ? 'tsx' : 'ts' }, path);

/** The symbols that a file declares at its top, with the members of classes and the entries of objects. */
function symbolsOf(path: string, text: string): readonly (Place & { readonly name: string })[] {
  const symbol = (name: string, { start, end }: Range) => ({ path, name, start, end });
  const members = (owner: string, nodes: readonly (Range & { readonly key?: Range })[]) =>
    nodes.map((node) => symbol(`${owner}.${text.slice(node.key?.start, node.key?.end)}`, node));
  if (!/\.(ts|tsx|mjs)$/.test(path)) return [];
  return parse(path, text).body.flatMap((statement) => {
    const declared = ('declaration' in statement ? statement.declaration : null) ?? statement;
    if (declared.type === 'FunctionDeclaration') return [symbol(declared.id?.name ?? 'default', statement)];
    if (declared.type === 'ClassDeclaration') {
      const name = declared.id?.name ?? 'default';
      return [symbol(name, statement), ...members(name, declared.body.body)];
    }
    if (declared.type !== 'VariableDeclaration') return [];
    return declared.declarations.flatMap(({ id, init }) => {
      const name = id.type === 'Identifier' ? id.name : '';
      const value = init?.type === 'TSSatisfiesExpression' || init?.type === 'TSAsExpression' ? init.expression : init;
      return [symbol(name, statement), ...(value?.type === 'ObjectExpression' ? members(name, value.properties) : [])];
    });
  });
}

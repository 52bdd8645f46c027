import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Text that occurs exactly once in the product's source (or in `file`, if other files contain it too), and its replacement. */
export type Edit = { readonly file?: string; readonly find: string; readonly replace: string };

/** A test file that must catch the mutant; `only` selects the tests whose names contain it. */
export type Witness = { readonly file: string; readonly only?: string };

/** A typical mistake, made in a copy of the source. */
export type Mutant = Edit & {
  readonly name: string;
  readonly mistake: string;
  /** Further edits that belong to the mistake. */
  readonly also?: readonly Edit[];
  /** They run in this order until one fails, which has then caught the mutant. */
  readonly witnesses: readonly [Witness, ...Witness[]];
};

const PRODUCT = ['cli', 'console', 'contract', 'domain', 'sdk', 'server', 'simulator'];

/** The product's source: the text of each file by its path. */
export type Sources = Map<string, string>;

/** Reads the source that mutants may change. */
export async function readSources(root: string): Promise<Sources> {
  const sources: Sources = new Map();
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
 * Returns the file of an edit. Throws if its text does not occur exactly once, so that mutants are kept up to date with the code.
 */
export function fileOf({ file, find }: Edit, sources: Sources): string {
  const found = [...sources]
    .filter(([path]) => file === undefined || path === file)
    .flatMap(([path, text]) => Array<string>(text.split(find).length - 1).fill(path));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  const where = found.length === 0 ? '' : ` (${[...new Set(found)].join(', ')})`;
  throw new Error(`this occurs ${found.length} times in ${file ?? 'the product'}, not once${where}: ${find.trim()}`);
}

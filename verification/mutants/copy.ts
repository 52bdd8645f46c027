import { cp, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileOf, type Mutant, readSources } from './mutant.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** Files that tests do not need, or must not share with the checkout. */
const NOT_COPIED: ReadonlySet<string> = new Set(['node_modules', 'data', '.git', 'docs']);

/** A copy of the source that may be changed. */
export type Copy = { readonly path: string; readonly remove: () => Promise<void> };

/** Copies the source and links the checkout's packages. The copy is in /var/tmp, where PostgreSQL's user may read it. */
export async function copySource(): Promise<Copy> {
  const path = await mkdtemp('/var/tmp/transfer-service-mutant-');
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: 5 });
  try {
    for (const entry of await readdir(ROOT)) {
      if (!NOT_COPIED.has(entry)) await cp(join(ROOT, entry), join(path, entry), { recursive: true });
    }
    // The tests of the guides read them.
    await cp(join(ROOT, 'docs'), join(path, 'docs'), { recursive: true });
    await symlink(join(ROOT, 'node_modules'), join(path, 'node_modules'));
    return { path, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/**
 * Makes a mutant's edits in a copy. Returns the changed files and a function that restores them. If {@link fileOf} throws, it
 * changes nothing.
 */
export async function applyMutant(
  path: string,
  mutant: Mutant,
): Promise<{ readonly files: readonly string[]; readonly undo: () => Promise<void> }> {
  const sources = await readSources(path);
  const originals = new Map<string, string>();
  for (const edit of [mutant, ...(mutant.also ?? [])]) {
    const file = fileOf(edit, sources);
    const before = sources.get(file) ?? '';
    if (!originals.has(file)) originals.set(file, before);
    sources.set(
      file,
      before.replace(edit.find, () => edit.replace),
    );
  }
  for (const file of originals.keys()) await writeFile(join(path, file), sources.get(file) ?? '');
  const undo = async (): Promise<void> => {
    for (const [file, original] of originals) await writeFile(join(path, file), original);
  };
  return { files: [...originals.keys()], undo };
}

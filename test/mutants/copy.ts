import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Mutant } from './mutant.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** What tests do not need, or must not share with the checkout. */
const NOT_COPIED: ReadonlySet<string> = new Set(['node_modules', 'data', '.git', 'docs']);

/** A copy of the source that may be changed. */
export type Copy = { readonly path: string; readonly remove: () => Promise<void> };

/** Copies the source, with the packages of the checkout. Below /var/tmp, where PostgreSQL's user may read it. */
export async function copySource(): Promise<Copy> {
  const path = await mkdtemp('/var/tmp/transfer-service-mutant-');
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: 5 });
  try {
    for (const entry of await readdir(ROOT)) {
      if (!NOT_COPIED.has(entry)) await cp(join(ROOT, entry), join(path, entry), { recursive: true });
    }
    // Tests of guides read them.
    await cp(join(ROOT, 'docs'), join(path, 'docs'), { recursive: true });
    await symlink(join(ROOT, 'node_modules'), join(path, 'node_modules'));
    return { path, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/**
 * Makes the edits of a mutant; gives the way back. Throws when the text of one does not occur exactly once: the mutant must
 * follow the code.
 */
export async function applyMutant(path: string, mutant: Mutant): Promise<() => Promise<void>> {
  const originals = new Map<string, string>();
  const undo = async (): Promise<void> => {
    for (const [file, original] of originals) await writeFile(join(path, file), original);
  };
  for (const { file, find, replace } of [mutant, ...(mutant.also ?? [])]) {
    const before = await readFile(join(path, file), 'utf8');
    if (!originals.has(file)) originals.set(file, before);
    const times = before.split(find).length - 1;
    if (times !== 1) {
      await undo();
      throw new Error(`this occurs ${times} times in ${file}, not once: ${find.trim()}`);
    }
    await writeFile(
      join(path, file),
      before.replace(find, () => replace),
    );
  }
  return undo;
}

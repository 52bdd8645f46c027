import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Edit } from './mutant.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** What a test does not need, or must not share with the checkout. */
const NOT_COPIED: ReadonlySet<string> = new Set(['node_modules', 'data', '.git', 'docs']);

/** A copy of the source that may be changed. */
export type Copy = { readonly path: string; readonly remove: () => Promise<void> };

/** Copies the source, with the packages of the checkout. Below /var/tmp: PostgreSQL's user must get to what it runs. */
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

/** Makes the edits. Throws when the text of one is not there exactly once: the code has moved on, and so must the mutant. */
export async function applyEdits(path: string, edits: readonly Edit[]): Promise<void> {
  for (const { file, find, replace } of edits) {
    const before = await readFile(join(path, file), 'utf8');
    const times = before.split(find).length - 1;
    if (times !== 1) throw new Error(`this stands ${times} times in ${file}, and must once: ${find.trim()}`);
    await writeFile(
      join(path, file),
      before.replace(find, () => replace),
    );
  }
}

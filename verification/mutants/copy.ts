import { cp, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Resources } from '../../bench/resources.ts';
import { changedBy, type Edits, readSources, type Sources } from './mutant.ts';
import { MUTANTS, type MutantOfCommits } from './mutants.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** Files that tests do not need, or must not share with the checkout. */
const NOT_COPIED: ReadonlySet<string> = new Set(['node_modules', 'data', '.git']);

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
    await symlink(join(ROOT, 'node_modules'), join(path, 'node_modules'));
    return { path, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Makes edits in a copy. Returns the changed files and a function that restores them. If an edit fails, it changes nothing. */
export async function applyEdits(
  path: string,
  edits: Edits,
): Promise<{ readonly files: readonly string[]; readonly undo: () => Promise<void> }> {
  const sources = await readSources(path);
  const changed = changedBy(edits, sources);
  const write = async (texts: Sources): Promise<void> => {
    for (const file of changed.keys()) await writeFile(join(path, file), texts.get(file) ?? '');
  };
  await write(changed);
  return { files: [...changed.keys()], undo: () => write(sources) };
}

/**
 * Copies the source, applies a mutant, and returns the path of the service's main file. A checker that accepts this service does
 * not work.
 */
export async function copyWithMistake(resources: Resources, name: MutantOfCommits): Promise<string> {
  const mistake = MUTANTS.find((mutant) => mutant.name === name);
  if (mistake === undefined) throw new Error(`there is no mutant ${name}`);
  const copy = await copySource();
  resources.add('the copy with a mistake', copy.remove);
  await applyEdits(copy.path, mistake.edits);
  return join(copy.path, 'server/main.ts');
}

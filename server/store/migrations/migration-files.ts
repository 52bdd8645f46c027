import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

const DIRECTORY = new URL('./', import.meta.url);

/** A change of the schema: the text of its file. */
export type Migration = { readonly name: string; readonly text: string; readonly checksum: string };

/** All migrations, in the order in which they are applied. */
export async function readMigrations(): Promise<readonly Migration[]> {
  const names = (await readdir(DIRECTORY)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, DIRECTORY), 'utf8');
      return { name, text, checksum: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

const CREATION =
  /^\s*create\s+(?:or\s+replace\s+)?(?:unlogged\s+|unique\s+|materialized\s+)*(table|index|view|sequence|type|domain|function|procedure)\s+(?:if\s+not\s+exists\s+)?([a-z_][a-z0-9_]*)/gim;

/** The names of the tables, indexes, types and functions that a migration creates. */
export function namesCreatedBy({ text }: Pick<Migration, 'text'>): readonly string[] {
  return [...text.matchAll(CREATION)].map(([, , name = '']) => name);
}

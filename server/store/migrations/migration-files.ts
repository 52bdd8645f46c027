import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { placeOf } from '../../../installation.mjs';

const DIRECTORY = placeOf('server/store/migrations');

/** A change of the schema: the text of its file, and the statements in its first lines. */
export type Migration = {
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
  /**
   * Number of the newest migration that a program must contain to run on the schema once this migration is applied. It comes from
   * the line `-- Needs: 0018`. Without that line, it is the migration's own number, so that programs without the migration are
   * refused.
   */
  readonly needs: string;
  /**
   * Whether the migration is applied statement by statement, because it has the line `-- Transaction: none`. Such a migration
   * must be repeatable.
   */
  readonly isOutsideTransaction: boolean;
};

export async function readMigrations(): Promise<readonly Migration[]> {
  const names = (await readdir(DIRECTORY)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(names.map(async (name) => toMigration(name, await readFile(join(DIRECTORY, name), 'utf8'))));
}

export function toMigration(name: string, text: string): Migration {
  // Only the comment at the top counts. The same words further down are not a header.
  const [header = ''] = /^(?:--.*\n)*/.exec(text) ?? [];
  return {
    name,
    text,
    checksum: createHash('sha256').update(text).digest('hex'),
    needs: /^-- Needs: ([0-9]{4})$/m.exec(header)?.[1] ?? numberOf(name),
    isOutsideTransaction: /^-- Transaction: none$/m.test(header),
  };
}

/** The number of a migration: the four digits that its name begins with. */
export function numberOf(name: string): string {
  return name.slice(0, 4);
}

const CREATION =
  /^\s*create\s+(?:or\s+replace\s+)?(?:unlogged\s+|unique\s+|materialized\s+)*(table|index|view|sequence|type|domain|function|procedure)\s+(?:concurrently\s+)?(?:if\s+not\s+exists\s+)?([a-z_][a-z0-9_]*)/gim;

export function namesCreatedBy({ text }: Pick<Migration, 'text'>): readonly string[] {
  return [...text.matchAll(CREATION)].map(([, , name = '']) => name);
}

/**
 * The statements of a text of SQL, in order, without comments and semicolons. Ignores semicolons and dashes in quoted names,
 * string literals and dollar quotes.
 */
export function splitStatements(text: string): readonly string[] {
  const statements: string[] = [];
  let statement = '';
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === ';') {
      statements.push(statement);
      statement = '';
    } else statement += /^(--|\/\*)/.test(token) ? ' ' : token;
  }
  return [...statements, statement].map((one) => one.trim()).filter((one) => one !== '');
}

/** Comments, literals and quoted names as a whole, everything else character by character. `E'…'` may contain escaped quotes. */
const TOKEN =
  /--[^\n]*|\/\*[\s\S]*?\*\/|\b[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$([A-Za-z_]*)\$[\s\S]*?\$\1\$|[\s\S]/g;

const CONCURRENT_CREATION =
  /^create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?([a-z_][a-z0-9_]*)\s+on\s+([a-z_][a-z0-9_]*)/i;

/** The index and the table of a `create index concurrently`, or undefined for any other statement. */
export function concurrentIndexOf(statement: string): { readonly index: string; readonly table: string } | undefined {
  const [, index, table] = CONCURRENT_CREATION.exec(statement) ?? [];
  return index === undefined || table === undefined ? undefined : { index, table };
}

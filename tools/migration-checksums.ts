import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the checksums of the landed migrations are committed, beside the migrations; `sha256sum -c` reads it. */
export const CHECKSUMS_FILE = 'server/store/migrations/checksums.txt';

const FOLDER = 'server/store/migrations';

type Migration = { readonly name: string; readonly checksum: string };

/** The SHA-256 of every migration of the project, by name. */
export function readMigrationChecksums(root: string): readonly Migration[] {
  const folder = join(root, FOLDER);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({
      name,
      checksum: createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    }));
}

/**
 * The differences between the migrations and their committed checksums, a sentence each. A database that has applied a
 * migration refuses to start with any other bytes of it, so a landed one is never changed or removed.
 */
export function findChecksumProblems(committed: string, migrations: readonly Migration[]): readonly string[] {
  return parse(committed).flatMap(({ name, checksum }) => {
    const found = migrations.find((migration) => migration.name === name);
    if (found?.checksum === checksum) return [];
    return [
      `${FOLDER}/${name} was ${found === undefined ? 'removed' : 'changed'} after its checksum was committed. ` +
        'Restore it and put the change into a new migration. ' +
        `Only if it never left your clone: remove its line from ${CHECKSUMS_FILE} and run npm run generate.`,
    ];
  });
}

/** The committed checksums with those of new migrations added at the end; existing lines never change. */
export function withNewChecksums(committed: string, migrations: readonly Migration[]): string {
  const known = new Set(parse(committed).map(({ name }) => name));
  const added = migrations.filter(({ name }) => !known.has(name)).map(({ name, checksum }) => `${checksum}  ${name}\n`);
  return committed + added.join('');
}

function parse(committed: string): readonly Migration[] {
  return committed
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [checksum = '', name = ''] = line.split('  ');
      return { name, checksum };
    });
}

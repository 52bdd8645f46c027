import { type Migration, readMigrations, toMigration } from '../../server/store/migrations/migration-files.ts';

/** Numbers that no migration of the project has. */
const PLANTED = { expand: '9001', contract: '9002', index: '9003' } as const;

const newest = (await readMigrations()).at(-1)?.name.slice(0, 4) ?? '';

/** Migrations that a next version could have, by their effect. Each is the content of a file. */
export const PLANTED_MIGRATIONS = {
  /** Adds a column and a table. The current version can run on it. */
  expand: toMigration(
    `${PLANTED.expand}_expand.sql`,
    `-- Needs: ${newest}\n
    alter table transfer add column planted text;
    create table planted (planted_id uuid primary key);`,
  ),
  /** Drops a column. Only versions that have the previous migration can run on it. */
  contract: toMigration(
    `${PLANTED.contract}_contract.sql`,
    `-- Needs: ${PLANTED.expand}\nalter table transfer drop column planted;`,
  ),
  /** Builds an index while others write. */
  index: toMigration(
    `${PLANTED.index}_index.sql`,
    `-- Needs: ${newest}\n-- Transaction: none
    create index concurrently planted_index on card (created_at);`,
  ),
} as const satisfies Readonly<Record<string, Migration>>;

/** Returns the migrations of a next version. */
export async function withPlanted(...planted: readonly Migration[]): Promise<readonly Migration[]> {
  return [...(await readMigrations()), ...planted];
}

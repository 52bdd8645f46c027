import { StartupProblem } from '../../foundation/startup-problem.ts';
import type { Database } from '../connection/database.ts';
import type { Statement } from '../connection/work.ts';
import { type Migration, numberOf, readMigrations } from './migration-files.ts';

export type AppliedMigration = {
  readonly name: string;
  readonly checksum: string;
  /** Number of the newest migration that a program must contain to run on the schema. Null in rows of versions before 0.1.0. */
  readonly needs: string | null;
};

/**
 * How the schema of a database relates to this program: `current`; `older`, which lacks migrations; `newer_usable`, whose
 * additional migrations this version can work with; `newer_unusable`, which this version must not run on.
 */
export type SchemaState = 'current' | 'older' | 'newer_usable' | 'newer_unusable';

/** As JSON, because ledgers of versions before 0.1.0 have no column `needs`. */
export const READ_APPLIED = `select name, checksum, to_jsonb(schema_migration) ->> 'needs' as needs from schema_migration`;

const STATEMENT: Statement = { name: 'read_schema_migration', text: READ_APPLIED, values: [] };

export const READ_NEWEST_MIGRATION: Statement = {
  name: 'read_newest_migration',
  text: 'select max(name) as name from schema_migration',
  values: [],
};

let known: Promise<readonly Migration[]> | undefined;

/**
 * Reads the current state of the schema with one statement on a table that has one row per migration, because the schema can
 * change under a running service. Throws {@link StoreFailure} if the database does not respond.
 */
export async function findSchemaState(database: Pick<Database, 'read'>): Promise<SchemaState> {
  // The files of a running program do not change.
  known ??= readMigrations();
  const rows = await database.read(STATEMENT);
  return compareSchema(
    await known,
    rows.map(({ name, checksum, needs }) => ({
      name: String(name),
      checksum: String(checksum),
      needs: needs === null ? null : String(needs),
    })),
  ).state;
}

export type SchemaComparison = {
  readonly state: SchemaState;
  /** Migrations of this program that the database lacks, in order. */
  readonly pending: readonly Migration[];
  /** Names of unknown migrations that this program can work with. */
  readonly usable: readonly string[];
  /** Unknown migrations that this program cannot work with. */
  readonly unusable: readonly AppliedMigration[];
};

export function compareSchema(
  migrations: readonly Migration[],
  applied: readonly AppliedMigration[],
): SchemaComparison {
  const names = new Set(migrations.map(({ name }) => name));
  const numbers = new Set(migrations.map(({ name }) => numberOf(name)));
  const has = new Set(applied.map(({ name }) => name));
  const pending = migrations.filter(({ name }) => !has.has(name));
  const unknown = applied
    .filter(({ name }) => !names.has(name))
    .sort((left, right) => (left.name < right.name ? -1 : 1));
  const isUsable = ({ needs }: AppliedMigration): boolean => needs !== null && numbers.has(needs);
  const unusable = unknown.filter((migration) => !isUsable(migration));
  const usable = unknown.filter(isUsable).map(({ name }) => name);
  return { state: stateOf(unusable.length, pending.length, usable.length), pending, usable, unusable };
}

function stateOf(unusable: number, pending: number, usable: number): SchemaState {
  if (unusable > 0) return 'newer_unusable';
  if (pending > 0) return 'older';
  return usable > 0 ? 'newer_usable' : 'current';
}

/**
 * Checksums of migrations that were edited before a release contained them. Later migrations lead to the same result. Ledgers that
 * were created from a clone at that time may have these checksums.
 */
const ALSO_APPLIED: ReadonlySet<string> = new Set([
  // 0021_card_erasure.sql, with the function that 0034_errors_of_erased_cards.sql replaces.
  '3c2f2bf704f1b9e57c0aa014fb33776fb1ca01e547fa9306389a7ff8a26d7454',
]);

/** The newest migration of version 0.1.0, the first whose ledgers can be upgraded. */
const FIRST_RELEASE = '0021';

/**
 * Throws a {@link StartupProblem} if this program must not run on the schema: it is from a version before 0.1.0, has newer
 * migrations that this version cannot work with, or has a migration that was edited after it was applied.
 */
export function requireUsableSchema(migrations: readonly Migration[], applied: readonly AppliedMigration[]): void {
  const lacking = compareSchema(migrations, applied).pending.find(({ name }) => numberOf(name) <= FIRST_RELEASE);
  // If every row has `needs`, a later version has begun to create the schema, and may continue.
  if (lacking !== undefined && applied.some(({ needs }) => needs === null)) {
    throw new StartupProblem(
      'schema-behind',
      `The ledger is from a version before 0.1.0, which this version cannot upgrade: it lacks the migration ${lacking.name}. ` +
        'Nothing was changed. Start version 0.1.0 on it once, and then this version.',
    );
  }
  const [first] = compareSchema(migrations, applied).unusable;
  if (first !== undefined) {
    const newest = migrations.at(-1)?.name ?? 'none';
    const needed =
      first.needs === null
        ? 'does not say which versions can run on it'
        : `needs a version that has the migration ${first.needs}`;
    throw new StartupProblem(
      'schema-too-new',
      `The schema of the database is newer than this version of the service: its migration ${first.name}, which this ` +
        `version does not know, ${needed}, and the newest one of this version is ${newest}. ` +
        'Start the version that applied it, or a newer one.',
    );
  }
  const checksums = new Map(applied.map(({ name, checksum }) => [name, checksum]));
  const edited = migrations.find(({ name, checksum }) => {
    const found = checksums.get(name);
    return found !== undefined && found !== checksum && !ALSO_APPLIED.has(found);
  });
  if (edited === undefined) return;
  throw new StartupProblem(
    'migration-changed',
    `The migration ${edited.name} was changed after it was applied to this database. ` +
      'Restore the file, and change the schema in a new migration.',
  );
}

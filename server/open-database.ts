import type { Configuration } from './config.ts';
import { StartupProblem } from './startup-problem.ts';
import { Database } from './store/database.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './store/embedded.ts';
import { migrate, pendingMigrations } from './store/migrate.ts';
import { preparePartitions } from './store/partition.ts';

/** The database that the configuration names, open, with the server when it is the embedded one. */
export type OpenDatabase = {
  readonly database: Database;
  readonly embedded: EmbeddedPostgres | undefined;
  /** Closes connections and stops the embedded server, in that order. */
  readonly close: () => Promise<void>;
};

/** Told what is going on, in sentences for people. */
export type DatabaseReports = {
  readonly onProgress: (line: string) => void;
  readonly onServerExit: (description: string) => void;
};

/**
 * Opens the database and makes sure that it answers. Throws {@link StartupProblem} when it does not.
 * The schema is left alone: see {@link prepareSchema}.
 */
export async function openDatabase(configuration: Configuration, reports: DatabaseReports): Promise<OpenDatabase> {
  const { databaseUrl, dataDirectory } = configuration;
  if (databaseUrl === null) {
    const embedded = await startEmbeddedPostgres({ dataDirectory, ...reports });
    const database = new Database(embedded.connection);
    return {
      database,
      embedded,
      close: async () => {
        await database.close();
        await embedded.stop();
      },
    };
  }
  const database = new Database({ connectionString: databaseUrl });
  try {
    await database.probe();
  } catch (error) {
    await database.close();
    const reason = error instanceof Error ? error.message || String(Reflect.get(error, 'code')) : String(error);
    throw new StartupProblem(
      `The database of DATABASE_URL cannot be used: ${reason}. Check the address, the user and that PostgreSQL runs.`,
    );
  }
  return { database, embedded: undefined, close: () => database.close() };
}

/**
 * Brings the schema up to date in a sandbox; in live mode a schema that is behind is a {@link StartupProblem}, because
 * when to change the schema of real books is the operator's decision.
 */
export async function prepareSchema(database: Database, mode: Configuration['mode']): Promise<void> {
  if (mode === 'sandbox') await migrate(database);
  const pending = await pendingMigrations(database);
  if (pending.length > 0) {
    throw new StartupProblem(
      `The database lacks ${pending.join(', ')}. Run "npx transfer-service migrate" with the same settings first.`,
    );
  }
  await preparePartitions(database, new Date());
}

import { execFile } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { promisify } from 'node:util';
import { startEmbeddedPostgres } from '../../server/postgres/embedded-postgres.ts';
import { migrate } from '../../server/store/migrations/migrate.ts';
import { makeTemplate, templatesOfThisRun } from './ledger-templates.ts';
import { STOCK_BINARIES } from './postgres/stock-postgres.ts';
import { temporaryDirectory } from './process.ts';

/**
 * Copies a ledger directory with PostgreSQL and its tables, which is created once per run. This saves a second in tests
 * that are not about creating a ledger. The copy has no rows, no seed and no mode yet.
 */
export async function ledgerDirectory(): Promise<Awaited<ReturnType<typeof temporaryDirectory>>> {
  const directory = await temporaryDirectory();
  const templates = templatesOfThisRun();
  // A stock server creates its own directory.
  if (templates === undefined || STOCK_BINARIES !== undefined) return directory;
  try {
    // -a keeps owners and modes: if root runs the tests, the files belong to PostgreSQL's user.
    await promisify(execFile)('cp', ['-a', await templateIn(templates), directory.path]);
    return directory;
  } catch (error) {
    await directory.remove();
    throw error;
  }
}

let made: Promise<string> | undefined;

function templateIn(templates: string): Promise<string> {
  made ??= makeTemplate(templates, 'ready', async (directory) => {
    await chmod(directory, 0o711);
    const embedded = await startEmbeddedPostgres({ dataDirectory: directory });
    await migrate(embedded.connection);
    await embedded.stop();
  });
  return made;
}

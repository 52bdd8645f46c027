/**
 * A service process that tests kill. It takes the lock of a data directory or starts its PostgreSQL, prints one line of
 * JSON to report this, and waits to be killed.
 *
 * node owner.ts lock|start <data directory> [<system directory>]
 */
import { lockDataDirectory } from '../../server/foundation/data-directory.ts';
import { startEmbeddedPostgres } from '../../server/postgres/embedded-postgres.ts';

const [, , what, dataDirectory = '', systemDirectory = ''] = process.argv;

try {
  if (what === 'lock') {
    await lockDataDirectory(dataDirectory, dataDirectory);
    report({ won: true });
  } else {
    // Without a system directory, the product chooses one. It holds files that PostgreSQL's user cannot reach where
    // they are.
    const where = systemDirectory === '' ? { dataDirectory } : { dataDirectory, systemDirectory };
    const postgres = await startEmbeddedPostgres(where);
    report({ won: true, serverProcessId: postgres.processId(), connection: postgres.connection });
  }
  setInterval(() => undefined, 60_000);
} catch (error) {
  report({ won: false, message: error instanceof Error ? error.message : String(error) });
}

function report(outcome: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}

import { Refusal } from '../../domain/refusal.ts';
import type { EmbeddedPostgres } from '../embedded-postgres/embedded-postgres.ts';
import type { Call, Reply } from '../operations/call.ts';

/** What the sandbox can do with its own database server. */
export type SandboxDatabase = Pick<EmbeddedPostgres, 'pause' | 'resume' | 'state'>;

/** stop_database: really stops the sandbox's database server, and keeps it stopped. */
export async function stopDatabase(database: SandboxDatabase | undefined, call: Call): Promise<Reply> {
  const own = insist(database, call);
  await own.pause();
  return { status: 200, body: JSON.stringify({ state: own.state() }) };
}

/** start_database: starts it again, and answers when it takes connections. */
export async function startDatabase(database: SandboxDatabase | undefined, call: Call): Promise<Reply> {
  const own = insist(database, call);
  await own.resume();
  return { status: 200, body: JSON.stringify({ state: own.state() }) };
}

function insist(database: SandboxDatabase | undefined, call: Call): SandboxDatabase {
  if (database !== undefined) return database;
  const message =
    'This sandbox uses the database of DATABASE_URL, which is not its own to stop and start. ' +
    'Start it without DATABASE_URL to have an embedded one.';
  throw new Refusal(`${call.operation}_schema`, message);
}

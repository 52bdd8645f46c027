import { type Call, type CallContext, type Reply, schemaRefusal } from '../../calls/call.ts';

/** What the sandbox can do with its own database server. */
export type SandboxDatabase = {
  readonly pause: () => Promise<void>;
  readonly resume: () => Promise<void>;
  readonly state: () => 'running' | 'starting' | 'stopped' | 'failed';
};

/** stop_database: stops the sandbox's database server until start_database. */
export async function stopDatabase(
  database: SandboxDatabase | undefined,
  call: Call<'stop_database'>,
): Promise<Reply<'stop_database'>> {
  const own = requireOwn(database, call);
  await own.pause();
  return { record: { state: own.state() } };
}

/** start_database: starts it again. The response is sent when it accepts connections. */
export async function startDatabase(
  database: SandboxDatabase | undefined,
  call: Call<'start_database'>,
): Promise<Reply<'start_database'>> {
  const own = requireOwn(database, call);
  await own.resume();
  return { record: { state: own.state() } };
}

function requireOwn(database: SandboxDatabase | undefined, call: CallContext): SandboxDatabase {
  if (database !== undefined) return database;
  const message =
    'This sandbox uses the database of DATABASE_URL, which it cannot stop or start. ' +
    'Start it without DATABASE_URL to have an embedded one.';
  throw schemaRefusal(call, message);
}

import type pg from 'pg';
import { DEMO_PROGRAM_ID } from '../../domain/sandbox.ts';
import { HOLD_SWITCH } from '../../server/store/locks.ts';
import { connect, type Ledger, openLedger, startServer, type TestServer, urlOf } from '../harness/ledger.ts';
import { type ServiceProcess, startService, temporaryDirectory, waitFor } from '../harness/process.ts';
import { type DatabaseProxy, startProxy, type TrapOutcome, type TrapPlace } from '../harness/proxy.ts';

/** A service process, a separate database server, and a proxy between them that can cut the connection at any point. */
export type Stage = {
  readonly server: TestServer;
  readonly proxy: DatabaseProxy;
  /** Reads the books directly, not through the proxy. */
  readonly ledger: Ledger;
  readonly service: () => ServiceProcess;
  /** Starts the service again after it was killed or stopped. */
  readonly restart: () => Promise<void>;
  /** Runs a function on a new connection that bypasses the proxy, as soon as the server accepts one. */
  readonly ask: <Result>(run: (client: pg.Client) => Promise<Result>) => Promise<Result>;
  readonly end: () => Promise<void>;
};

export async function openStage(): Promise<Stage> {
  const directory = await temporaryDirectory();
  const server = await startServer();
  const proxy = await startProxy(server.connection.host);
  const ledger = openLedger(server.connection);
  const DATABASE_URL = urlOf({ ...server.connection, host: proxy.host });
  const start = (): Promise<ServiceProcess> => startService({ DATABASE_URL, DATA_DIR: directory.path });
  let service = await start();
  return {
    server,
    proxy,
    ledger,
    service: () => service,
    restart: async () => {
      service = await start();
    },
    ask: (run) => askServer(server, run),
    end: async () => {
      await service.stop();
      await ledger.close();
      await proxy.close();
      await server.stop();
      await directory.remove();
    },
  };
}

async function askServer<Result>(server: TestServer, run: (client: pg.Client) => Promise<Result>): Promise<Result> {
  let client: pg.Client | undefined;
  await waitFor('a connection to the database server', async () => {
    client = await connect(server.connection).catch(() => undefined);
    return client !== undefined;
  });
  if (client === undefined) throw new Error('there is no connection');
  try {
    return await run(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Sets a trap. The result says whether it has sprung. */
export function lay(stage: Stage, at: TrapPlace, outcome: TrapOutcome, first?: () => unknown): Laid {
  const state = { sprung: false };
  stage.proxy.traps.push({
    at,
    spring: async () => {
      state.sprung = true;
      await first?.();
      return outcome;
    },
  });
  return state;
}

/** A trap that was set. */
export type Laid = { readonly sprung: boolean };

/** SQL that selects the service's backends. */
const BACKENDS = `pg_stat_activity where application_name = 'transfer-service' and pid <> pg_backend_pid()`;

/** Waits until the service is doing nothing in the database. After that, the books do not change. */
export async function untilAtRest(stage: Stage): Promise<void> {
  await waitFor('the database to be at rest', async () => (await countBackends(stage, "state <> 'idle'")) === 0);
}

/** Waits until a backend of the service is waiting for a lock, or until `isTooLate` returns true. */
export async function untilWaiting(stage: Stage, isTooLate = (): boolean => false): Promise<void> {
  const isWaiting = async () => (await countBackends(stage, "wait_event_type = 'Lock'")) > 0;
  await waitFor('a backend to wait for a lock', async () => isTooLate() || isWaiting());
}

/** Counts the service's backends. `which` is a condition in SQL. */
export const countBackends = (stage: Stage, which: string): Promise<number> =>
  stage.ask(async (client) => (await client.query(`select from ${BACKENDS} and ${which}`)).rowCount ?? 0);

/** Locks the demo program's accounts on another connection. Returns the function that releases them. */
export async function holdAccounts({ server }: Stage): Promise<() => Promise<void>> {
  return holdWith(server, 'select from account where program_id = $1 for no key update', [DEMO_PROGRAM_ID]);
}

/**
 * Takes locks on another connection that every load needs. Transfers wait for the switch, and funding movements wait
 * for their accounts. Returns the function that releases the locks.
 */
export async function holdLoads({ server }: Stage): Promise<() => Promise<void>> {
  const text = `${HOLD_SWITCH.text}, account_id from account where program_id = $1 for no key update`;
  return holdWith(server, text, [DEMO_PROGRAM_ID]);
}

/** Runs a statement in a transaction on another connection. Returns the function that rolls it back. */
export async function holdWith(
  server: TestServer,
  statement: string,
  values: unknown[] = [],
): Promise<() => Promise<void>> {
  const stranger = await connect(server.connection);
  await stranger.query('begin');
  await stranger.query(statement, values);
  return async () => {
    await stranger.query('rollback').catch(() => undefined);
    await stranger.end().catch(() => undefined);
  };
}

/** Terminates the service's backends, as an administrator can. `which` is a condition in SQL. */
export async function terminateBackends(stage: Stage, which = 'true'): Promise<void> {
  await stage.ask((client) => client.query(`select pg_terminate_backend(pid) from ${BACKENDS} and (${which})`));
}

/** Shuts the server down without waiting for its backends. The supervisor restarts it immediately. */
export function crashServer({ server }: Stage): void {
  const processId = server.embedded.processId();
  if (processId === undefined) throw new Error('there is no server to crash');
  process.kill(processId, 'SIGQUIT');
}

/** Crashes the server and waits until it is down. */
export async function crashServerFully(stage: Stage): Promise<void> {
  const { embedded } = stage.server;
  const before = embedded.processId();
  crashServer(stage);
  await waitFor('the crash', async () => embedded.state() !== 'running' || embedded.processId() !== before);
}

/** Waits until the server is running and the service is doing nothing in it. */
export async function untilReady(stage: Stage): Promise<void> {
  await waitFor('the server', async () => stage.server.embedded.state() === 'running');
  await untilAtRest(stage);
}

/** Changes the schema of a stage. The result undoes the change. */
export function change(there: string, back: string): (stage: Stage) => Promise<() => Promise<void>> {
  return async (stage) => {
    await stage.ask((client) => client.query(there));
    return () => stage.ask(async (client) => void (await client.query(back)));
  };
}

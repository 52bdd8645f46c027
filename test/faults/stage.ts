import type pg from 'pg';
import { DEMO_PROGRAM_ID } from '../../domain/sandbox.ts';
import { HOLD_SWITCH } from '../../server/store/locks.ts';
import { connect, type Ledger, openLedger, startServer, type TestServer } from '../harness/ledger.ts';
import { type ServiceProcess, startService, temporaryDirectory, waitFor } from '../harness/process.ts';
import { type DatabaseProxy, startProxy, type TrapOutcome, type TrapPlace } from '../harness/proxy.ts';

/** A service process, a database server of the test's own, and a wire between them that can be cut anywhere. */
export type Stage = {
  readonly server: TestServer;
  readonly proxy: DatabaseProxy;
  /** Reads the books past the wire. */
  readonly ledger: Ledger;
  readonly service: () => ServiceProcess;
  /** Starts the service anew, after it was killed or has ended. */
  readonly restart: () => Promise<void>;
  /** Runs something on a connection of its own, past the wire, as soon as the server takes one. */
  readonly ask: <Result>(run: (client: pg.Client) => Promise<Result>) => Promise<Result>;
  readonly end: () => Promise<void>;
};

/** Sets the stage up. */
export async function openStage(): Promise<Stage> {
  const directory = await temporaryDirectory();
  const server = await startServer();
  const proxy = await startProxy(server.connection.host);
  const ledger = openLedger(server.connection);
  const { port, user, database } = server.connection;
  const url = `postgresql://${user}@/${database}?host=${encodeURIComponent(proxy.host)}&port=${port}`;
  const start = (): Promise<ServiceProcess> => startService({ DATABASE_URL: url, DATA_DIR: directory.path });
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

/** Lays a trap, and tells later whether it has sprung. */
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

/** A trap; `first` has run when the connection meets its outcome. */
export type Laid = { readonly sprung: boolean };

/** Backends of the service that are in the middle of something. */
const AT_WORK = `select count(*)::integer as count from pg_stat_activity
  where application_name = 'transfer-service' and state <> 'idle' and pid <> pg_backend_pid()`;

/** Backends of the service that wait for a lock of somebody else. */
const WAITING = `select count(*)::integer as count from pg_stat_activity
  where application_name = 'transfer-service' and wait_event_type = 'Lock'`;

/** Waits until nothing of the service is under way in the database any more: from then on the books stay as they are. */
export async function untilAtRest(stage: Stage): Promise<void> {
  await waitFor('the database to be at rest', () => isNone(stage, AT_WORK));
}

/** Waits until a backend of the service waits for a lock, or until it is too late for that. */
export async function untilWaiting(stage: Stage, isTooLate = (): boolean => false): Promise<void> {
  await waitFor('a backend to wait for a lock', async () => isTooLate() || !(await isNone(stage, WAITING)));
}

function isNone(stage: Stage, counting: string): Promise<boolean> {
  return stage.ask(async (client) => {
    const { rows } = await client.query<{ count: number }>(counting);
    return rows[0]?.count === 0;
  });
}

/** A stranger that holds the accounts of the demo program until it is told to let go. */
export async function holdAccounts({ server }: Stage): Promise<() => Promise<void>> {
  return holdWith(server, 'select from account where program_id = $1 for no key update', [DEMO_PROGRAM_ID]);
}

/**
 * A stranger that holds what every change of money waits for while it is loaded, until it is told to let go: transfers for
 * the switch, movements of funding for their accounts.
 */
export async function holdLoads({ server }: Stage): Promise<() => Promise<void>> {
  const text = `${HOLD_SWITCH.text}, account_id from account where program_id = $1 for no key update`;
  return holdWith(server, text, [DEMO_PROGRAM_ID]);
}

/** A stranger in a transaction of its own, which has run one statement. */
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

/** Ends the service's backends as an administrator does; `which` narrows them, in SQL. */
export async function terminateBackends(stage: Stage, which = 'true'): Promise<void> {
  await stage.ask((client) =>
    client.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'transfer-service' and pid <> pg_backend_pid() and (${which})`),
  );
}

/** Immediate shutdown: no backend ends what it does. The supervisor starts the server again at once. */
export function crashServer({ server }: Stage): void {
  const processId = server.embedded.processId();
  if (processId === undefined) throw new Error('there is no server to crash');
  process.kill(processId, 'SIGQUIT');
}

/** The same; ends when the server has gone. */
export async function crashServerFully(stage: Stage): Promise<void> {
  const { embedded } = stage.server;
  const before = embedded.processId();
  crashServer(stage);
  await waitFor('the crash', async () => embedded.state() !== 'running' || embedded.processId() !== before);
}

/** Waits until the server runs and has nothing to do. */
export async function untilReady(stage: Stage): Promise<void> {
  await waitFor('the server', async () => stage.server.embedded.state() === 'running');
  await untilAtRest(stage);
}

/** Changes the schema for as long as a fault lasts. */
export async function change(stage: Stage, there: string, back: string): Promise<() => Promise<void>> {
  await stage.ask((client) => client.query(there));
  return () => stage.ask(async (client) => void (await client.query(back)));
}

import { killPostgres, killServer } from '../crashes/killing.ts';
import { startServer } from '../harness/ledger.ts';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import { embeddedServerOf, temporaryDirectory, waitFor } from '../harness/process.ts';
import { type DatabaseProxy, startProxy } from '../harness/proxy.ts';

/** The database of a stage. */
export type StageDatabase = {
  /** What the service is given to find it. */
  readonly settings: Readonly<Record<string, string>>;
  readonly directory: string;
  /** What is between the service and the database, if the service does not start it by itself. */
  readonly proxy: DatabaseProxy | undefined;
  /** The way to it past the proxy. */
  readonly url: () => Promise<string>;
  /** SIGKILL to all of its processes; resolves to whether another server runs in its place. */
  readonly kill: () => Promise<() => Promise<boolean>>;
  readonly remove: () => Promise<void>;
};

/** One that the service starts by itself. */
export async function openEmbedded(): Promise<StageDatabase> {
  const { path, remove } = await ledgerDirectory();
  const url = async () => (await embeddedServerOf(path)).databaseUrl;
  const kill = async () => {
    const killed = await killPostgres(path, true);
    return async () => {
      const server = await embeddedServerOf(path).catch(() => undefined);
      return server !== undefined && server.processId !== killed;
    };
  };
  return { settings: { DATA_DIR: path }, directory: path, proxy: undefined, url, kill, remove };
}

/** One behind a proxy, which is not killed with the service. */
export async function openWired(): Promise<StageDatabase> {
  const { path, remove } = await temporaryDirectory();
  const { connection, embedded, stop } = await startServer();
  const proxy = await startProxy(connection.host);
  const { user, database, port } = connection;
  const at = (host: string) => `postgresql://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
  return {
    settings: { DATA_DIR: path, DATABASE_URL: at(proxy.host) },
    directory: path,
    proxy,
    url: async () => at(connection.host),
    kill: async () => {
      await waitFor('a server to kill', async () => embedded.processId() !== undefined);
      const killed = embedded.processId() ?? 0;
      await killServer(killed, true);
      return async () => embedded.state() === 'running' && embedded.processId() !== killed;
    },
    remove: async () => {
      await proxy.close();
      await stop();
      await remove();
    },
  };
}

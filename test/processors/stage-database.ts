import { killPostgres, killServer } from '../../verification/nemeses/kill.ts';
import { startServer } from '../harness/ledger.ts';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import { embeddedServerOf, type ServiceSettings, temporaryDirectory, waitFor } from '../harness/process.ts';
import { type DatabaseProxy, startProxy } from '../harness/proxy.ts';

export type StageDatabase = {
  /** The service's settings for this database. */
  readonly settings: ServiceSettings;
  readonly directory: string;
  /** The proxy between the service and a database that the service does not start itself. */
  readonly proxy: DatabaseProxy | undefined;
  /** Returns the address of the database without the proxy. */
  readonly url: () => Promise<string>;
  /**
   * Sends SIGKILL to all processes of the server. The returned function says whether another server has replaced it.
   */
  readonly kill: () => Promise<() => Promise<boolean>>;
  readonly remove: () => Promise<void>;
};

/** Opens a database that the service itself starts. */
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

/** Opens a database behind a proxy. The database keeps running if the service is killed. */
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

import type { Resources } from '../../../bench/resources.ts';
import { startServer, type TestServer } from '../../../test/harness/ledger.ts';
import { temporaryDirectory } from '../../../test/harness/process.ts';
import { lastingPort } from '../../../test/sdk/lasting-port.ts';
import { Services } from './services.ts';

/** A fleet's own database, its first program, and the settings of all its processes. */
export type Beginning = {
  readonly server: TestServer;
  readonly main: string;
  readonly settings: Readonly<Record<string, string>>;
};

/** Services that share a database. The database outlives them. A service that replaces another one gets the same address. */
export type Fleet = Services & { readonly server: TestServer; readonly end: () => Promise<void> };

/**
 * Starts services on a database that this process owns, because a service stops its embedded database when it exits.
 */
export async function startFleet(resources: Resources, processes: number, beginning?: Beginning): Promise<Fleet> {
  const server = beginning?.server ?? (await startServer());
  const stopServer = resources.add('the database', server.stop);
  const fleet = new Services(beginning?.main);
  const directories: (() => Promise<void>)[] = [];
  const end = resources.add('the services', async () => {
    await Promise.all(fleet.urls.map((_, index) => fleet.stop(index)));
    for (const remove of directories) await remove();
  });
  for (let index = 0; index < processes; index += 1) {
    const { path, remove } = await temporaryDirectory();
    directories.push(remove);
    const address = { DATABASE_URL: server.embedded.url, DATA_DIR: path, PORT: String(await lastingPort()) };
    await fleet.add({ ...address, ...beginning?.settings });
  }
  return Object.assign(fleet, {
    server,
    end: async () => {
      await end();
      await stopServer();
    },
  });
}

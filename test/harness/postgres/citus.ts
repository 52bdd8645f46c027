import { existsSync } from 'node:fs';
import { chown, mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { chooseServerUser } from '../../../server/postgres/ledger-location.ts';
import { distribute, type LocatedLedger } from '../../../server/store/distribute.ts';
import { migrate } from '../../../server/store/migrations/migrate.ts';
import { copyTemplate, PORT, PostgresServer, provision, SERVICE, type StockPostgres } from './postgres-server.ts';

// Runs a Citus cluster for tests. Its nodes listen on sockets, and the directories of the sockets serve as the nodes'
// names.

const SETTINGS = ['shared_preload_libraries=citus', 'wal_level=logical', 'max_connections=200'] as const;

export type CitusNode = {
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly database: string;
  };
  readonly server: PostgresServer;
};

/** The nodes of a cluster. The first one is the coordinator. */
export type CitusCluster = {
  readonly coordinator: CitusNode;
  readonly workers: readonly CitusNode[];
  readonly stop: () => Promise<void>;
};

/** Starts the nodes in a directory, creates them if necessary, and joins them into a cluster. */
export async function startCluster(directory: string, binaries: string, workers: number): Promise<CitusCluster> {
  const isNew = !existsSync(join(directory, 'coordinator'));
  const names = ['coordinator', ...Array.from({ length: workers }, (_, index) => `worker-${index + 1}`)];
  const nodes = await Promise.all(names.map((name) => startNode(join(directory, name), binaries)));
  const [coordinator, ...others] = nodes;
  if (coordinator === undefined) throw new Error('the cluster has no coordinator');
  if (isNew) {
    // This cannot be in the template, because the extension gives each node an id.
    await Promise.all(nodes.map((node) => asSuperuser(node, (client) => client.query('create extension citus'))));
    await asSuperuser(coordinator, async (client) => {
      await client.query('select citus_set_coordinator_host($1, $2)', [coordinator.connection.host, PORT]);
      for (const { connection } of others) await client.query('select citus_add_node($1, $2)', [connection.host, PORT]);
    });
  }
  const stop = async (): Promise<void> => void (await Promise.all(nodes.map(({ server }) => server.end('SIGINT'))));
  return { coordinator, workers: others, stop };
}

async function startNode(directory: string, binaries: string): Promise<CitusNode> {
  const files = join(directory, 'postgresql');
  await mkdir(directory, { recursive: true });
  if (!existsSync(files)) {
    await copyTemplate(files, 'citus', binaries, async (place) => {
      const node = await startFiles(place, binaries);
      await provision(node);
      await asSuperuser(node, async (client) => {
        for (const role of ['application', 'background', 'authentication']) {
          await client.query(`alter role transfer_service_${role} login`);
          await client.query(`alter role transfer_service_${role} set citus.allow_nested_distributed_execution = on`);
        }
      });
      await node.server.end('SIGINT');
    });
  }
  return startFiles(directory, binaries);
}

async function startFiles(directory: string, binaries: string): Promise<CitusNode> {
  const user = await chooseServerUser();
  const host = join(directory, 'socket');
  await mkdir(host, { recursive: true });
  await chown(host, user.uid, user.gid);
  // The node connects to itself under this name.
  const settings = [...SETTINGS, `citus.local_hostname=${host}`];
  const server = new PostgresServer(join(binaries, 'postgres'), join(directory, 'postgresql'), host, user, settings);
  await server.start();
  return { connection: { host, port: PORT, user: SERVICE, database: SERVICE }, server };
}

/** Runs a function in the database of the service as a superuser. */
export async function asSuperuser(
  { connection }: Pick<CitusNode, 'connection'>,
  run: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  const client = new pg.Client({ ...connection, user: 'postgres' });
  await client.connect();
  await run(client).finally(() => client.end());
}

/** Creates a ledger's tables on the coordinator and distributes them. */
export async function makePlace({ coordinator }: CitusCluster): Promise<LocatedLedger> {
  await migrate(coordinator.connection);
  return distribute(coordinator.connection);
}

/** Opens a ledger on a cluster with one worker, and treats the worker as a single PostgreSQL server. */
export async function openCitusPlacement(dataDirectory: string, binaries: string): Promise<StockPostgres> {
  const { coordinator, workers, stop } = await startCluster(dataDirectory, binaries, 1);
  const [worker] = workers;
  if (worker === undefined) throw new Error('the cluster has no worker');
  const { schema } = await makePlace({ coordinator, workers, stop });
  // Tests that read tables directly name no schema, and find the server by the data directory.
  await asSuperuser(coordinator, async (client) => {
    await client.query(`alter role ${SERVICE} set search_path = ${schema}`);
    await client.query(`alter role ${SERVICE} set citus.allow_nested_distributed_execution = on`);
  });
  await symlink(join('worker-1', 'postgresql'), join(dataDirectory, 'postgresql'));
  const { host } = worker.connection;
  return {
    connection: { ...worker.connection, schema },
    url: `postgresql://${SERVICE}@/${SERVICE}?host=${encodeURIComponent(host)}&port=${PORT}`,
    serverLog: worker.server.log,
    processId: () => worker.server.processId,
    state: () => (worker.server.processId === undefined ? 'stopped' : 'running'),
    pause: () => worker.server.end('SIGQUIT'),
    resume: () => worker.server.start(),
    stop,
  };
}

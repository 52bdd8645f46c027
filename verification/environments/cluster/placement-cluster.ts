import type { Resources } from '../../../bench/resources.ts';
import { movePlacement } from '../../../server/store/distribute.ts';
import {
  asSuperuser,
  type CitusCluster,
  type CitusNode,
  makePlace,
  startCluster,
} from '../../../test/harness/postgres/citus.ts';
import { SERVICE } from '../../../test/harness/postgres/postgres-server.ts';
import { temporaryDirectory } from '../../../test/harness/process.ts';
import { type DatabaseProxy, startProxy } from '../../../test/harness/proxy.ts';
import { killTree } from '../../nemeses/kill.ts';

/** A ledger in a Citus cluster with two workers. Services know the addresses of both workers. */
export class PlacementCluster {
  readonly databaseUrl: string;
  readonly schema: string;
  /** The proxy in front of each worker. */
  readonly #proxies: ReadonlyMap<CitusNode, DatabaseProxy>;
  readonly #cluster: CitusCluster;
  #place: CitusNode;

  private constructor(
    cluster: CitusCluster,
    schema: string,
    place: CitusNode,
    proxies: ReadonlyMap<CitusNode, DatabaseProxy>,
  ) {
    this.#cluster = cluster;
    this.schema = schema;
    this.#place = place;
    this.#proxies = proxies;
    const hosts = [...proxies.values()].map(({ host }) => encodeURIComponent(host)).join();
    this.databaseUrl = `postgresql://${SERVICE}@/${SERVICE}?host=${hosts}`;
  }

  static async start(resources: Resources, binaries: string): Promise<PlacementCluster> {
    const { path, remove } = await temporaryDirectory();
    resources.add('the files of the cluster', remove);
    const cluster = await startCluster(path, binaries, 2);
    resources.add('the cluster', cluster.stop);
    const { schema, node } = await makePlace(cluster);
    const place = cluster.workers.find(({ connection }) => connection.host === node.host);
    if (place === undefined) throw new Error(`no worker is ${node.host}`);
    await asSuperuser(cluster.coordinator, async (client) => {
      await client.query(`alter role ${SERVICE} set search_path = ${schema}`);
    });
    const proxies = new Map<CitusNode, DatabaseProxy>();
    for (const worker of cluster.workers) {
      const proxy = await startProxy(worker.connection.host);
      resources.add('a proxy', proxy.close);
      proxies.set(worker, proxy);
    }
    return new PlacementCluster(cluster, schema, place, proxies);
  }

  /** Connects directly to the worker that has the tables, without its proxy. */
  get connection() {
    return this.#place.connection;
  }

  /** The proxy in front of the worker that has the tables. */
  get proxy(): DatabaseProxy {
    const proxy = this.#proxies.get(this.#place);
    if (proxy === undefined) throw new Error('there is no proxy');
    return proxy;
  }

  /** Moves the tables to the other worker. */
  async move(): Promise<void> {
    const { coordinator, workers } = this.#cluster;
    const to = workers.find((worker) => worker !== this.#place);
    if (to === undefined) throw new Error('there is no other worker');
    await movePlacement({ ...coordinator.connection, schema: this.schema }, to.connection);
    this.#place = to;
  }

  /** Kills all processes of the worker that has the tables. The worker restarts at once. */
  async killWorker(): Promise<void> {
    const { processId } = this.#place.server;
    if (processId === undefined) throw new Error('the worker does not run');
    await killTree(processId);
  }

  /** Ends the coordinator without a clean shutdown, until {@link resumeCoordinator}. */
  async killCoordinator(): Promise<void> {
    await this.#cluster.coordinator.server.end('SIGQUIT');
  }

  async resumeCoordinator(): Promise<void> {
    await this.#cluster.coordinator.server.start();
  }
}

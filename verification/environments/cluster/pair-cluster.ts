import { join } from 'node:path';
import type { Resources } from '../../../bench/resources.ts';
import { SERVICE } from '../../../test/harness/postgres/postgres-server.ts';
import { temporaryDirectory, waitFor } from '../../../test/harness/process.ts';
import type { Replication } from '../../campaign.ts';
import { Link } from '../../nemeses/link.ts';
import { DatabaseNode } from './database-node.ts';

/** How services find the primary: by one address that always points to it, as with HAProxy, or by the nodes' addresses. */
export type Addressing = 'one_address' | 'all_hosts';

/** A primary, its standby, and a link between them that can withhold data. Services reach the primary at `databaseUrl`. */
export class PairCluster {
  readonly databaseUrl: string;
  /** Carries the replication from the primary to the standby. */
  readonly link: Link;
  readonly #linkDirectory: string;
  readonly #replication: Replication;
  /** The link behind the primary's one address, or undefined if services know the addresses of both nodes. */
  readonly #entrance: Link | undefined;
  #primary: DatabaseNode;
  #standby: DatabaseNode;
  /** Whether the standby is a primary that was shut down, so that it needs no copy to follow the new one. */
  #canFollow = false;

  private constructor(
    [primary, standby]: readonly [DatabaseNode, DatabaseNode],
    directory: string,
    link: Link,
    entrances: readonly Link[],
    replication: Replication,
  ) {
    this.#primary = primary;
    this.#standby = standby;
    this.link = link;
    this.#linkDirectory = directory;
    this.#replication = replication;
    this.#entrance = entrances.length === 1 ? entrances[0] : undefined;
    const hosts = entrances.map(({ port }) => `127.0.0.1:${port}`).join();
    this.databaseUrl = `postgresql://${SERVICE}@${hosts}/${SERVICE}?target_session_attrs=read-write`;
  }

  /** Starts both nodes with an empty database for the service. Ending `resources` stops and removes them. */
  static async start(resources: Resources, replication: Replication, addressing: Addressing): Promise<PairCluster> {
    const { path, remove } = await temporaryDirectory();
    resources.add('the files of the cluster', remove);
    const nodes = await DatabaseNode.pair(path);
    for (const node of nodes) resources.add(node.name, () => node.kill());
    const [primary, standby] = nodes;
    const open = async (opening: Promise<Link>): Promise<Link> => {
      const opened = await opening;
      resources.add('a link', () => opened.close());
      return opened;
    };
    const directory = join(path, 'link');
    const link = await open(Link.inDirectory(directory, primary.socket));
    const targets = addressing === 'one_address' ? [primary] : [primary, standby];
    const entrances = await Promise.all(targets.map(({ socket }) => open(Link.atPort(socket))));
    await primary.start();
    const cluster = new PairCluster(nodes, directory, link, entrances, replication);
    await cluster.complete();
    return cluster;
  }

  get primary(): DatabaseNode {
    return this.#primary;
  }

  get standby(): DatabaseNode {
    return this.#standby;
  }

  /** Connects directly to the primary, without a link. */
  get connection() {
    return this.#primary.connection;
  }

  /** Shuts the primary down, which waits until the standby has everything. */
  async handOver(): Promise<void> {
    this.#entrance?.leadTo(undefined);
    await this.#primary.stop();
    this.#entrance?.cut();
    this.#canFollow = true;
  }

  /** Ends the primary as a power loss would. Data in transit to the standby is lost. */
  async losePrimary(): Promise<void> {
    this.#entrance?.leadTo(undefined);
    await this.#primary.kill();
    this.link.cut();
    this.#entrance?.cut();
  }

  /** Promotes the standby, and directs new connections to it. The new primary has no standby to wait for yet. */
  async replacePrimary(): Promise<void> {
    await this.#standby.ask('select pg_promote()');
    [this.#primary, this.#standby] = [this.#standby, this.#primary];
    this.#entrance?.leadTo(this.#primary.socket);
  }

  /** Separates primary and standby in both directions. Services still reach the primary. */
  isolatePrimary(): void {
    this.link.withhold('from_server', 'from_clients');
  }

  /** Separates services and primary in both directions. The standby still follows the primary. */
  hidePrimary(): void {
    this.#oneEntrance.withhold('from_server', 'from_clients');
  }

  /** Connects services and primary again, and delivers everything withheld. */
  showPrimary(): void {
    this.#oneEntrance.pass();
  }

  /** Cuts the services' open connections, which may go to the old primary. */
  cutEntrance(): void {
    this.#oneEntrance.cut();
  }

  get #oneEntrance(): Link {
    if (this.#entrance === undefined)
      throw new Error('services reach this cluster by all hosts, so no link can hide it');
    return this.#entrance;
  }

  /** Makes the other node, in any state, a standby of the primary, and waits until it follows. */
  async complete(): Promise<void> {
    if (!this.#canFollow) await this.#standby.kill();
    this.link.cut();
    this.link.leadTo(this.#primary.socket);
    if (this.#canFollow) await this.#standby.follow(this.#linkDirectory);
    else await this.#standby.copyFrom(this.#primary, this.#linkDirectory);
    this.#canFollow = false;
    await this.#standby.start();
    await this.untilFollowing();
  }

  /** Waits until the standby has all earlier commits. With synchronous replication, later commits wait for the standby. */
  async untilFollowing(): Promise<void> {
    const primary = this.#primary;
    await this.#untilStandby("state = 'streaming'");
    if (this.#replication === 'synchronous') {
      await primary.set('synchronous_standby_names', this.#standby.name);
      await this.#untilStandby("sync_state = 'sync'");
      await waitFor('commits to wait for the standby', () => this.#doCommitsWait());
    }
    const [{ lsn } = { lsn: '' }] = await primary.ask<{ lsn: string }>('select pg_current_wal_lsn()::text as lsn');
    await this.#untilStandby(`flush_lsn >= '${lsn}'`);
  }

  /** Counts the transfers, all unacknowledged, that only the old primary has. */
  async countLeftBehind(): Promise<number> {
    // Ends the waits for the standby, as an administrator would. The transfers then become visible on this server only.
    await this.#standby.ask("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'");
    const idsOn = async (node: DatabaseNode): Promise<readonly string[]> => {
      const rows = await node.ask<{ id: string }>('select transfer_id::text as id from transfer');
      return rows.map(({ id }) => id);
    };
    const there = new Set(await idsOn(this.#primary));
    return (await idsOn(this.#standby)).filter((id) => !there.has(id)).length;
  }

  async #untilStandby(condition: string): Promise<void> {
    const { name } = this.#standby;
    const asked = `select from pg_stat_replication where application_name = '${name}' and ${condition}`;
    await waitFor(`the standby: ${condition}`, async () => (await this.#primary.ask(asked)).length > 0);
  }

  /**
   * Tests whether a commit waits for the standby. After a reload, PostgreSQL shows the new setting at once, but applies it only
   * when the checkpointer has read it. Until then it acknowledges transfers that only the primary has.
   */
  async #doCommitsWait(): Promise<boolean> {
    this.link.withhold('from_server');
    let isOver = false;
    const commit = this.#primary.ask("select pg_logical_emit_message(true, 'campaign', 'probe')").finally(() => {
      isOver = true;
    });
    try {
      const waiting = "select from pg_stat_activity where wait_event = 'SyncRep'";
      while (!isOver) if ((await this.#primary.ask(waiting)).length > 0) return true;
      return false;
    } finally {
      this.link.pass();
      await commit;
    }
  }
}

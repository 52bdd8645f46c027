import { join } from 'node:path';
import type { Resources } from '../../../bench/resources.ts';
import { temporaryDirectory, waitFor } from '../../../test/harness/process.ts';
import { Link } from '../../nemeses/link.ts';
import { DatabaseNode } from './database-node.ts';

/** Whether commits on the primary wait for the standby. If not, a failover can lose acknowledged transfers. */
export type Replication = 'synchronous' | 'asynchronous';

/** How services find the primary: by one address that always leads to it, as with HAProxy, or by both nodes' addresses. */
export type Addressing = 'one_address' | 'all_hosts';

const SERVICE = 'transfer_service';

/** A primary, its standby, and a link between them that can withhold data. Services reach the primary at `databaseUrl`. */
export class Cluster {
  readonly databaseUrl: string;
  /** Carries the replication from the primary to the standby. */
  readonly link: Link;
  readonly #linkDirectory: string;
  readonly #replication: Replication;
  /** The link behind the one address, or undefined if services know both nodes. */
  readonly #entrance: Link | undefined;
  #primary: DatabaseNode;
  #standby: DatabaseNode;

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
    this.#linkDirectory = join(directory, 'link');
    this.#replication = replication;
    this.#entrance = entrances.length === 1 ? entrances[0] : undefined;
    const hosts = entrances.map(({ port }) => `127.0.0.1:${port}`).join();
    this.databaseUrl = `postgresql://${SERVICE}@${hosts}/${SERVICE}?target_session_attrs=read-write`;
  }

  /** Starts both nodes with an empty database for the service. Ending `resources` stops and removes them. */
  static async start(
    resources: Resources,
    replication: Replication,
    addressing: Addressing = 'one_address',
  ): Promise<Cluster> {
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
    const link = await open(Link.inDirectory(join(path, 'link'), primary.socket));
    const targets = addressing === 'one_address' ? [primary] : [primary, standby];
    const entrances = await Promise.all(targets.map(({ socket }) => open(Link.atPort(socket))));
    await primary.start();
    const cluster = new Cluster(nodes, path, link, entrances, replication);
    await cluster.rebuild();
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

  /** Ends the primary like a loss of power. Data in transit to the standby is lost. */
  async killPrimary(): Promise<void> {
    this.#entrance?.leadTo(undefined);
    await this.#primary.kill();
    this.link.cut();
    this.#entrance?.cut();
  }

  /** Separates primary and standby in both directions. Services still reach the primary. */
  isolatePrimary(): void {
    this.link.withhold('from_server', 'from_clients');
  }

  /** Separates services and primary in both directions. The standby still follows the primary. */
  hidePrimary(): void {
    this.#entrance?.withhold('from_server', 'from_clients');
  }

  /** Connects services and primary again, and delivers everything withheld. */
  showPrimary(): void {
    this.#entrance?.pass();
  }

  /**
   * Promotes the standby, and leads new connections to it. The new primary has no standby to wait for yet. Calls `begins` just
   * before the promotion.
   */
  async promote(begins: () => void = () => undefined): Promise<void> {
    begins();
    await this.#standby.ask('select pg_promote()');
    [this.#primary, this.#standby] = [this.#standby, this.#primary];
    this.#entrance?.leadTo(this.#primary.socket);
  }

  /** Swaps the roles. Shuts the primary down, which waits until the standby has everything, and promotes the standby. */
  async switchOver(begins: () => void): Promise<void> {
    begins();
    this.#entrance?.leadTo(undefined);
    await this.#primary.stop();
    this.#entrance?.cut();
    await this.promote();
    this.link.leadTo(this.#primary.socket);
    await this.#standby.follow(this.#linkDirectory);
    await this.#standby.start();
    await this.untilFollowing();
  }

  /** Cuts the services' open connections, which may lead to the old primary. */
  cutEntrance(): void {
    this.#entrance?.cut();
  }

  /** Rebuilds the other node, in any state, as a standby of the primary, and waits until it follows. */
  async rebuild(): Promise<void> {
    await this.#standby.kill();
    this.link.cut();
    this.link.leadTo(this.#primary.socket);
    await this.#standby.copyFrom(this.#primary, this.#linkDirectory);
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
    const commit = this.#primary.ask("select pg_logical_emit_message(true, 'torture', 'probe')").finally(() => {
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

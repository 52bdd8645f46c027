import { performance } from 'node:perf_hooks';
import { setDatabaseTime } from '../../foundation/database-clock.ts';
import type { Database } from '../../store/connection/database.ts';
import {
  claimShards,
  type HeldShard,
  LEASE_SECONDS,
  noteWorker,
  READ_WORKERS,
  releaseShards,
  removeWorker,
  renewShards,
  SHARDS,
  toHeldShards,
  toWorkers,
} from '../../store/webhooks/shard.ts';

/**
 * If the last renewal is older than this, nothing is sent. The lease itself ends later, and only then can other processes take
 * the shards.
 */
const MAX_AGE_MILLISECONDS = (LEASE_SECONDS - 3) * 1000;

/** The shards that a process holds, and the number of processes that deliver. */
export class Leases {
  readonly #database: Database;
  readonly #owner: string;
  /** When the last renewal was sent, by the monotonic clock and by the time of day. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  #renewedOn = 0;
  #held: readonly HeldShard[] = [];
  #workers = 1;

  constructor(database: Database, owner: string) {
    this.#database = database;
    this.#owner = owner;
  }

  get held(): readonly HeldShard[] {
    return this.#held;
  }

  /** The number of processes that deliver, including this one. */
  get workers(): number {
    return this.#workers;
  }

  /**
   * Whether the leases were renewed recently, by both clocks. One clock is not enough: the monotonic clock stops while the machine
   * is suspended, and the time of day may be set back.
   */
  get areValid(): boolean {
    const isRecent = performance.now() - this.#renewedAt < MAX_AGE_MILLISECONDS;
    return isRecent && Date.now() - this.#renewedOn < MAX_AGE_MILLISECONDS;
  }

  /** The number of shards that this process holds beyond its share. */
  get excess(): number {
    return Math.max(0, this.#held.length - this.#share);
  }

  get #share(): number {
    return Math.ceil(SHARDS / Math.max(1, this.#workers));
  }

  /** Renews the leases, and takes shards up to the share of this process. Rethrows database errors. */
  async renew(): Promise<void> {
    const owner = this.#owner;
    const sentAt = performance.now();
    const sentOn = Date.now();
    const [, renewed = [], workerRows = []] = await this.#database.inOnePacket([
      noteWorker({ owner }),
      renewShards({ owner, seconds: LEASE_SECONDS }),
      READ_WORKERS,
    ]);
    const { now, workers } = toWorkers(workerRows);
    setDatabaseTime(now, (sentAt + performance.now()) / 2);
    this.#workers = workers;
    this.#held = toHeldShards(renewed);
    this.#renewedAt = sentAt;
    this.#renewedOn = sentOn;
    const count = this.#share - this.#held.length;
    if (count <= 0) return;
    const [claimed = []] = await this.#database.inOnePacket([claimShards({ owner, seconds: LEASE_SECONDS, count })]);
    this.#held = [...this.#held, ...toHeldShards(claimed)];
  }

  async release(shards: readonly number[]): Promise<void> {
    await this.#database.inOnePacket([releaseShards({ owner: this.#owner, shards })]);
    this.#held = this.#held.filter(({ shard }) => !shards.includes(shard));
  }

  async close(): Promise<void> {
    const owner = this.#owner;
    const shards = this.#held.map(({ shard }) => shard);
    await this.#database.inOnePacket([releaseShards({ owner, shards }), removeWorker({ owner })]);
    this.#held = [];
    this.#renewedAt = Number.NEGATIVE_INFINITY;
  }
}

import { OperationFailure } from '../calls/call.ts';
import { notify } from '../foundation/notify.ts';
import { Chain } from './chain.ts';
import { Contention } from './contention.ts';
import type { CommitObserver, GroupWork, Pending } from './group-work.ts';
import { LockingPath, type Reachable } from './locking-path.ts';

// Invariant: Requests with the same idempotency key move money once and get one response
// Kept by: the key's lock, and its row in the transaction that moves the money
// Tested by: `test/store/races.test.ts`, `test/crashes`

// Invariant: A transfer whose response was 201 is never lost
// Kept by: the response is sent after COMMIT; `fsync`, `full_page_writes` and `synchronous_commit` on
// Tested by: `test/crashes/kill.test.ts`, `test/start/foreign-server.test.ts`

export type LaneBounds = {
  readonly batch: number;
  /** Maximum number of waiting items. Callers beyond it are refused immediately. */
  readonly waiting: number;
  /** How much data about committed transfers is remembered. Accounts are kept as objects, everything else as packed bytes. */
  readonly remembered?: { readonly accounts: number; readonly bytes: number };
};

/** Number of items that may always wait, even if the groups are slow: two full groups. */
const ALWAYS_ADMITTED = 512;

/** If an item would wait longer than this, it is refused, so that other requests get a response in time. */
const MAX_WAIT_MILLISECONDS = 2000;

/** The weight of the last group in the average time between the starts of groups. */
const NEWEST_SHARE = 0.2;

/** After a chain broke, no chain begins for this long, because the cause of the break may change the accounts again. */
const FIRST_PAUSE_MILLISECONDS = 200;

/** If chains keep breaking soon after the pause, the pause doubles, up to this time. */
const LAST_PAUSE_MILLISECONDS = 10_000;

/**
 * Commits items in groups. Items that arrive during a commit form the next group. So a row that every item needs (the funding
 * account) is locked once per group. A single item is committed immediately.
 *
 * Groups are chained ({@link Chain}): the next group is loaded and decided while the last one is saved. When a chain breaks, its
 * groups are committed again in order. After that, for some time, every group locks the accounts that it decides about ({@link
 * LockingPath}).
 */
export class GroupCommit<Item, Outcome, Name extends string> {
  readonly #work: GroupWork<Item, Outcome, Name>;
  readonly #bounds: LaneBounds;
  readonly #observer: CommitObserver | undefined;
  readonly #contention = new Contention();
  readonly #lockingPath: LockingPath<Item, Outcome, Name>;
  #chain: Chain<Item, Outcome, Name> | undefined;
  /** The earliest time of the next chain, from `performance.now()`. */
  #chainAgainAt = 0;
  #pauseMilliseconds = FIRST_PAUSE_MILLISECONDS;
  #waiting: Pending<Item, Outcome>[] = [];
  /** Average time between the starts of the last groups. */
  #groupMilliseconds = 0;
  #lastBegunAt: number | undefined;
  #running = false;

  constructor(
    databases: Reachable,
    work: GroupWork<Item, Outcome, Name>,
    bounds: LaneBounds = { batch: 256, waiting: 4096 },
    observer?: CommitObserver,
  ) {
    this.#work = work;
    this.#bounds = bounds;
    this.#observer = observer;
    const queueAgain = (pending: Pending<Item, Outcome>): void => this.#queue(pending);
    this.#lockingPath = new LockingPath(databases, work, this.#contention, queueAgain, observer);
  }

  /** The number of items that wait for a group, or for locks that others hold. */
  get waiting(): number {
    return this.#waiting.length + this.#lockingPath.alone;
  }

  /**
   * Resolves when the item's transaction has ended. Rejects with {@link OperationFailure}, or with the error that the work threw.
   */
  submit(item: Item, deadline: number): Promise<Outcome> {
    if (this.#isFull()) {
      const failure = new OperationFailure('too many requests are waiting', { busy: true, moneyMoved: 'no' });
      return Promise.reject(failure);
    }
    notify(() => this.#work.traceOf(item)?.submitted());
    return new Promise((resolve, reject) => {
      const pending = { item, deadline, resolve, reject };
      if (!this.#contention.isQuiet && this.#contention.concerns(this.#work.needsOf(item)))
        void this.#lockingPath.commitAlone(pending);
      else this.#queue(pending);
    });
  }

  #queue(pending: Pending<Item, Outcome>): void {
    this.#waiting.push(pending);
    if (!this.#running) void this.#drain();
    else if (this.#chain?.isReady(this.#waiting.length) === true) this.#chain.tell();
  }

  /** Whether too many items wait, or more than can be committed in time at the pace of the last groups. */
  #isFull(): boolean {
    if (this.waiting >= this.#bounds.waiting) return true;
    const groups = this.#waiting.length / this.#bounds.batch;
    return this.#waiting.length >= ALWAYS_ADMITTED && groups * this.#groupMilliseconds > MAX_WAIT_MILLISECONDS;
  }

  /** Commits until no item waits or is in flight. Never rejects. */
  async #drain(): Promise<void> {
    this.#running = true;
    this.#lastBegunAt = undefined;
    while (this.#waiting.length > 0 || this.#chain?.isSettled === false) {
      const chain = this.#openChain();
      if (chain === undefined) await this.#commitLocking();
      else if (!chain.isBroken) await this.#commitChained(chain);
      else if (chain.isIdle) await this.#recover(chain);
      else await chain.nextChange;
    }
    this.#running = false;
  }

  /** Returns the current chain, or a new one. Undefined while groups must lock their accounts instead. */
  #openChain(): Chain<Item, Outcome, Name> | undefined {
    const { chained } = this.#work;
    if (chained === undefined || this.#chain !== undefined) return this.#chain;
    if (performance.now() < this.#chainAgainAt) return undefined;
    this.#chain = new Chain(
      chained,
      {
        databaseOf: (group) => this.#lockingPath.databaseOf(group),
        resolve: (group, outcomes) => this.#lockingPath.resolve(group, outcomes),
        settle: (group, batchId, unknown) => void this.#lockingPath.settle(group, batchId, unknown),
        waiting: () => this.#waiting.length,
        observer: this.#observer,
        traceOf: this.#work.traceOf,
      },
      this.#bounds.batch,
    );
    return this.#chain;
  }

  async #commitLocking(): Promise<void> {
    const group = this.#takeGroup(() => true);
    if (group.length > 0) await this.#lockingPath.commit(group);
  }

  /** Begins the next group if it is time for it. Otherwise, waits until that may have changed. */
  async #commitChained(chain: Chain<Item, Outcome, Name>): Promise<void> {
    const isReady = this.#waiting.length > 0 && chain.isReady(this.#waiting.length);
    const group = isReady ? this.#takeGroup((item) => !chain.concerns(item)) : [];
    if (group.length > 0) await chain.begin(group);
    else if (!chain.isIdle || (this.#waiting.length > 0 && !isReady)) await chain.nextChange;
  }

  /** Commits the groups of a broken chain again, in order: the failed group, then the later ones. */
  async #recover(chain: Chain<Item, Outcome, Name>): Promise<void> {
    const { failed, successors } = chain.takeBreak();
    notify(() => this.#observer?.onBreak());
    this.#work.chained?.onBreak?.(failed.error);
    this.#chain = undefined;
    const now = performance.now();
    const isSoon = now - this.#chainAgainAt < this.#pauseMilliseconds;
    this.#pauseMilliseconds = isSoon
      ? Math.min(this.#pauseMilliseconds * 2, LAST_PAUSE_MILLISECONDS)
      : FIRST_PAUSE_MILLISECONDS;
    this.#chainAgainAt = now + this.#pauseMilliseconds;
    this.#waiting.unshift(...successors);
    await this.#lockingPath.recover(failed);
  }

  /** Takes the next group: the waiting items in order, until the first item that does not fit or must wait longer. */
  #takeGroup(mayBegin: (item: Item) => boolean): readonly Pending<Item, Outcome>[] {
    const { joins = () => true } = this.#work;
    const limit = Math.min(this.#waiting.length, this.#bounds.batch);
    const [first] = this.#waiting;
    let count = 0;
    for (const { item } of this.#waiting) {
      if (count === limit || first === undefined || !joins(item, first.item) || !mayBegin(item)) break;
      count += 1;
    }
    const group = this.#waiting.splice(0, count).filter((pending) => this.#inTime(pending));
    if (group.length > 0) this.#noteBegin();
    return group;
  }

  #noteBegin(): void {
    const now = performance.now();
    const milliseconds = now - (this.#lastBegunAt ?? now);
    this.#groupMilliseconds += (milliseconds - this.#groupMilliseconds) * NEWEST_SHARE;
    this.#lastBegunAt = now;
  }

  #inTime(pending: Pending<Item, Outcome>): boolean {
    if (pending.deadline > performance.now()) return true;
    pending.reject(new OperationFailure('the request waited too long', { busy: true, moneyMoved: 'no' }));
    return false;
  }
}

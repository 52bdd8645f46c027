import { newId } from '../ids.ts';
import { OperationFailure } from '../operations/call.ts';
import type { Database, Steps } from '../store/connection/database.ts';
import { CommitUnknown, StoreFailure } from '../store/connection/failure.ts';
import { toOperationFailure } from './transaction.ts';

/** What a group does about locks that others hold: wait for them, or skip the items that need them. */
export type LockMode = 'wait' | 'skip';

/** In place of an outcome: the item was skipped, because another transaction holds what `blockedBy` names. */
export class Blocked {
  readonly blockedBy: string;

  constructor(blockedBy: string) {
    this.blockedBy = blockedBy;
  }
}

/** What a lane, a queue of items that are committed in groups, does with its items. */
export type GroupWork<Item, Outcome, Name extends string> = {
  /** The transaction for a group of items, with the outcomes in the order of the items. */
  readonly stepsOf: (items: readonly Item[], mode: LockMode) => Steps<readonly (Outcome | Blocked)[], Name>;
  /** Inner UUID of the card program of an item. A group reaches the programs of its items. */
  readonly programOf: (item: Item) => string;
  /** Names of what an item must lock, as {@link Blocked} names them. */
  readonly needsOf: (item: Item) => readonly string[];
  /** Id on the wire of the transfer that an outcome created or changed, now or before; none for a refusal. */
  readonly transferOf: (item: Item, outcome: Outcome) => string | undefined;
};

/** Bounds of a lane. */
export type LaneBounds = {
  /** Maximum number of items in one transaction. */
  readonly batch: number;
  /** Maximum number of waiting items; beyond it a caller is refused at once. */
  readonly waiting: number;
};

/** A database of which a group reaches the programs of its items. */
type Reachable = Pick<Database, 'forProgram'>;

type Pending<Item, Outcome> = {
  readonly item: Item;
  readonly deadline: number;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
};

/** Attempts of a whole group that meets conflicts with other transactions. */
const ATTEMPTS = 4;

/** An item is tried again only if this is left before its deadline: time for a slow commit. */
const RETRY_MILLISECONDS = 700;

/** Items that may wait however slow the groups are: one full group, and some more. */
const ALWAYS_ADMITTED = 512;

/** Items that would wait longer than this are refused, so that other requests get a response in time. */
const MAX_WAIT_MILLISECONDS = 2000;

/** Weight of the last group in the average time of a group. */
const NEWEST_SHARE = 0.2;

/** Pause between two attempts of an item whose locks others hold. */
const PAUSE_MILLISECONDS = 25;

/** How long after it was last found locked a name counts as held. */
const HELD_MILLISECONDS = 2000;

/** How many items may try for locks at the same time: each uses a connection. */
const TURNS = 3;

/** Stands among the needs of an item for what is known only when the item is loaded. */
export const ANY_NEED = '*';

/**
 * Commits items in groups: what arrives during a commit forms the next group, so that a row that every item needs (the
 * funding account) is locked once for a group. A single item is committed at once.
 *
 * Failures are isolated:
 * - When a lock times out, the group is committed without the items that need it. Those, and later items that need the
 *   same lock until it is free, are tried by themselves ({@link Contention}).
 * - A group that fails because of one row is halved until that row is alone.
 * - An ambiguous commit is resolved, and a standby is waited for, while the next group is already being committed.
 */
export class GroupCommit<Item, Outcome, Name extends string> {
  readonly #databases: Reachable;
  readonly #work: GroupWork<Item, Outcome, Name>;
  readonly #bounds: LaneBounds;
  readonly #contention = new Contention();
  #waiting: Pending<Item, Outcome>[] = [];
  /** Average time of the last groups. */
  #groupMilliseconds = 0;
  #running = false;

  constructor(
    databases: Reachable,
    work: GroupWork<Item, Outcome, Name>,
    bounds: LaneBounds = { batch: 256, waiting: 4096 },
  ) {
    this.#databases = databases;
    this.#work = work;
    this.#bounds = bounds;
  }

  /** Resolves when the item's transaction has ended. Rejects with {@link OperationFailure}, or what the work threw. */
  submit(item: Item, deadline: number): Promise<Outcome> {
    if (this.#isFull()) {
      const failure = new OperationFailure('too many requests are waiting', { busy: true, moneyMoved: 'no' });
      return Promise.reject(failure);
    }
    return new Promise((resolve, reject) => {
      const pending = { item, deadline, resolve, reject };
      if (!this.#contention.isQuiet && this.#contention.concerns(this.#work.needsOf(item)))
        void this.#commitAlone(pending);
      else {
        this.#waiting.push(pending);
        if (!this.#running) void this.#drain();
      }
    });
  }

  /** Whether too many items wait, or more than can be committed in time at the pace of the last groups. */
  #isFull(): boolean {
    const waiting = this.#waiting.length + this.#contention.waiting;
    if (waiting >= this.#bounds.waiting) return true;
    const groups = this.#waiting.length / this.#bounds.batch;
    return this.#waiting.length >= ALWAYS_ADMITTED && groups * this.#groupMilliseconds > MAX_WAIT_MILLISECONDS;
  }

  async #drain(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, this.#bounds.batch).filter((pending) => this.#inTime(pending));
      if (group.length === 0) continue;
      const begun = performance.now();
      await this.#commit(group, 'wait', ATTEMPTS);
      this.#groupMilliseconds += (performance.now() - begun - this.#groupMilliseconds) * NEWEST_SHARE;
    }
    this.#running = false;
  }

  /** Ends when the next group may begin; some outcomes may come later. Never rejects. */
  async #commit(group: readonly Pending<Item, Outcome>[], mode: LockMode, attempts: number): Promise<void> {
    const batchId = newId();
    try {
      const steps = this.#work.stepsOf(
        group.map((pending) => pending.item),
        mode,
      );
      this.#resolve(group, await this.#databaseOf(group).transact({ ...steps, batchId }, firstDeadline(group)));
    } catch (error) {
      if (error instanceof CommitUnknown) void this.#settle(group, batchId, error);
      else if (error instanceof StoreFailure && error.conflict && attempts > 1) {
        await this.#commit(group, mode, attempts - 1);
      } else if (isLockTimeout(error) && mode === 'wait') await this.#commit(group, 'skip', ATTEMPTS);
      else if (group.length > 1 && isOneItemsFault(error)) void this.#halve(group, mode);
      else this.#fail(group, error);
    }
  }

  async #halve(group: readonly Pending<Item, Outcome>[], mode: LockMode): Promise<void> {
    const middle = Math.ceil(group.length / 2);
    await this.#commit(group.slice(0, middle), mode, ATTEMPTS);
    await this.#commit(group.slice(middle), mode, ATTEMPTS);
  }

  /** Tries an item whose locks others hold by itself, until it has them or its deadline is near. */
  async #commitAlone(pending: Pending<Item, Outcome>): Promise<void> {
    const needs = this.#work.needsOf(pending.item);
    let done = false;
    while (!done && pending.deadline - performance.now() > RETRY_MILLISECONDS) {
      await this.#contention.takeTurn(needs, async () => {
        done = await this.#tryAlone(pending, needs);
      });
      if (!done) await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
    }
    const message = 'another transaction holds what the request needs';
    if (!done) pending.reject(new OperationFailure(message, { busy: true, moneyMoved: 'no' }));
  }

  /**
   * One attempt; false when a lock was held. It never waits for a lock: it would hold its other locks meanwhile, the
   * funding account among them, and every request that needs those would wait too.
   */
  async #tryAlone(pending: Pending<Item, Outcome>, needs: readonly string[]): Promise<boolean> {
    if (pending.deadline - performance.now() < RETRY_MILLISECONDS) return false;
    const batchId = newId();
    try {
      const steps = this.#work.stepsOf([pending.item], 'skip');
      const [outcome] = await this.#databaseOf([pending]).transact({ ...steps, batchId }, pending.deadline);
      if (outcome instanceof Blocked) {
        this.#contention.begin(outcome.blockedBy);
        return false;
      }
      this.#contention.end(needs);
      this.#resolve([pending], outcome === undefined ? [] : [outcome]);
    } catch (error) {
      if (error instanceof StoreFailure && (error.lockTimeout || error.conflict)) return false;
      if (error instanceof CommitUnknown) await this.#settle([pending], batchId, error);
      else this.#fail([pending], error);
    }
    return true;
  }

  async #settle(group: readonly Pending<Item, Outcome>[], batchId: string, lost: CommitUnknown): Promise<void> {
    const settlement = await this.#databaseOf(group).clear(lost, batchId, firstDeadline(group));
    const outcomes = lost.result as readonly (Outcome | Blocked)[];
    if (settlement === 'committed') this.#resolve(group, outcomes);
    else if (settlement === 'abandoned') this.#fail(group, new StoreFailure(lost.cause));
    else this.#leaveOpen(group, outcomes, lost);
  }

  /** Whether the transaction is committed is unknown. What moves no money in either case can still say so. */
  #leaveOpen(
    group: readonly Pending<Item, Outcome>[],
    outcomes: readonly (Outcome | Blocked)[],
    lost: CommitUnknown,
  ): void {
    for (const [index, pending] of group.entries()) {
      const outcome = outcomes[index] as Outcome | Blocked;
      const made = outcome instanceof Blocked ? undefined : this.#work.transferOf(pending.item, outcome);
      const undone = new OperationFailure('the response could not be stored', { moneyMoved: 'no', cause: lost });
      pending.reject(made === undefined ? undone : toOperationFailure(lost, made));
    }
  }

  #resolve(group: readonly Pending<Item, Outcome>[], outcomes: readonly (Outcome | Blocked)[]): void {
    for (const [index, pending] of group.entries()) {
      const outcome = outcomes[index] as Outcome | Blocked;
      if (outcome instanceof Blocked) {
        this.#contention.begin(outcome.blockedBy);
        void this.#commitAlone(pending);
      } else pending.resolve(outcome);
    }
  }

  #databaseOf(group: readonly Pending<Item, Outcome>[]): Database {
    return this.#databases.forProgram(...new Set(group.map(({ item }) => this.#work.programOf(item))));
  }

  #fail(group: readonly Pending<Item, Outcome>[], error: unknown): void {
    for (const pending of group) pending.reject(toOperationFailure(error));
  }

  #inTime(pending: Pending<Item, Outcome>): boolean {
    if (pending.deadline > performance.now()) return true;
    pending.reject(new OperationFailure('the request waited too long', { busy: true, moneyMoved: 'no' }));
    return false;
  }
}

function firstDeadline(group: readonly { readonly deadline: number }[]): number {
  return Math.min(...group.map(({ deadline }) => deadline));
}

/** Whether a group may do better in halves: a row's fault, or something thrown while deciding. */
function isOneItemsFault(error: unknown): boolean {
  return error instanceof StoreFailure ? error.rowAtFault : true;
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof StoreFailure && error.lockTimeout;
}

type Turn = { readonly names: readonly string[]; readonly run: () => Promise<void>; readonly done: () => void };

/**
 * Names that other transactions hold, such as a card whose account is locked by a frozen process. Items that need one stay
 * out of the groups and take turns here, one at a time for each name, so that all other items continue.
 */
class Contention {
  readonly #heldUntil = new Map<string, number>();
  readonly #busy = new Set<string>();
  #queue: Turn[] = [];
  #running = 0;

  /** How many items wait for a turn. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Notes that another transaction holds a name. */
  begin(name: string): void {
    this.#heldUntil.set(name, performance.now() + HELD_MILLISECONDS);
  }

  /** Notes that names could be locked. */
  end(names: readonly string[]): void {
    for (const name of names) this.#heldUntil.delete(name);
  }

  /** Whether no name is known to be held, which is the usual case. */
  get isQuiet(): boolean {
    return this.#heldUntil.size === 0;
  }

  /** Whether any of the names is known to be held. */
  concerns(names: readonly string[]): boolean {
    const now = performance.now();
    if (names.includes(ANY_NEED)) return [...this.#heldUntil.values()].some((until) => until > now);
    return names.some((name) => {
      const until = this.#heldUntil.get(name);
      if (until !== undefined && until <= now) this.#heldUntil.delete(name);
      return until !== undefined && until > now;
    });
  }

  /**
   * Runs when a turn is free and no running item needs one of these names, as far as they are held; resolves when it has
   * run. Turns are given in the order of the calls.
   */
  takeTurn(needs: readonly string[], run: () => Promise<void>): Promise<void> {
    const names = needs.filter((name) => this.#heldUntil.has(name));
    return new Promise((resolve) => {
      this.#queue.push({ names, run, done: resolve });
      this.#next();
    });
  }

  #next(): void {
    for (const turn of this.#queue) {
      if (this.#running >= TURNS) return;
      if (turn.names.some((name) => this.#busy.has(name))) continue;
      this.#queue = this.#queue.filter((other) => other !== turn);
      this.#running += 1;
      for (const name of turn.names) this.#busy.add(name);
      void turn.run().finally(() => {
        this.#running -= 1;
        for (const name of turn.names) this.#busy.delete(name);
        turn.done();
        this.#next();
      });
    }
  }
}

import { OperationFailure } from '../calls/call.ts';
import { toOperationFailure } from '../calls/read-rows.ts';
import { newBatchId } from '../foundation/ids.ts';
import { notify } from '../foundation/notify.ts';
import type { Database } from '../store/connection/database.ts';
import { CommitUnknown, StoreFailure } from '../store/connection/failure.ts';
import { TRANSACTION_MILLISECONDS } from '../store/connection/pool.ts';
import type { Contention } from './contention.ts';
import {
  Blocked,
  type CommitObserver,
  firstDeadline,
  type GroupWork,
  type LockMode,
  type Pending,
  tracedDecision,
  traceGroup,
} from './group-work.ts';
import { timeOfAnotherTry } from './transaction.ts';

/** How often to try a whole group that conflicts with other transactions. */
const ATTEMPTS = 4;

/** An item is tried again only if at least this much time is left before its deadline. It is enough for a slow commit. */
const RETRY_MILLISECONDS = 700;

/** Pause between two attempts at an item whose locks other transactions hold. */
const PAUSE_MILLISECONDS = 25;

export type Reachable = Pick<Database, 'forProgram'>;

export type FailedGroup<Item, Outcome> = {
  readonly group: readonly Pending<Item, Outcome>[];
  readonly batchId: string;
  readonly error: unknown;
};

/**
 * Commits groups that lock their accounts when they are loaded, one group after the other. It also commits everything that the
 * chain could not commit. Failures are isolated:
 * - When a lock times out, the group is committed without the items that need it. Those are tried alone ({@link Contention}). Later
 *   items that need the same lock before it is free are also tried alone.
 * - If a group fails because of one row, it is halved until that row is alone.
 * - The next group does not wait while an ambiguous commit is being resolved, or while a commit waits for a standby.
 */
export class LockingPath<Item, Outcome, Name extends string> {
  readonly #databases: Reachable;
  readonly #work: GroupWork<Item, Outcome, Name>;
  readonly #contention: Contention;
  /** Lets an item wait for a group again, because no other transaction holds its locks any more. */
  readonly #queueAgain: (pending: Pending<Item, Outcome>) => void;
  readonly #observer: CommitObserver | undefined;
  #alone = 0;

  constructor(
    databases: Reachable,
    work: GroupWork<Item, Outcome, Name>,
    contention: Contention,
    queueAgain: (pending: Pending<Item, Outcome>) => void,
    observer: CommitObserver | undefined,
  ) {
    this.#databases = databases;
    this.#work = work;
    this.#contention = contention;
    this.#queueAgain = queueAgain;
    this.#observer = observer;
  }

  /** Resolves when the next group may begin. Some outcomes may be known later. Never rejects. */
  async commit(group: readonly Pending<Item, Outcome>[], mode: LockMode = 'wait', attempts = ATTEMPTS): Promise<void> {
    const batchId = newBatchId();
    const begunAt = this.#begin();
    const trace = traceGroup(group, this.#work.traceOf);
    let outcomes: readonly (Outcome | Blocked)[];
    try {
      const { load, decide } = this.#work.stepsOf(
        group.map((pending) => pending.item),
        mode,
      );
      const work = { load, decide: tracedDecision(trace, decide), batchId };
      outcomes = await this.databaseOf(group).transact(work, firstDeadline(group));
    } catch (error) {
      trace?.ended(group.length, 'failed');
      await this.#recover({ group, batchId, error }, mode, attempts);
      return;
    }
    this.resolve(group, outcomes);
    this.#observeGroup(outcomes, begunAt);
    trace?.ended(group.length, 'committed');
  }

  /** Commits a group that failed in a chain, if possible. Resolves like {@link commit}. */
  async recover(failed: FailedGroup<Item, Outcome>): Promise<void> {
    const { group, error } = failed;
    // A decision may have thrown because its reads were from different moments. The guard, which compares the versions of the
    // accounts, would have noticed that, but it never ran.
    const wasOvertaken = error instanceof StoreFailure ? error.accountsChanged : !(error instanceof CommitUnknown);
    if (wasOvertaken) await this.commit(group);
    else await this.#recover(failed, 'wait', ATTEMPTS);
  }

  async #recover(failed: FailedGroup<Item, Outcome>, mode: LockMode, attempts: number): Promise<void> {
    const { group, batchId, error } = failed;
    if (error instanceof CommitUnknown) void this.settle(group, batchId, error, attempts);
    else if (error instanceof StoreFailure && error.conflict && attempts > 1) {
      await this.commit(group, mode, attempts - 1);
    } else if (hasWaitedTooLong(error) && mode === 'wait') await this.#commitWithoutWaiting(group, error);
    else if (group.length > 1 && isOneItemsFault(error)) void this.#halve(group, mode);
    else if (isLostToFailover(error)) this.#follow(group, error);
    else this.#fail(group, error);
  }

  /** Commits the items that would still have time after another failure of the same kind. Skips items whose locks others hold. */
  async #commitWithoutWaiting(group: readonly Pending<Item, Outcome>[], error: StoreFailure): Promise<void> {
    const again: Pending<Item, Outcome>[] = [];
    for (const pending of group) {
      if (hasTimeAfter(error, pending.deadline)) again.push(pending);
      else this.#fail([pending], error);
    }
    if (again.length > 0) await this.commit(again, 'skip');
  }

  /** If there are several hosts and enough time, lets a group that has changed nothing wait for the new primary. */
  #follow(group: readonly Pending<Item, Outcome>[], error: unknown): void {
    const { followsPrimary } = this.databaseOf(group);
    for (const pending of group) {
      const hasTime = pending.deadline - performance.now() > TRANSACTION_MILLISECONDS;
      if (followsPrimary && hasTime) this.#queueAgain(pending);
      else this.#fail([pending], error);
    }
  }

  async #halve(group: readonly Pending<Item, Outcome>[], mode: LockMode): Promise<void> {
    const middle = Math.ceil(group.length / 2);
    await this.commit(group.slice(0, middle), mode);
    await this.commit(group.slice(middle), mode);
  }

  /**
   * Tries an item alone while others hold its locks. Ends when it gets the locks, or when its deadline is near. When the locks are
   * free, the item waits for a group again. Groups lock the funding account all the time, so a single item would hardly ever find
   * it free.
   */
  async commitAlone(pending: Pending<Item, Outcome>): Promise<void> {
    this.#alone += 1;
    try {
      await this.#tryUntilCommitted(pending);
    } finally {
      this.#alone -= 1;
    }
  }

  /** The number of items that are tried alone, including those that wait for a turn or pause between two turns. */
  get alone(): number {
    return this.#alone;
  }

  async #tryUntilCommitted(pending: Pending<Item, Outcome>): Promise<void> {
    const needs = this.#work.needsOf(pending.item);
    while (pending.deadline - performance.now() > RETRY_MILLISECONDS) {
      const tried = await this.#contention.takeTurn(needs, async () =>
        this.#contention.concerns(needs) ? await this.#tryAlone(pending, needs) : 'free',
      );
      if (tried === 'done') return;
      if (tried === 'free') {
        this.#queueAgain(pending);
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
    }
    const message = 'another transaction holds a lock that the request needs';
    pending.reject(new OperationFailure(message, { busy: true, moneyMoved: 'no' }));
  }

  /**
   * Makes one attempt that never waits for a lock. If it waited, it would hold its other locks, such as the funding account, and
   * every request that needs those would wait too.
   */
  async #tryAlone(pending: Pending<Item, Outcome>, needs: readonly string[]): Promise<'done' | 'held' | 'free'> {
    if (pending.deadline - performance.now() < RETRY_MILLISECONDS) return 'held';
    const batchId = newBatchId();
    const begunAt = this.#begin();
    let outcomes: readonly (Outcome | Blocked)[];
    try {
      const steps = this.#work.stepsOf([pending.item], 'skip');
      outcomes = await this.databaseOf([pending]).transact({ ...steps, batchId }, pending.deadline);
    } catch (error) {
      const isHeld = error instanceof StoreFailure && (error.waitedTooLong || error.conflict);
      if (isHeld && hasTimeAfter(error, pending.deadline)) return 'held';
      if (error instanceof CommitUnknown) await this.settle([pending], batchId, error);
      else this.#fail([pending], error);
      return 'done';
    }
    const [outcome] = outcomes;
    if (outcome instanceof Blocked) return this.#noteBlocked(pending.item, needs, outcome.blockedBy);
    this.#contention.end(needs);
    this.resolve([pending], outcomes);
    this.#observeGroup(outcomes, begunAt);
    return 'done';
  }

  /**
   * Records which lock blocked an item. Funding accounts are checked last. If only a funding account is locked, and was not known
   * to be held, a group of this lane has locked it. Then all other locks are free.
   */
  #noteBlocked(item: Item, needs: readonly string[], blockedBy: string): 'held' | 'free' {
    if (blockedBy === this.#work.programOf(item) && !this.#contention.concerns([blockedBy])) {
      this.#contention.end(needs);
      return 'free';
    }
    this.#contention.begin(blockedBy);
    return 'held';
  }

  /** Resolves the outcome of a group whose commit is ambiguous. If nothing was committed, commits it again. Never rejects. */
  async settle(
    group: readonly Pending<Item, Outcome>[],
    batchId: string,
    lost: CommitUnknown,
    attempts = ATTEMPTS,
  ): Promise<void> {
    const settlement = await this.databaseOf(group).clear(lost, batchId, firstDeadline(group));
    notify(() => this.#observer?.onSettled(settlement));
    const outcomes = lost.result as readonly (Outcome | Blocked)[];
    if (settlement === 'committed') this.resolve(group, outcomes);
    else if (settlement === 'unknown') this.#leaveOpen(group, outcomes, lost);
    else {
      const error = new StoreFailure(lost.cause);
      if (error.connectionLost) this.#follow(group, error);
      else await this.#recover({ group, batchId, error }, 'wait', attempts);
    }
  }

  /** Reports that it is unknown whether the transaction was committed. Outcomes that move no money in either case still say so. */
  #leaveOpen(
    group: readonly Pending<Item, Outcome>[],
    outcomes: readonly (Outcome | Blocked)[],
    lost: CommitUnknown,
  ): void {
    let unknown = 0;
    for (const [index, pending] of group.entries()) {
      const outcome = outcomes[index] as Outcome | Blocked;
      const made = outcome instanceof Blocked ? undefined : this.#work.transferOf(pending.item, outcome);
      const undone = new OperationFailure('the response could not be stored', { moneyMoved: 'no', cause: lost });
      if (made !== undefined) unknown += 1;
      pending.reject(made === undefined ? undone : toOperationFailure(lost, made));
    }
    if (unknown > 0) notify(() => this.#observer?.onUnknown(unknown));
  }

  resolve(group: readonly Pending<Item, Outcome>[], outcomes: readonly (Outcome | Blocked)[]): void {
    for (const [index, pending] of group.entries()) {
      const outcome = outcomes[index] as Outcome | Blocked;
      if (outcome instanceof Blocked) {
        this.#contention.begin(outcome.blockedBy);
        void this.commitAlone(pending);
      } else {
        pending.resolve(outcome);
        notify(() => this.#work.onCommitted?.(pending.item, outcome));
      }
    }
  }

  databaseOf(group: readonly Pending<Item, Outcome>[]): Database {
    return this.#databases.forProgram(...new Set(group.map(({ item }) => this.#work.programOf(item))));
  }

  #begin(): number {
    return this.#observer === undefined ? 0 : performance.now();
  }

  /** Reports a group. A group that skipped all of its items has committed nothing. */
  #observeGroup(outcomes: readonly (Outcome | Blocked)[], begunAt: number): void {
    if (this.#observer === undefined) return;
    const size = outcomes.reduce<number>((count, outcome) => (outcome instanceof Blocked ? count : count + 1), 0);
    if (size > 0) notify(() => this.#observer?.onGroup('locking', size, performance.now() - begunAt));
  }

  #fail(group: readonly Pending<Item, Outcome>[], error: unknown): void {
    for (const pending of group) pending.reject(toOperationFailure(error));
  }
}

/** Returns whether halving the group may help, because one row is at fault or the decision threw an error. */
function isOneItemsFault(error: unknown): boolean {
  return error instanceof StoreFailure ? error.rowAtFault : true;
}

/** Returns whether the server was lost or is no longer the primary. False if a search for another primary has timed out. */
function isLostToFailover(error: unknown): boolean {
  return error instanceof StoreFailure && error.primaryLost && !error.timedOut;
}

function hasWaitedTooLong(error: unknown): error is StoreFailure {
  return error instanceof StoreFailure && error.waitedTooLong;
}

/**
 * Returns whether another attempt would end before the deadline. After a failure because of a lock, the next attempt does not wait
 * for locks, so it ends immediately.
 */
function hasTimeAfter(error: StoreFailure, deadline: number): boolean {
  return error.lockTimeout || error.conflict || deadline - performance.now() > timeOfAnotherTry(error);
}

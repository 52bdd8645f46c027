import { newId } from '../ids.ts';
import { OperationFailure } from '../operations/call.ts';
import type { Database, Steps } from '../store/connection/database.ts';
import { CommitUnknown, StoreFailure } from '../store/connection/failure.ts';
import { Contention } from './contention.ts';
import { toOperationFailure } from './transaction.ts';

/** What a group does about locks that others hold: wait for them, or leave out the items that need them. */
export type LockMode = 'wait' | 'skip';

/** Stands in the place of an answer: the item was left out, since somebody else holds what `blockedBy` names. */
export class Blocked {
  readonly blockedBy: string;

  constructor(blockedBy: string) {
    this.blockedBy = blockedBy;
  }
}

/** What a lane commits. */
export type GroupWork<Item, Answer, Name extends string> = {
  /** How a group of items becomes one transaction; answers in the order of the items. */
  readonly stepsOf: (items: readonly Item[], mode: LockMode) => Steps<readonly (Answer | Blocked)[], Name>;
  /** Inner UUID of the card program that an item is about: the group reaches the programs of its items. */
  readonly programOf: (item: Item) => string;
  /** Names of what an item needs to have to itself, as {@link Blocked} names them. */
  readonly needsOf: (item: Item) => readonly string[];
  /** Id on the wire of the transfer that an answer says something was done with, now or before; none for a refusal. */
  readonly madeBy: (item: Item, answer: Answer) => string | undefined;
};

/** Bounds of a lane. */
export type LaneBounds = {
  /** Most items in one transaction. */
  readonly batch: number;
  /** Most items that wait; beyond it a caller is turned away at once. */
  readonly waiting: number;
};

/** A database of which a group reaches the programs that it is about. */
type Reachable = Pick<Database, 'forProgram'>;

type Pending<Item, Answer> = {
  readonly item: Item;
  readonly deadline: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
};

/** How often a whole group is tried again because others were in the way. */
const ATTEMPTS = 4;

/** What an item must have left before its deadline to be tried once more, in milliseconds: time for a slow commit. */
const ENOUGH_FOR_ANOTHER = 700;

/** Items that may wait however slow the groups are: one full group, and some. */
const ALWAYS_ADMITTED = 512;

/** An item that would wait for longer than this, in milliseconds, is turned away: with it, nobody is answered in time. */
const PATIENCE = 2000;

/** How much the last group counts in the time by which waiting is foreseen. */
const NEWEST_SHARE = 0.2;

/** Between two tries of an item whose locks others hold, in milliseconds. */
const PAUSE = 25;

/**
 * Commits items in groups: what arrives while a commit is under way forms the next group, so that a row every item
 * needs (the funding account) is locked once a group. A lone item is committed at once and never waits for company.
 *
 * Nobody pays for a neighbour:
 * - A lock that is not given in time makes the group go without the items that need it. Those, and what comes for the
 *   same card until it is free, wait by themselves ({@link Contention}).
 * - A group that fails because of one row is halved until that row stands alone.
 * - A commit whose answer was lost is settled, and a standby is waited for, while the next group is already under way.
 */
export class GroupCommit<Item, Answer, Name extends string> {
  readonly #databases: Reachable;
  readonly #work: GroupWork<Item, Answer, Name>;
  readonly #bounds: LaneBounds;
  readonly #contention = new Contention();
  #waiting: Pending<Item, Answer>[] = [];
  /** Milliseconds for a group, of the last ones: those of a crowd are full. */
  #groupTime = 0;
  #running = false;

  constructor(
    databases: Reachable,
    work: GroupWork<Item, Answer, Name>,
    bounds: LaneBounds = { batch: 256, waiting: 4096 },
  ) {
    this.#databases = databases;
    this.#work = work;
    this.#bounds = bounds;
  }

  /** Answers when the item's transaction has ended. Rejects with {@link OperationFailure}, or what the work threw. */
  submit(item: Item, deadline: number): Promise<Answer> {
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

  /** Whether more are waiting than there may be, or than can be answered in time at the pace of the last groups. */
  #isFull(): boolean {
    const waiting = this.#waiting.length + this.#contention.waiting;
    if (waiting >= this.#bounds.waiting) return true;
    const groups = this.#waiting.length / this.#bounds.batch;
    return this.#waiting.length >= ALWAYS_ADMITTED && groups * this.#groupTime > PATIENCE;
  }

  async #drain(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, this.#bounds.batch).filter((pending) => this.#inTime(pending));
      if (group.length === 0) continue;
      const begun = performance.now();
      await this.#commit(group, 'wait', ATTEMPTS);
      this.#groupTime += (performance.now() - begun - this.#groupTime) * NEWEST_SHARE;
    }
    this.#running = false;
  }

  /** Ends when the lane may go on; some answers may come later. Never rejects. */
  async #commit(group: readonly Pending<Item, Answer>[], mode: LockMode, attempts: number): Promise<void> {
    const batchId = newId();
    try {
      const steps = this.#work.stepsOf(
        group.map((pending) => pending.item),
        mode,
      );
      this.#answer(group, await this.#databaseOf(group).transact({ ...steps, batchId }, firstDeadline(group)));
    } catch (error) {
      if (error instanceof CommitUnknown) void this.#settle(group, batchId, error);
      else if (error instanceof StoreFailure && error.conflict && attempts > 1) {
        await this.#commit(group, mode, attempts - 1);
      } else if (isLockTimeout(error) && mode === 'wait') await this.#commit(group, 'skip', ATTEMPTS);
      else if (group.length > 1 && isOneItemsFault(error)) void this.#halve(group, mode);
      else this.#fail(group, error);
    }
  }

  async #halve(group: readonly Pending<Item, Answer>[], mode: LockMode): Promise<void> {
    const middle = Math.ceil(group.length / 2);
    await this.#commit(group.slice(0, middle), mode, ATTEMPTS);
    await this.#commit(group.slice(middle), mode, ATTEMPTS);
  }

  /** An item whose locks others hold is tried by itself, turn after turn, until it has them or its time is up. */
  async #commitAlone(pending: Pending<Item, Answer>): Promise<void> {
    const needs = this.#work.needsOf(pending.item);
    let answered = false;
    while (!answered && pending.deadline - performance.now() > ENOUGH_FOR_ANOTHER) {
      await this.#contention.takeTurn(needs, async () => {
        answered = await this.#tryAlone(pending, needs);
      });
      if (!answered) await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
    const message = 'somebody else holds what the request needs';
    if (!answered) pending.reject(new OperationFailure(message, { busy: true, moneyMoved: 'no' }));
  }

  /**
   * One attempt; false when the locks were not to be had. It never waits for one: it would hold the others meanwhile,
   * the funding account among them, and everybody who needs those would wait with it.
   */
  async #tryAlone(pending: Pending<Item, Answer>, needs: readonly string[]): Promise<boolean> {
    if (pending.deadline - performance.now() < ENOUGH_FOR_ANOTHER) return false;
    const batchId = newId();
    try {
      const steps = this.#work.stepsOf([pending.item], 'skip');
      const [answer] = await this.#databaseOf([pending]).transact({ ...steps, batchId }, pending.deadline);
      if (answer instanceof Blocked) {
        this.#contention.begin(answer.blockedBy);
        return false;
      }
      this.#contention.end(needs);
      this.#answer([pending], answer === undefined ? [] : [answer]);
    } catch (error) {
      if (error instanceof StoreFailure && (error.lockTimeout || error.conflict)) return false;
      if (error instanceof CommitUnknown) await this.#settle([pending], batchId, error);
      else this.#fail([pending], error);
    }
    return true;
  }

  async #settle(group: readonly Pending<Item, Answer>[], batchId: string, lost: CommitUnknown): Promise<void> {
    const settlement = await this.#databaseOf(group).clear(lost, batchId, firstDeadline(group));
    const answers = lost.result as readonly (Answer | Blocked)[];
    if (settlement === 'committed') this.#answer(group, answers);
    else if (settlement === 'abandoned') this.#fail(group, new StoreFailure(lost.cause));
    else this.#leaveOpen(group, answers, lost);
  }

  /** Nobody knows whether what the answers say will last. What moved no money in either case can still say so. */
  #leaveOpen(
    group: readonly Pending<Item, Answer>[],
    answers: readonly (Answer | Blocked)[],
    lost: CommitUnknown,
  ): void {
    for (const [index, pending] of group.entries()) {
      const answer = answers[index] as Answer | Blocked;
      const made = answer instanceof Blocked ? undefined : this.#work.madeBy(pending.item, answer);
      const undone = new OperationFailure('the answer could not be stored', { moneyMoved: 'no', cause: lost });
      pending.reject(made === undefined ? undone : toOperationFailure(lost, made));
    }
  }

  #answer(group: readonly Pending<Item, Answer>[], answers: readonly (Answer | Blocked)[]): void {
    for (const [index, pending] of group.entries()) {
      const answer = answers[index] as Answer | Blocked;
      if (answer instanceof Blocked) {
        this.#contention.begin(answer.blockedBy);
        void this.#commitAlone(pending);
      } else pending.resolve(answer);
    }
  }

  #databaseOf(group: readonly Pending<Item, Answer>[]): Database {
    return this.#databases.forProgram(...new Set(group.map(({ item }) => this.#work.programOf(item))));
  }

  #fail(group: readonly Pending<Item, Answer>[], error: unknown): void {
    for (const pending of group) pending.reject(toOperationFailure(error));
  }

  #inTime(pending: Pending<Item, Answer>): boolean {
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

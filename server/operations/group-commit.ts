import { randomUUIDv7 } from 'node:crypto';
import type { Database, Steps } from '../store/database.ts';
import { CommitUnknown, StoreFailure } from '../store/failure.ts';
import { OperationFailure } from './call.ts';
import { toOperationFailure } from './transaction.ts';

/** How a group of items becomes one transaction; answers in the order of the items. */
export type GroupWork<Item, Answer, Name extends string> = (items: readonly Item[]) => Steps<readonly Answer[], Name>;

/** Bounds of a lane. */
export type LaneBounds = {
  /** Most items in one transaction. */
  readonly batch: number;
  /** Most items that wait; beyond it a caller is turned away at once. */
  readonly waiting: number;
};

type Pending<Item, Answer> = {
  readonly item: Item;
  readonly deadline: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
};

/** How often a whole group is tried again because others were in the way. */
const ATTEMPTS = 4;

/**
 * `madeBy` names the transfer that an answer says was made (id on the wire), undefined for a refusal.
 *
 * Commits items in groups: what arrives while a commit is under way forms the next group, so that a row every item
 * needs (the funding account) is locked once a group. A lone item is committed at once and never waits for company.
 *
 * A group that fails because of one item is halved until that item stands alone; its neighbours are none the worse.
 * That happens beside the lane, as does settling a lost commit: the next group never waits for either.
 */
export class GroupCommit<Item, Answer, Name extends string> {
  readonly #database: Database;
  readonly #work: GroupWork<Item, Answer, Name>;
  readonly #madeBy: (item: Item, answer: Answer) => string | undefined;
  readonly #bounds: LaneBounds;
  #waiting: Pending<Item, Answer>[] = [];
  #running = false;

  constructor(
    database: Database,
    work: GroupWork<Item, Answer, Name>,
    madeBy: (item: Item, answer: Answer) => string | undefined,
    bounds: LaneBounds = { batch: 256, waiting: 4096 },
  ) {
    this.#database = database;
    this.#work = work;
    this.#madeBy = madeBy;
    this.#bounds = bounds;
  }

  /** Answers when the item's transaction has ended. Rejects with {@link OperationFailure}, or what the work threw. */
  submit(item: Item, deadline: number): Promise<Answer> {
    if (this.#waiting.length >= this.#bounds.waiting) {
      const failure = new OperationFailure('too many requests are waiting', { busy: true, moneyMoved: 'no' });
      return Promise.reject(failure);
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, deadline, resolve, reject });
      if (!this.#running) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, this.#bounds.batch).filter((pending) => this.#inTime(pending));
      if (group.length > 0) await this.#commit(group, ATTEMPTS);
    }
    this.#running = false;
  }

  /** Ends when the lane may go on; the answers may come later. */
  async #commit(group: readonly Pending<Item, Answer>[], attempts: number): Promise<void> {
    const batchId = randomUUIDv7();
    try {
      const items = group.map((pending) => pending.item);
      const answers = await this.#database.transact({ ...this.#work(items), batchId });
      this.#answer(group, answers);
    } catch (error) {
      if (error instanceof CommitUnknown) void this.#settle(group, batchId, error);
      else if (error instanceof StoreFailure && error.conflict && attempts > 1) await this.#commit(group, attempts - 1);
      else if (group.length > 1 && isOneItemsFault(error)) void this.#halve(group);
      else if (isLockTimeout(error)) void this.#tryLater(group, error);
      else this.#fail(group, error);
    }
  }

  async #halve(group: readonly Pending<Item, Answer>[]): Promise<void> {
    const middle = Math.ceil(group.length / 2);
    await Promise.all([this.#commit(group.slice(0, middle), ATTEMPTS), this.#commit(group.slice(middle), ATTEMPTS)]);
  }

  async #tryLater(group: readonly Pending<Item, Answer>[], error: unknown): Promise<void> {
    const inTime = group.filter((pending) => pending.deadline - performance.now() > 1000);
    this.#fail(
      group.filter((pending) => !inTime.includes(pending)),
      error,
    );
    if (inTime.length > 0) await this.#commit(inTime, ATTEMPTS);
  }

  async #settle(group: readonly Pending<Item, Answer>[], batchId: string, lost: CommitUnknown): Promise<void> {
    const deadline = Math.min(...group.map((pending) => pending.deadline));
    const settlement = lost.settleable ? await this.#database.settle(batchId, deadline) : 'unknown';
    const answers = lost.result as readonly Answer[];
    if (settlement === 'committed') this.#answer(group, answers);
    else if (settlement === 'abandoned') this.#fail(group, new StoreFailure(lost.cause));
    else this.#leaveOpen(group, answers, lost);
  }

  /** Nobody knows whether the group was committed. What moved no money in either case can still say so. */
  #leaveOpen(group: readonly Pending<Item, Answer>[], answers: readonly Answer[], lost: CommitUnknown): void {
    for (const [index, pending] of group.entries()) {
      const made = this.#madeBy(pending.item, answers[index] as Answer);
      const undone = new OperationFailure('the answer could not be stored', { moneyMoved: 'no', cause: lost });
      pending.reject(made === undefined ? undone : toOperationFailure(lost, made));
    }
  }

  #answer(group: readonly Pending<Item, Answer>[], answers: readonly Answer[]): void {
    for (const [index, pending] of group.entries()) pending.resolve(answers[index] as Answer);
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

/** Whether a group may do better in halves: a row's fault, or something thrown while deciding. */
function isOneItemsFault(error: unknown): boolean {
  return error instanceof StoreFailure ? error.rowAtFault : true;
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof StoreFailure && error.lockTimeout;
}

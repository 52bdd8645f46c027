import { newBatchId } from '../foundation/ids.ts';
import { notify } from '../foundation/notify.ts';
import type { Database } from '../store/connection/database.ts';
import { CommitUnknown } from '../store/connection/failure.ts';
import {
  type ChainedWork,
  type CommitObserver,
  firstDeadline,
  type Pending,
  type TraceOf,
  tracedDecision,
  traceGroup,
} from './group-work.ts';

/** The number of groups in flight at the same time: one is being committed, one written, and one loaded. */
export const DEPTH = 3;

/**
 * While no group is in flight, a group gets at least one in this many of all items. While one or two are, it may be a little smaller,
 * because with exactly a half each, a group would wait for the slowest caller of the one before. Groups are loaded one after the
 * other, and each takes two round trips, so two groups keep the database busy. A third makes all of them smaller.
 */
const SHARES = 2;

/**
 * After a group has ended, the next one waits for its callers for up to this part of the time that the group took, because most
 * callers send their next request immediately. Without this, the first to return became a group of its own, and all others waited
 * for it. A fixed time would be too long for a fast database, and too short while the process is busy with the responses.
 */
const RETURN_SHARE = 1 / 4;

/** The limit of that wait in milliseconds, because a group can take seconds if it waited for a lock. */
const MAX_RETURN_MILLISECONDS = 10;

/** A group was rolled back: an earlier group failed, or the chain's memory was not enough to decide this one. */
export class ChainBroken extends Error {
  override readonly name = 'ChainBroken';
}

type Link<Item, Outcome> = {
  readonly group: readonly Pending<Item, Outcome>[];
  readonly batchId: string;
  /** The changes of the group's items. Another group with one of these changes must wait. */
  readonly changes: readonly string[];
  /** From `performance.now()`. */
  readonly begunAt: number;
  /** Undefined while the group is in flight. Then `committed`, or its error. */
  end: 'committed' | { readonly error: unknown } | undefined;
};

/** How a chain broke: the first group that failed, and the groups after it, which were rolled back. */
export type Break<Item, Outcome> = {
  readonly failed: {
    readonly group: readonly Pending<Item, Outcome>[];
    readonly batchId: string;
    readonly error: unknown;
  };
  readonly successors: readonly Pending<Item, Outcome>[];
};

/** How a chain reports that its groups have ended, and gets a database for a group. */
type Ends<Item, Outcome> = {
  readonly databaseOf: (group: readonly Pending<Item, Outcome>[]) => Database;
  readonly resolve: (group: readonly Pending<Item, Outcome>[], outcomes: readonly Outcome[]) => void;
  /** Called for a group that wrote nothing but may have read rows that the standby does not have yet. */
  readonly settle: (group: readonly Pending<Item, Outcome>[], batchId: string, unknown: CommitUnknown) => void;
  /** Returns the number of items that wait for a group. */
  readonly waiting: () => number;
  readonly observer: CommitObserver | undefined;
  readonly traceOf: TraceOf<Item>;
};

/**
 * Groups of items. Each group is decided on the state that the previous group is about to commit: see README.md, "Chained groups".
 * If a group fails, all later groups are rolled back, and the chain is broken: it accepts no more groups.
 */
export class Chain<Item, Outcome, Name extends string> {
  readonly #ends: Ends<Item, Outcome>;
  readonly #changeOf: ChainedWork<Item, Outcome, Name>['changeOf'];
  readonly #stepsOf: ReturnType<ChainedWork<Item, Outcome, Name>['begin']>;
  /** The maximum number of items in a group. */
  readonly #maxItems: number;
  /** Groups in flight, in the order of their start. After a break, these include groups that have ended in the meantime. */
  #links: Link<Item, Outcome>[] = [];
  #isBroken = false;
  /** Whether the last group was committed, or a promise while it is in flight. */
  #lastCommitted: true | Promise<boolean> = true;
  #changed = Promise.withResolvers<void>();
  /** Runs while the callers of the last group may return. */
  #returning: NodeJS.Timeout | undefined;
  /** The number of items that waited or were in flight when the last group ended, including its own. */
  #recent = 0;

  constructor(work: ChainedWork<Item, Outcome, Name>, ends: Ends<Item, Outcome>, maxItems: number) {
    this.#ends = ends;
    this.#maxItems = maxItems;
    this.#changeOf = work.changeOf;
    this.#stepsOf = work.begin();
  }

  get isIdle(): boolean {
    return this.#links.every(({ end }) => end !== undefined);
  }

  /** Whether no group is in flight and none waits to be committed again. */
  get isSettled(): boolean {
    return this.#links.length === 0;
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Returns whether to begin a group with the waiting items. `waiting` is their number. */
  isReady(waiting: number): boolean {
    if (this.#links.length >= DEPTH) return false;
    const isReturning = this.#returning !== undefined;
    if (this.#links.length === 0 && !isReturning) return true;
    const all = Math.max(this.#inFlight + waiting, isReturning ? this.#recent : 0);
    // Half of a full group does not wait. Otherwise, the last rows of a batch would wait for the groups before.
    return waiting >= Math.min(this.#maxItems / 2, all / (SHARES + this.#links.length / 2));
  }

  get #inFlight(): number {
    return this.#links.reduce((sum, { group }) => sum + group.length, 0);
  }

  /** Resolves when a group in flight has ended, when more items wait, or when its callers have had time to return. */
  get nextChange(): Promise<void> {
    return this.#changed.promise;
  }

  tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  concerns(item: Item): boolean {
    const change = this.#changeOf(item);
    return change !== undefined && this.#links.some(({ changes }) => changes.includes(change));
  }

  /** Begins a group. Resolves when the group is decided or has failed. Then the next one may begin. */
  async begin(group: readonly Pending<Item, Outcome>[]): Promise<void> {
    const link: Link<Item, Outcome> = {
      group,
      batchId: newBatchId(),
      changes: group.flatMap(({ item }) => this.#changeOf(item) ?? []),
      begunAt: performance.now(),
      end: undefined,
    };
    this.#links.push(link);
    const decided = Promise.withResolvers<void>();
    const committed = this.#commit(link, this.#lastCommitted, decided.resolve);
    this.#lastCommitted = committed;
    await Promise.race([decided.promise, committed]);
  }

  /** Returns how the chain broke. Call it only for a chain that is broken and idle. */
  takeBreak(): Break<Item, Outcome> {
    const [first, ...rest] = this.#links;
    if (first === undefined || typeof first.end !== 'object') throw new Error('the chain has not broken');
    const { group, batchId, end } = first;
    return { failed: { group, batchId, error: end.error }, successors: rest.flatMap((link) => link.group) };
  }

  /** Commits a group. Resolves to whether it was committed. If so, all earlier groups were also committed. Never rejects. */
  async #commit(link: Link<Item, Outcome>, before: true | Promise<boolean>, onDecided: () => void): Promise<boolean> {
    const { group, batchId, begunAt } = link;
    const { observer, traceOf } = this.#ends;
    const trace = traceGroup(group, traceOf);
    let base = before;
    void Promise.resolve(before).then((isCommitted) => {
      if (isCommitted) base = true;
    });
    const whenBroken = (): ChainBroken => new ChainBroken('a group before this one has failed');
    let outcomes: readonly Outcome[];
    try {
      const { load, decide } = this.#stepsOf(group.map(({ item }) => item));
      outcomes = await this.#ends.databaseOf(group).transactChained(
        {
          batchId,
          load,
          decide: tracedDecision(trace, (loaded, id) => {
            if (this.#isBroken) throw whenBroken();
            return decide(loaded, id);
          }),
        },
        {
          onDecided,
          baseCommitted: () => base,
          whenBroken,
        },
        firstDeadline(group),
      );
    } catch (error) {
      trace?.ended(group.length, 'failed');
      if (error instanceof CommitUnknown && error.doubt === 'unconfirmed') {
        this.#end(link, 'committed');
        this.#ends.settle(group, batchId, error);
        return await base;
      }
      this.#isBroken = true;
      this.#end(link, { error });
      return false;
    }
    this.#end(link, 'committed');
    this.#ends.resolve(group, outcomes);
    notify(() => observer?.onGroup('chained', group.length, performance.now() - begunAt));
    trace?.ended(group.length, 'committed');
    return base;
  }

  #end(link: Link<Item, Outcome>, end: Link<Item, Outcome>['end']): void {
    link.end = end;
    this.#recent = this.#inFlight + this.#ends.waiting();
    clearTimeout(this.#returning);
    const milliseconds = Math.min(MAX_RETURN_MILLISECONDS, (performance.now() - link.begunAt) * RETURN_SHARE);
    this.#returning = setTimeout(() => {
      this.#returning = undefined;
      this.tell();
    }, milliseconds);
    // Groups are committed in order, so the committed ones come before the failed one.
    this.#links = this.#links.filter((one) => one.end !== 'committed');
    this.tell();
  }
}

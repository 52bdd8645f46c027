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

/** This many items are enough for a group while other groups are in flight. Smaller groups cost more than they gain. */
const ENOUGH = 64;

/** A group was rolled back: an earlier group failed, or the chain's memory was not enough to decide this one. */
export class ChainBroken extends Error {
  override readonly name = 'ChainBroken';
}

type Link<Item, Outcome> = {
  readonly group: readonly Pending<Item, Outcome>[];
  readonly batchId: string;
  /** The changes of the group's items. Another group with one of these changes must wait. */
  readonly changes: readonly string[];
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
  /** Groups in flight, in the order of their start. After a break, these include groups that have ended in the meantime. */
  #links: Link<Item, Outcome>[] = [];
  #isBroken = false;
  /** Whether the last group was committed, or a promise while it is in flight. */
  #lastCommitted: true | Promise<boolean> = true;
  #changed = Promise.withResolvers<void>();

  constructor(work: ChainedWork<Item, Outcome, Name>, ends: Ends<Item, Outcome>) {
    this.#ends = ends;
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
    const { length } = this.#links;
    if (length === 0) return true;
    if (length >= DEPTH) return false;
    // With few callers, a third of their items is enough: then one group is being committed, one is being written, and one
    // collects items.
    const inFlight = this.#links.reduce((sum, { group }) => sum + group.length, 0);
    return waiting >= Math.min(ENOUGH, (inFlight + waiting) / 3);
  }

  /** Resolves when a group in flight has ended, or when more items wait. */
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
    const { group, batchId } = link;
    const { observer, traceOf } = this.#ends;
    const trace = traceGroup(group, traceOf);
    const begunAt = observer === undefined ? 0 : performance.now();
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
    // Groups are committed in order, so the committed ones come before the failed one.
    this.#links = this.#links.filter((one) => one.end !== 'committed');
    this.tell();
  }
}

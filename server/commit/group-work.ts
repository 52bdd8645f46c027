import type { GroupTrace, RequestTrace } from '../calls/trace.ts';
import { notify } from '../foundation/notify.ts';
import type { ChainedSteps, Settlement, Steps } from '../store/connection/database.ts';

/** How a group handles locks that others hold: it waits for them, or skips the items that need them. */
export type LockMode = 'wait' | 'skip';

/** The result for a skipped item. Another transaction holds `blockedBy`, which the item needs. */
export class Blocked {
  readonly blockedBy: string;

  constructor(blockedBy: string) {
    this.blockedBy = blockedBy;
  }
}

/** The work of a lane. A lane is a queue of items that are committed in groups. */
export type GroupWork<Item, Outcome, Name extends string> = {
  /** Returns the transaction for a group of items. Its outcomes are in the order of the items. */
  readonly stepsOf: (items: readonly Item[], mode: LockMode) => Steps<readonly (Outcome | Blocked)[], Name>;
  /** Returns the inner UUID of an item's card program. A group has access to the programs of its items. */
  readonly programOf: (item: Item) => string;
  /** Returns whether an item may join a group that begins with another item. If omitted, any items may share a group. */
  readonly joins?: (item: Item, first: Item) => boolean;
  /** Returns the names that an item must lock, as in {@link Blocked}. */
  readonly needsOf: (item: Item) => readonly string[];
  /** Returns the wire id of the transfer that an outcome has created or changed, now or earlier. Undefined for a refusal. */
  readonly transferOf: (item: Item, outcome: Outcome) => string | undefined;
  /** Called for each item of a committed group, with its outcome. It must cost next to nothing. */
  readonly onCommitted?: (item: Item, outcome: Outcome) => void;
  readonly traceOf: TraceOf<Item>;
  readonly chained?: ChainedWork<Item, Outcome, Name>;
};

export type ChainedWork<Item, Outcome, Name extends string> = {
  /** Begins a chain. It remembers the state that each group leaves for the next. */
  readonly begin: () => (items: readonly Item[]) => ChainedSteps<readonly Outcome[], Name>;
  /**
   * Returns a name for the data that the item changes, if a chain does not remember that data and every group reads it again. The
   * item waits while a group in flight changes data with the same name.
   */
  readonly changeOf: (item: Item) => string | undefined;
  /** Called with the reason why a chain broke: the value that was thrown, or the error of PostgreSQL. */
  readonly onBreak?: (error: unknown) => void;
};

/** How a group was committed: in a chain, or with locked accounts. */
export type CommitPath = 'chained' | 'locking';

/** Observes a lane. Called for every group, so it must cost next to nothing. */
export type CommitObserver = {
  /** Called when a group is committed. `milliseconds` is the time since its load began. */
  readonly onGroup: (path: CommitPath, size: number, milliseconds: number) => void;
  /** Called when a chain broke. Its groups are committed again, with locks. */
  readonly onBreak: () => void;
  readonly onSettled: (settlement: Settlement) => void;
  /** Called with the number of transfers whose outcome was unknown when their requests ended. */
  readonly onUnknown: (transfers: number) => void;
};

export type Pending<Item, Outcome> = {
  readonly item: Item;
  readonly deadline: number;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
};

export function firstDeadline(group: readonly { readonly deadline: number }[]): number {
  return Math.min(...group.map(({ deadline }) => deadline));
}

/** Returns the trace of an item. Undefined for nearly all items. */
export type TraceOf<Item> = (item: Item) => RequestTrace | undefined;

/** Begins the trace of a group that contains a traced item. Returns undefined for nearly all groups. */
export function traceGroup<Item>(
  group: readonly { readonly item: Item }[],
  traceOf: TraceOf<Item>,
): GroupTrace | undefined {
  let traced: RequestTrace[] | undefined;
  for (const { item } of group) {
    const trace = traceOf(item);
    if (trace === undefined) continue;
    traced ??= [];
    traced.push(trace);
  }
  return traced === undefined ? undefined : begin(traced);
}

function begin(traced: readonly RequestTrace[]): GroupTrace | undefined {
  let trace: GroupTrace | undefined;
  notify(() => {
    trace = traced[0]?.beginGroup(traced);
  });
  return {
    loaded: () => notify(() => trace?.loaded()),
    decided: () => notify(() => trace?.decided()),
    ended: (size, outcome) => notify(() => trace?.ended(size, outcome)),
  };
}

/** Returns a decision that reports its beginning and end to a trace. */
export function tracedDecision<Loaded, Decision>(
  trace: GroupTrace | undefined,
  decide: (loaded: Loaded, batchId: string) => Decision,
): (loaded: Loaded, batchId: string) => Decision {
  if (trace === undefined) return decide;
  return (loaded, batchId) => {
    trace.loaded();
    const decision = decide(loaded, batchId);
    trace.decided();
    return decision;
  };
}

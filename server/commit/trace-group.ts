import type { GroupTrace, RequestTrace } from '../calls/trace.ts';
import { notify } from '../foundation/notify.ts';

/** The trace of an item, or undefined for nearly all items. */
export type TraceOf<Item> = (item: Item) => RequestTrace | undefined;

/** Begins the trace of a group that has a traced item. Returns undefined for nearly all groups. */
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

/** A decision that reports its beginning and its end to a trace. */
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

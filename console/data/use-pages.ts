import { useState } from 'preact/hooks';
import type { CallOptions, Page, TransferService } from '../../sdk/client.ts';
import { useOperation } from './use-operation.ts';

export type Pages<Row> = {
  readonly rows: readonly Row[];
  /** Whether a response has arrived. Without this, a list that is loading would look empty. */
  readonly isLoaded: boolean;
  readonly error: Error | undefined;
  readonly loading: boolean;
  readonly stale: boolean;
  readonly reload: () => void;
  readonly pager: {
    /** The number of the page, from 1. */
    readonly page: number;
    readonly count: number;
    readonly hasNext: boolean;
    readonly loading: boolean;
    readonly onPrevious: () => void;
    readonly onNext: () => void;
  };
};

/**
 * Reads one page of a list at a time, so that no list fills the memory: `usePages((api, options, cursor) =>
 * api.transfers.list({ limit: 50, cursor }, options), { deps: [filters] })`. A change of `deps` starts again with the first page.
 */
export function usePages<Row>(
  call: ((api: TransferService, options: CallOptions, cursor: string | undefined) => Promise<Page<Row>>) | undefined,
  { deps = [], pollMilliseconds }: { readonly deps?: readonly unknown[]; readonly pollMilliseconds?: number } = {},
): Pages<Row> {
  const filters = JSON.stringify(deps);
  const [visited, setVisited] = useState<{ readonly filters: string; readonly cursors: readonly string[] }>({
    filters,
    cursors: [],
  });
  // A change of filters starts again with the first page.
  const cursors = visited.filters === filters ? visited.cursors : [];
  const setCursors = (next: readonly string[]): void => setVisited({ filters, cursors: next });
  const cursor = cursors.at(-1);
  const { data, ...state } = useOperation(call && ((api, options) => call(api, options, cursor)), {
    deps: [filters, cursor],
    // Only the first page is polled, because new rows only appear there.
    pollMilliseconds: cursor === undefined ? pollMilliseconds : undefined,
  });
  const next = data?.next_cursor ?? undefined;
  return {
    ...state,
    rows: data?.data ?? [],
    isLoaded: data !== undefined,
    pager: {
      page: cursors.length + 1,
      count: data?.data.length ?? 0,
      hasNext: next !== undefined,
      loading: state.loading,
      onPrevious: () => setCursors(cursors.slice(0, -1)),
      onNext: () => next !== undefined && setCursors([...cursors, next]),
    },
  };
}

/** Returns the parameters of a query that have a value. */
export function given<Name extends string>(
  values: Readonly<Record<Name, string | undefined>>,
): Partial<Record<Name, string>> {
  const pairs = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  return Object.fromEntries(pairs) as Partial<Record<Name, string>>;
}

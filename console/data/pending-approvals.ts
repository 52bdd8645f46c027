import { createContext } from 'preact';
import { useSession } from './session.ts';
import type { OperationState } from './use-operation.ts';
import { useOperation } from './use-operation.ts';

const POLL_MILLISECONDS = 60_000;
/** More are shown as "50+". */
const MAX_PENDING = 50;

/** How many requests are waiting for an approval. The navigation and the overview share one request. */
export type PendingApprovals = { readonly count: number; readonly hasMore: boolean };

export const PendingApprovalsContext = createContext<
  Pick<OperationState<PendingApprovals>, 'data' | 'error' | 'loading'>
>({
  data: undefined,
  error: undefined,
  loading: false,
});

/** Counts the requests that are waiting for an approval, if the caller may read approvals. */
export function usePendingApprovals(): OperationState<PendingApprovals> {
  const { can } = useSession();
  return useOperation(
    can('list_approvals')
      ? async (api, options) => {
          const { data, next_cursor: next } = await api.approvals.list(
            { status: 'pending', limit: MAX_PENDING },
            options,
          );
          return { count: data.length, hasMore: next !== null };
        }
      : undefined,
    { isOwn: true, ofAnyProgram: true, pollMilliseconds: POLL_MILLISECONDS },
  );
}

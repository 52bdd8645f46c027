import { useEffect } from 'preact/hooks';
import type { CaseDetails, InspectedCase } from '../../../sdk/client.ts';
import { workOn } from '../../data/location.ts';
import { useProgramId, useProgramOf } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { type OperationState, useOperation } from '../../data/use-operation.ts';

const POLL_MILLISECONDS = 5_000;

/** A case. The fields that only operators see are null for its card program. */
export type ShownCase = CaseDetails & {
  readonly inspected: Pick<InspectedCase, 'snapshot' | 'incidents' | 'similar' | 'urgency'> | null;
};

/**
 * Reads a case. For support, it calls `inspect_case` only once, because each call adds an entry to the audit log. Then it polls
 * for changes with `get_case`, as for a card program.
 */
export function useCase(caseId: string): OperationState<ShownCase> {
  const { can } = useSession();
  const chosen = useProgramId();
  const isSupport = can('inspect_case');
  const inspected = useOperation(isSupport ? (api, options) => api.cases.inspect(caseId, options) : undefined, {
    deps: [caseId],
    ofAnyProgram: true,
  });
  const found = inspected.data;
  const programId = isSupport ? found?.program_id : chosen;
  const polled = useOperation(
    can('get_case') && (!isSupport || found !== undefined)
      ? (api, options) => api.cases.get(caseId, { ...options, ...(programId !== undefined && { programId }) })
      : undefined,
    { deps: [caseId, programId], pollMilliseconds: POLL_MILLISECONDS },
  );
  useEffect(() => {
    if (found !== undefined) workOn(found.case_id);
  }, [found?.case_id]);
  // Everything that the case links to, such as the transfer, belongs to the program of the case.
  useProgramOf(found?.program_id);
  if (!isSupport) return { ...polled, data: polled.data && { ...polled.data, inspected: null } };
  return {
    ...inspected,
    error: inspected.error ?? polled.error,
    stale: inspected.stale || polled.stale,
    data: found && { ...found, ...polled.data, inspected: found },
    reload: () => (polled.data === undefined ? inspected : polled).reload(),
  };
}

import { useContext } from 'preact/hooks';
import { TransferServiceError } from '../../../sdk/client.ts';
import { hrefTo } from '../../data/location.ts';
import { SessionContext, useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { pathOf } from '../../format/ids.ts';
import { whoMay } from '../../format/operators/roles.ts';
import { Button } from '../button.tsx';

type Parts = {
  readonly requestId: string;
  /** Whether the error is one that only support can resolve: then it says who may, where the caller may not. */
  readonly needsSupport: boolean;
};

/**
 * Opens a case about a failed request with one click, or finds the one that it has, without leaving the form that failed. An
 * error can also be shown before somebody signs in; there is nobody then to open a case.
 */
export function CaseButton(parts: Parts) {
  return useContext(SessionContext) === undefined ? null : <OpenCase {...parts} />;
}

function OpenCase({ requestId, needsSupport }: Parts) {
  const { can } = useSession();
  const open = useAction(
    ({ id }: { readonly id: string }, api, options) => api.cases.create({ request_id: id }, options),
    { operation: 'create_case' },
  );
  if (!can('create_case')) {
    return needsSupport ? <span class="quiet">To open a case, ask {whoMay('create_case')}.</span> : null;
  }
  const { result, error, pending } = open;
  if (result !== undefined && result.request_id === requestId) {
    const { case_id: id, program_id: program } = result;
    return <a href={hrefTo(pathOf(id) ?? '', { program })}>See its case</a>;
  }
  return (
    <>
      <Button onClick={() => void open.run({ id: requestId })} pending={pending}>
        Open a case
      </Button>
      {error !== undefined && <span role="status">{problemOf(error)}</span>}
    </>
  );
}

function problemOf(error: Error): string {
  const isMissing = error instanceof TransferServiceError && error.Status === 404;
  return isMissing ? 'No case: the request belongs to no card program.' : error.message;
}

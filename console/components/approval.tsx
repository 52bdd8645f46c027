import type { AwaitsApproval, OperationId } from '../../sdk/client.ts';
import { hrefTo } from '../data/location.ts';
import { useSession } from '../data/session.ts';
import { useOperation } from '../data/use-operation.ts';
import { pathOf } from '../format/ids.ts';
import { noticeOf } from '../format/operators/approvals.ts';
import { Moment } from './moment.tsx';

/**
 * Says in a form that a second person must approve its request, if an approval rule can apply to the request. Every form of an
 * approvable operation uses this component. Only operators' requests need an approval.
 */
export function ApprovalNotice({
  operation,
  fields,
}: {
  readonly operation: OperationId;
  /** The fields that the form of update_program can change. */
  readonly fields?: readonly string[];
}) {
  const { caller, can } = useSession();
  const isOperator = caller === 'operator_key' || caller === 'operator_person';
  const policy = useOperation(
    isOperator && can('get_approval_policy') ? (api, options) => api.approvals.policy(options) : undefined,
    { isOwn: true, ofAnyProgram: true },
  );
  const text = noticeOf(policy.data?.rules ?? [], operation, fields);
  return text === undefined ? null : <p class="approval-notice">{text}</p>;
}

/** Says that a request about the shown record is waiting for approval. */
export function PendingApproval({
  record,
}: {
  readonly record: { readonly pending_approval_id?: string } | undefined;
}) {
  const id = record?.pending_approval_id;
  if (id === undefined) return null;
  return (
    <p class="approval-notice" role="status">
      A request about this is waiting for the approval of a second person.{' '}
      <a href={hrefTo(pathOf(id) ?? '')}>Open it</a>
    </p>
  );
}

/** Shows, instead of an error, that a request is waiting for approval. */
export function AwaitingApproval({ error: { approval } }: { readonly error: AwaitsApproval }) {
  const { approval_id: id, status, expires_at: at } = approval;
  return (
    <div class="answer unknown" role="status">
      <p>
        {status === 'pending'
          ? 'This is waiting for the approval of a second person. Nothing has changed yet.'
          : 'This was already sent for approval.'}
      </p>
      <p>
        <a href={hrefTo(pathOf(id) ?? '')}>Open the approval</a>
        {status === 'pending' && (
          <>
            . It expires <Moment at={at} distance />.
          </>
        )}
      </p>
    </div>
  );
}

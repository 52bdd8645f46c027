import type { ApprovalRecord } from '../../../contract/approvals.ts';
import { approvalStatusAt } from '../../../domain/approvals/approval.ts';
import type { ApprovableId } from '../../../domain/approvals/policy.ts';
import { toCredentialId, toWireId } from '../../../domain/identifier.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import type { ShownApproval } from '../../store/approval.ts';

type Values = ApprovalRecord['values_then'];

/** Returns the record of an approval at the time `now`, in milliseconds since 1970. */
export function toApprovalRecord(approval: ShownApproval, now: number, valuesNow: Values = null): ApprovalRecord {
  const { decidedBy, programId } = approval;
  return {
    approval_id: toWireId('apr', approval.approvalId),
    status: approvalStatusAt({ status: approval.status, expiresAt: approval.expiresAt.getTime() }, now),
    operation: approval.operation as ApprovableId,
    program_id: programId === null ? null : toWireId('prog', programId),
    summary: approval.summary,
    path: approval.path,
    body: readJson(approval.body),
    values_then: readJson(approval.valuesThen),
    values_now: valuesNow,
    request_id: toWireId('req', approval.requestId),
    requested_by: toCredentialId(approval.requestedBy),
    requested_by_name: approval.requestedByName,
    requested_at: approval.requestedAt.toISOString(),
    expires_at: approval.expiresAt.toISOString(),
    decided_by: decidedBy === null ? null : toCredentialId(decidedBy),
    decided_by_name: approval.decidedByName,
    decided_at: approval.decidedAt?.toISOString() ?? null,
    reason: approval.reason,
    result: readJson(approval.result),
    error: approval.error as ApprovalRecord['error'],
  };
}

/**
 * Returns the approval for events: without the request's body and without people's names, because an erasure does not look for
 * those in events.
 */
export function toEventPayload(approval: ApprovalRecord): string {
  return JSON.stringify({ ...approval, body: null, requested_by_name: null, decided_by_name: null });
}

function readJson(text: string | null): Values {
  return text === null ? null : (parseJson(text) as Values);
}

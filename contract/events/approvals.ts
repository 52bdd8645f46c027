import { ApprovalRecord } from '../approvals.ts';
import { call } from '../error.ts';
import { eventType } from './definition.ts';

const DECIDED = {
  body: null,
  decided_by: 'per_0196f5c2d9a48d11a6e4f2a90c8d5e74',
  decided_at: '2026-01-31T10:15:00.000Z',
} as const;

const UNDECIDED = { decided_by: null, decided_at: null, reason: null } as const;

/** Events contain none of these texts, so an erasure does not need to search them. */
const WITHOUT_TEXTS = { body: null, requested_by_name: null, decided_by_name: null } as const;

/** An event about an approval. */
const approvalEvent = (summary: string, sent: string, reproduce: string, example: object) =>
  eventType({
    summary,
    sent: [sent],
    data: ApprovalRecord,
    subject: 'approval_id',
    operation: 'get_approval',
    isOfService: true,
    example: { ...WITHOUT_TEXTS, values_now: null, result: null, error: null, ...example },
    sample: { reproduce, given: 'a second person', request: call('list_approvals') },
  });

export const APPROVAL_EVENTS = {
  'approval.requested': approvalEvent(
    "An operator's request is waiting for the approval of a second person.",
    'A rule of the approval policy matches the request. The response has the status 202.',
    'Add a rule about create_withdrawal, then withdraw as the treasurer.',
    { ...UNDECIDED, status: 'pending' },
  ),
  'approval.approved': approvalEvent(
    'A second person approved a request. It is carried out right after that.',
    'approve_change succeeds. The change itself has its own event, such as funding.withdrawn.',
    'Approve the request of the treasurer as an approver.',
    { ...DECIDED, status: 'approved' },
  ),
  'approval.rejected': approvalEvent(
    'A second person rejected a request.',
    'reject_change succeeds.',
    'Reject the request of the treasurer as an approver.',
    { ...DECIDED, status: 'rejected' },
  ),
  'approval.withdrawn': approvalEvent(
    'The requester withdrew a request.',
    'withdraw_change succeeds.',
    'Withdraw your own request as the treasurer.',
    {
      ...DECIDED,
      decided_by: 'per_0196f5c2d9a38d11a6e4f2a90c8d5e73',
      status: 'withdrawn',
    },
  ),
  'approval.expired': approvalEvent(
    'No one decided on a request in time.',
    'The `expires_at` of a pending approval has passed.',
    'Let a request wait, and move the sandbox clock past its expires_at.',
    { ...UNDECIDED, status: 'expired', body: null },
  ),
  'approval.failed': approvalEvent(
    'An approved request was refused when it was carried out. Nothing was changed.',
    'The rules, balances or limits no longer allow the request. `error` says why.',
    'Request two withdrawals that together exceed the funding, then approve both.',
    {
      ...DECIDED,
      status: 'failed',
      error: {
        Message: 'The funding has 100.00 USD available.',
        Status: 400,
        Code: 'insufficient_funds',
        Type: 'Request Error',
      },
    },
  ),
};

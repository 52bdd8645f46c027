import { Refusal } from '../refusal.ts';

/**
 * `approved` lasts until the change is carried out, normally for milliseconds. `failed` means that the change was approved, but
 * was refused when it was carried out.
 */
export const APPROVAL_STATUSES = [
  'pending',
  'approved',
  'carried_out',
  'failed',
  'rejected',
  'withdrawn',
  'expired',
] as const;

export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

/** A decision on a pending approval. */
export type ApprovalDecision = 'approve' | 'reject' | 'withdraw';

/** The person or key that decides, or that made the request. Ids are inner UUIDs. */
export type Identity = {
  /** The key or the person that sent the request. Null for a caller without a key in a sandbox. */
  readonly credentialId: string | null;
  /**
   * Everyone who can act with this credential: the key or the person, the person that the key belongs to, and everyone who
   * created or rolled the key, because they know its secret. The people behind their keys count as well.
   */
  readonly behind: readonly string[];
};

/** The maker of a request, with their current permissions. */
export type Maker = Identity & {
  /** Null if the maker may still send the request, otherwise the reason, as the end of a sentence. */
  readonly lost: string | null;
};

/** The person or key that decides. */
export type Checker = Identity & {
  /** The person who is signed in, or the person of the key. Null for a key that belongs to no person. */
  readonly personId: string | null;
  /** Whether the checker may send such a request themselves, or has the scope for approvals. */
  readonly mayDecide: boolean;
};

/** The parts of an approval that decisions depend on. Times are in milliseconds since 1970. */
export type OpenApproval = {
  readonly status: ApprovalStatus;
  readonly operation: string;
  readonly expiresAt: number;
  /** Wire id of the person or key that decided. */
  readonly decidedBy: string | null;
};

// Invariant: No one can approve their own request, approve with a key that belongs to no person, or approve after the approval
//   has ended
// Kept by: `refuseDecision`
// Tested by: `domain/approvals/approval.test.ts`, `test/security/approvals.test.ts`

/** The status at a moment: a pending approval counts as expired even before a job has stored that. */
export function approvalStatusAt(
  { status, expiresAt }: Pick<OpenApproval, 'status' | 'expiresAt'>,
  now: number,
): ApprovalStatus {
  return status === 'pending' && expiresAt <= now ? 'expired' : status;
}

/** Returns the refusal of a decision, or undefined if the decision is allowed. */
export function refuseDecision(
  decision: ApprovalDecision,
  approval: OpenApproval,
  checker: Checker,
  maker: Maker,
  now: number,
): Refusal | undefined {
  const status = approvalStatusAt(approval, now);
  if (status !== 'pending') {
    const by = approval.decidedBy === null || status === 'expired' ? '' : ` by ${approval.decidedBy}`;
    const how = status === 'approved' ? 'has been approved' : ENDS[status];
    return new Refusal('invalid_approval_status', `The approval ${how}${by}.`, { saw: { status } });
  }
  // A caller without a key in a sandbox may do everything.
  if (checker.credentialId === null) return decision === 'approve' ? refuseLost(maker) : undefined;
  const isOwn = isSamePerson(checker, maker);
  if (decision === 'withdraw') {
    if (isOwn) return undefined;
    return new Refusal('forbidden', 'Only the requester can withdraw the request. You can reject it.');
  }
  if (isOwn) {
    const message = `You cannot ${decision} your own request: a second person must. You can withdraw it.`;
    return new Refusal('own_approval', message);
  }
  if (!checker.mayDecide) {
    const message = `To ${decision} this request you need the scope of ${approval.operation}, or 'approvals:write'.`;
    return new Refusal('forbidden', message);
  }
  if (decision === 'reject') return undefined;
  if (checker.personId === null) {
    const message =
      'Only a person can approve: sign in, or use a key that belongs to a person. This key belongs to no one.';
    return new Refusal('forbidden', message);
  }
  return refuseLost(maker);
}

function refuseLost(maker: Maker): Refusal | undefined {
  if (maker.lost === null) return undefined;
  const message = `The request cannot be approved, because the requester ${maker.lost}. Reject it.`;
  return new Refusal('invalid_approval_status', message);
}

const ENDS = {
  carried_out: 'has been approved and carried out',
  failed: 'has been approved, and its change was refused',
  rejected: 'has been rejected',
  withdrawn: 'has been withdrawn',
  expired: 'has expired',
} as const;

function isSamePerson(one: Identity, other: Identity): boolean {
  return one.behind.some((id) => other.behind.includes(id));
}

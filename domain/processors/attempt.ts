import type { Transfer, TransferType } from '../transfers/transfer.ts';

/** Every state of an attempt to have a processor move money. */
export const ATTEMPT_STATUSES = [
  'ready',
  'sent',
  'unknown',
  'pending',
  'approved',
  'declined',
  'failed',
  'reversing',
  'reversed',
  'attention',
] as const;

export type AttemptStatus = (typeof ATTEMPT_STATUSES)[number];

/** The action that a processor is asked for: put money on the card (a load), or take it from the card (an unload). */
export type AttemptKind = 'push' | 'pull';

/** The kind of attempt that a transfer needs. A card-to-card transfer would need two, so it is refused. */
export function kindOf(type: Exclude<TransferType, 'card_to_card'>): AttemptKind {
  return type === 'load' ? 'push' : 'pull';
}

/**
 * An attempt to have a processor move the money of a transfer. Its id identifies the order to the processor, and is the same each
 * time the order is sent. Ids are inner UUIDs, amounts minor units, times milliseconds since 1970.
 */
export type Attempt = {
  readonly programId: string;
  readonly attemptId: string;
  readonly transferId: string;
  readonly cardId: string;
  readonly connectorId: string;
  readonly kind: AttemptKind;
  readonly amount: bigint;
  readonly currency: string;
  readonly status: AttemptStatus;
  /** How often the order has been sent. */
  readonly tries: number;
  /** How often the processor has been asked about the order, or to reverse it, since the outcome became unknown. */
  readonly looks: number;
  /** How many times in a row the processor has answered that it does not know the order. */
  readonly misses: number;
  /** Whether the processor has ever acknowledged the order. After that, "not found" proves nothing. */
  readonly acknowledged: boolean;
  readonly sentAt: number | null;
  /** The processor must not execute the order after this time. Null before the order is sent. */
  readonly notAfter: number | null;
  readonly unknownSince: number | null;
  /** The time of the next step, or null if there is none. */
  readonly nextAt: number | null;
  readonly processorReference: string | null;
  readonly code: string | null;
  /** The pause that the processor advises before another attempt, in seconds. */
  readonly retryAfterSeconds: number | null;
  /** Why the outcome is unknown or nothing was sent, for operators. */
  readonly detail: string | null;
  /** The operator who ended the attempt, as the audit log names them. */
  readonly resolvedBy: string | null;
  /** When the processor reported that it executed the order although its transfer had failed. */
  readonly lateApprovalAt: number | null;
  /** The break for settling the late approval, or null if there is none. */
  readonly breakId: string | null;
  readonly lateApprovalSettledAt: number | null;
  /** When the processor contradicted the known outcome, or null if it has not. */
  readonly contradictedAt: number | null;
  /** The processor's contradicting answer, such as `declined`. */
  readonly contradiction: string | null;
  readonly contradictionBreakId: string | null;
  readonly contradictionSettledAt: number | null;
  /** How far bookings of breaks have changed the amount that the processor has moved, according to the books. Can be negative. */
  readonly correctedAmount: bigint;
  /** The simulator's behavior, or null outside a sandbox. */
  readonly sandboxBehavior: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
};

/** Creates the attempt to have a processor move the money of a transfer. It is due immediately. */
export function newAttempt(
  named: Pick<Attempt, 'attemptId' | 'connectorId' | 'kind' | 'sandboxBehavior'>,
  { programId, transferId, cardId, amount, currency, updatedAt: now }: Transfer,
): Attempt {
  return {
    ...named,
    programId,
    transferId,
    cardId,
    amount,
    currency,
    status: 'ready',
    tries: 0,
    looks: 0,
    misses: 0,
    acknowledged: false,
    sentAt: null,
    notAfter: null,
    unknownSince: null,
    nextAt: now,
    processorReference: null,
    code: null,
    retryAfterSeconds: null,
    detail: null,
    resolvedBy: null,
    lateApprovalAt: null,
    breakId: null,
    lateApprovalSettledAt: null,
    contradictedAt: null,
    contradiction: null,
    contradictionBreakId: null,
    contradictionSettledAt: null,
    correctedAmount: 0n,
    createdAt: now,
    updatedAt: now,
  };
}

/** Whether the attempt has ended, so that no later answer of the processor changes the transfer. */
export function isEnded(status: AttemptStatus): boolean {
  return status === 'approved' || hasFailed(status);
}

/**
 * Whether an attempt is unchanged since it was read. The status alone does not show this: an attempt that is sent again is `sent`
 * again.
 */
export function isUnchanged(now: Attempt, before: Attempt): boolean {
  return now.status === before.status && now.looks === before.looks && now.tries === before.tries;
}

/** Whether the attempt ended without moving money. */
export function hasFailed(status: AttemptStatus): boolean {
  return status === 'declined' || status === 'failed' || status === 'reversed';
}

/** The fields that decide how much an attempt has moved, according to the books. */
export type InBooks = Pick<Attempt, 'status' | 'amount' | 'lateApprovalAt' | 'correctedAmount'>;

/** The amount that the processor of an ended attempt has moved, according to the books, in minor units. */
export function movedInBooks({ status, amount, lateApprovalAt, correctedAmount }: InBooks): bigint {
  return (status === 'approved' || lateApprovalAt !== null ? amount : 0n) + correctedAmount;
}

/** Whether the processor moved the money after the transfer had failed, and has not undone that. */
export function isMovedLate(attempt: InBooks): boolean {
  return attempt.lateApprovalAt !== null && movedInBooks(attempt) !== 0n;
}

/** Whether the processor has contradicted the known outcome, and no operator has settled that. */
export function isContradicted(attempt: Pick<Attempt, 'contradictedAt' | 'contradictionSettledAt'>): boolean {
  return attempt.contradictedAt !== null && attempt.contradictionSettledAt === null;
}

/** The processor's contradiction, as the end of a sentence: `that it has declined the order`. */
export function contradictionInWords(said: string): string {
  return CONTRADICTIONS[said] ?? `"${said}"`;
}

const CONTRADICTIONS: Readonly<Record<string, string>> = {
  approved: 'that it has moved the money',
  declined: 'that it has declined the order',
  reversed: 'that it has undone the order',
  not_executed: 'that it has not executed the order',
};

/** Whether a request may have reached the processor and its result is not known. */
export function isUnknown(status: AttemptStatus): boolean {
  return status === 'unknown' || status === 'reversing' || status === 'attention';
}

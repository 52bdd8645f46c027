import type { Card } from '../cards/card.ts';

/** The direction of a transfer: funding to card, card to funding, card to card. */
export const TRANSFER_TYPES = ['load', 'unload', 'card_to_card'] as const;

export type TransferType = (typeof TRANSFER_TYPES)[number];

/** Every state a transfer can be in. */
export const TRANSFER_STATUSES = ['scheduled', 'pending', 'completed', 'failed', 'canceled', 'expired'] as const;

export type TransferStatus = (typeof TRANSFER_STATUSES)[number];

/** The commands on a transfer. Time triggers `execute` and `expire`, a processor `report`, and a caller the rest. */
export type TransferCommand = 'create' | 'execute' | 'capture' | 'cancel' | 'expire' | 'report' | 'reverse';

/** One transition of the state machine. `from` is null for the creation. */
export type TransferMove = {
  readonly from: TransferStatus | null;
  readonly command: TransferCommand;
  readonly to: TransferStatus;
  readonly when: string;
};

/** The complete state machine of a transfer. No other transition is possible. */
export const TRANSFER_MOVES: readonly TransferMove[] = [
  { from: null, command: 'create', to: 'scheduled', when: 'scheduled_for was given' },
  {
    from: null,
    command: 'create',
    to: 'pending',
    when: 'capture is manual, or a processor has the money of the card: the money is held',
  },
  { from: null, command: 'create', to: 'completed', when: 'capture is automatic: the money moves' },
  {
    from: 'scheduled',
    command: 'execute',
    to: 'pending',
    when: 'due, and capture is manual or a processor has the money of the card',
  },
  { from: 'scheduled', command: 'execute', to: 'completed', when: 'due, and capture is automatic' },
  { from: 'scheduled', command: 'execute', to: 'failed', when: 'due, and refused: the error says why' },
  { from: 'scheduled', command: 'execute', to: 'expired', when: 'due, but expires_at has passed: nothing was held' },
  { from: 'scheduled', command: 'cancel', to: 'canceled', when: 'nothing was held' },
  { from: 'pending', command: 'capture', to: 'completed', when: 'whole or in part; the rest is released' },
  { from: 'pending', command: 'cancel', to: 'canceled', when: 'the money is released' },
  { from: 'pending', command: 'expire', to: 'expired', when: 'expires_at has passed: the money is released' },
  { from: 'pending', command: 'report', to: 'completed', when: 'the processor has carried it out' },
  {
    from: 'pending',
    command: 'report',
    to: 'failed',
    when: 'the processor did not carry it out: the money is released',
  },
  {
    from: 'pending',
    command: 'report',
    to: 'pending',
    when: 'it is not known yet whether the processor has carried it out',
  },
  { from: 'completed', command: 'reverse', to: 'completed', when: 'whole or in part, up to what was captured' },
];

/** Whether a command is possible in this status. */
export function allows(status: TransferStatus, command: TransferCommand): boolean {
  return TRANSFER_MOVES.some((move) => move.from === status && move.command === command);
}

/** Whether a status is final: no command leads out of it. */
export function isFinal(status: TransferStatus): boolean {
  return TRANSFER_MOVES.every((move) => move.from !== status || move.to === status);
}

/**
 * A transfer in one of these statuses occupies its reference: it holds, has moved or may still move money. In any other status it
 * has ended without moving money, and another transfer may use its reference.
 */
export const STATUSES_WITH_REFERENCE = [
  'scheduled',
  'pending',
  'completed',
] as const satisfies readonly TransferStatus[];

/** Whether the outcome of a transfer is `final`, still `open`, or `unknown` (a processor did not respond). */
export type TransferOutcome = 'final' | 'open' | 'unknown';

/** Whether the money moves when the transfer is created, or is held until it is captured. */
export type Capture = 'automatic' | 'manual';

/** The parts of a request that the rules need. Amount in minor units, times in milliseconds since 1970. */
export type TransferTerms = {
  readonly type: TransferType;
  readonly amount: bigint;
  readonly cardName: string;
  readonly destinationCardName: string | null;
  readonly currency: string | null;
  readonly reference: string | null;
  readonly capture: Capture;
  /** When the hold of a manual capture ends, or null for automatic capture. */
  readonly expiresAt: number | null;
  /** When the transfer will be executed, or null for now. */
  readonly scheduledFor: number | null;
};

/** The terms of the simplest transfer: one card, its currency, executed immediately. Amount in minor units. */
export function plainTerms(type: TransferType, amount: bigint, cardName: string): TransferTerms {
  return {
    type,
    amount,
    cardName,
    destinationCardName: null,
    currency: null,
    reference: null,
    capture: 'automatic',
    expiresAt: null,
    scheduledFor: null,
  };
}

/** A stored transfer. Ids are inner UUIDs, amounts minor units, times milliseconds since 1970. */
export type Transfer = {
  readonly programId: string;
  readonly transferId: string;
  readonly type: TransferType;
  readonly cardId: string;
  readonly cardName: string;
  readonly destinationCardId: string | null;
  readonly destinationCardName: string | null;
  readonly amount: bigint;
  readonly capturedAmount: bigint;
  readonly reversedAmount: bigint;
  readonly currency: string;
  readonly status: TransferStatus;
  readonly outcome: TransferOutcome;
  readonly capture: Capture;
  readonly expiresAt: number | null;
  readonly scheduledFor: number | null;
  readonly description: string | null;
  readonly reference: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** The stored error record of a failed transfer. No rule reads it. */
  readonly error: object | null;
  readonly requestId: string;
  /** The stored form of the idempotency key of that request. Null without one, and for transfers of earlier versions. */
  readonly idempotencyKey: string | null;
  /** Inner UUID of the API key that created it, or {@link NO_API_KEY}. Null for transfers of earlier versions. */
  readonly createdBy: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly completedAt: number | null;
};

/** The caller's notes on a transfer, which no rule uses. Omitted fields are null or empty. */
export type TransferNotes = Partial<Pick<Transfer, 'description' | 'metadata'>>;

/** Stands for the API key of a caller without one, as in a keyless sandbox. */
export const NO_API_KEY = '00000000-0000-0000-0000-000000000000';

/**
 * The fields of a new transfer that are not terms: its ids, which are generated before the decision, its creator, and its time.
 */
export type TransferCreation = Pick<
  Transfer,
  'programId' | 'transferId' | 'requestId' | 'idempotencyKey' | 'createdBy'
> & {
  readonly now: number;
};

/** The record of a new transfer, with the status that its decision gave it. */
export function newTransfer(
  creation: TransferCreation,
  terms: TransferTerms,
  notes: TransferNotes,
  cards: { readonly card: Card; readonly destinationCard: Card | undefined },
): Transfer {
  const destination = terms.type === 'card_to_card' ? cards.destinationCard : undefined;
  const status = statusOf(terms, cards.card);
  const isDone = status === 'completed';
  return {
    programId: creation.programId,
    transferId: creation.transferId,
    type: terms.type,
    cardId: cards.card.cardId,
    cardName: cards.card.name,
    destinationCardId: destination?.cardId ?? null,
    destinationCardName: destination?.name ?? null,
    amount: terms.amount,
    capturedAmount: isDone ? terms.amount : 0n,
    reversedAmount: 0n,
    currency: cards.card.currency,
    status,
    outcome: isDone ? 'final' : 'open',
    capture: terms.capture,
    expiresAt: terms.expiresAt,
    scheduledFor: terms.scheduledFor,
    description: notes.description ?? null,
    reference: terms.reference,
    metadata: notes.metadata ?? {},
    error: null,
    requestId: creation.requestId,
    idempotencyKey: creation.idempotencyKey,
    createdBy: creation.createdBy,
    createdAt: creation.now,
    updatedAt: creation.now,
    completedAt: isDone ? creation.now : null,
  };
}

/** The first status of a transfer, which its terms and its card determine. */
export function statusOf(
  terms: Pick<TransferTerms, 'scheduledFor' | 'capture'>,
  card: Pick<Card, 'connectorId'>,
): TransferStatus {
  if (terms.scheduledFor !== null) return 'scheduled';
  return terms.capture === 'manual' || card.connectorId !== null ? 'pending' : 'completed';
}

/** Whether a transfer is waiting for its card's processor: only such a hold is captured automatically. */
export function waitsForProcessor({ status, capture }: Pick<Transfer, 'status' | 'capture'>): boolean {
  return status === 'pending' && capture === 'automatic';
}

/**
 * Whether the processor may know more about the money of a transfer than its status shows: while the transfer is waiting, and
 * after it has failed or completed, since the processor may have contradicted that outcome.
 */
export function dependsOnProcessor(transfer: Pick<Transfer, 'status' | 'capture'>): boolean {
  const hasEnded = transfer.status === 'failed' || transfer.status === 'completed';
  return waitsForProcessor(transfer) || (hasEnded && transfer.capture === 'automatic');
}

/** The status of a transfer at a moment. A hold counts as expired from its `expires_at` on, even before that is stored. */
export function statusAt(transfer: Pick<Transfer, 'status' | 'expiresAt'>, now: number): TransferStatus {
  const isOver = transfer.status === 'pending' && transfer.expiresAt !== null && transfer.expiresAt <= now;
  return isOver ? 'expired' : transfer.status;
}

/** A transfer with its status at a moment ({@link statusAt}). */
export function transferAt(transfer: Transfer, now: number): Transfer {
  const status = statusAt(transfer, now);
  return status === transfer.status ? transfer : { ...transfer, status, outcome: 'final' };
}

// Invariant: A hold is captured, canceled or expires exactly once
// Kept by: the locks of its two accounts
// Tested by: `test/store/transfers.test.ts`, `verification/campaigns/changes.ts`

/**
 * Money that a pending transfer reserves at its source for its destination, in minor units. A hold exists only while it is open,
 * and is deleted once it is captured, canceled or expired. An account's `held` is the sum of the holds on it.
 */
export type Hold = {
  readonly programId: string;
  readonly transferId: string;
  readonly sourceAccountId: string;
  readonly destinationAccountId: string;
  readonly amount: bigint;
  /** When the hold expires, in milliseconds since 1970. Null if its transfer waits for a processor, whose answer ends the hold. */
  readonly expiresAt: number | null;
  /** Start of the day whose limits counted the hold, in milliseconds since 1970. Released amounts are given back to that day. */
  readonly dayStart: number;
};

/** Default duration of a hold, in milliseconds: seven days. */
export const DEFAULT_HOLD_MILLISECONDS = 7 * 24 * 60 * 60 * 1000;

/** Maximum duration of a hold, in milliseconds: ninety days. */
export const MAX_HOLD_MILLISECONDS = 90 * 24 * 60 * 60 * 1000;

/** How far ahead a transfer may be scheduled, in milliseconds: a leap year. */
export const MAX_SCHEDULE_MILLISECONDS = 366 * 24 * 60 * 60 * 1000;

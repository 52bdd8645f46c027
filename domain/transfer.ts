import type { Card } from './card.ts';
import type { ErrorRecord } from './error-record.ts';

/** What a transfer does with the card: funding to card, card to funding, card to card. */
export const TRANSFER_TYPES = ['load', 'unload', 'card_to_card'] as const;

/** One of {@link TRANSFER_TYPES}. */
export type TransferType = (typeof TRANSFER_TYPES)[number];

/** Every state a transfer can be in. Today a transfer completes at once; holds and schedules use the others. */
export const TRANSFER_STATUSES = ['scheduled', 'pending', 'completed', 'failed', 'canceled', 'expired'] as const;

/** One of {@link TRANSFER_STATUSES}. */
export type TransferStatus = (typeof TRANSFER_STATUSES)[number];

/** Where a transfer's states may lead; an empty list is an end. */
export const TRANSFER_MOVES: Readonly<Record<TransferStatus, readonly TransferStatus[]>> = {
  scheduled: ['pending', 'completed', 'failed', 'canceled'],
  pending: ['completed', 'failed', 'canceled', 'expired'],
  completed: [],
  failed: [],
  canceled: [],
  expired: [],
};

/** Whether what a transfer came to is known for good (`final`), still `open`, or `unknown` (a processor is silent). */
export type TransferOutcome = 'final' | 'open' | 'unknown';

/** What the rules need to know of a request; the amount is in minor units. */
export type TransferTerms = {
  readonly type: TransferType;
  readonly amount: bigint;
  readonly cardName: string;
  readonly destinationCardName: string | null;
  readonly currency: string | null;
  readonly reference: string | null;
};

/** A transfer as it is kept. Ids are inner UUIDs, amounts minor units, times milliseconds since 1970. */
export type Transfer = {
  readonly programId: string;
  readonly transferId: string;
  readonly type: TransferType;
  readonly cardId: string;
  /** The card's id on the wire. */
  readonly cardName: string;
  readonly destinationCardId: string | null;
  readonly destinationCardName: string | null;
  readonly amount: bigint;
  readonly capturedAmount: bigint;
  readonly reversedAmount: bigint;
  readonly currency: string;
  readonly status: TransferStatus;
  readonly outcome: TransferOutcome;
  readonly capture: 'automatic' | 'manual';
  readonly expiresAt: number | null;
  readonly scheduledFor: number | null;
  readonly description: string | null;
  readonly reference: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly error: ErrorRecord | null;
  readonly requestId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly completedAt: number | null;
};

/** What the caller attached to a transfer and no rule looks at. */
export type TransferNotes = {
  readonly description: string | null;
  readonly metadata: Readonly<Record<string, string>>;
};

/** Where a new transfer belongs: its ids, made before the decision, and the moment of the decision. */
export type TransferBirth = {
  readonly programId: string;
  readonly transferId: string;
  readonly requestId: string;
  readonly now: number;
};

/** The record of a transfer that completes as it is made: automatic capture, no processor. */
export function completedTransfer(
  birth: TransferBirth,
  terms: TransferTerms,
  notes: TransferNotes,
  cards: { readonly card: Card; readonly destinationCard: Card | undefined },
): Transfer {
  const destination = terms.type === 'card_to_card' ? cards.destinationCard : undefined;
  return {
    programId: birth.programId,
    transferId: birth.transferId,
    type: terms.type,
    cardId: cards.card.cardId,
    cardName: cards.card.name,
    destinationCardId: destination?.cardId ?? null,
    destinationCardName: destination?.name ?? null,
    amount: terms.amount,
    capturedAmount: terms.amount,
    reversedAmount: 0n,
    currency: cards.card.currency,
    status: 'completed',
    outcome: 'final',
    capture: 'automatic',
    expiresAt: null,
    scheduledFor: null,
    description: notes.description,
    reference: terms.reference,
    metadata: notes.metadata,
    error: null,
    requestId: birth.requestId,
    createdAt: birth.now,
    updatedAt: birth.now,
    completedAt: birth.now,
  };
}

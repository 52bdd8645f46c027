import type { CardStatus } from '../../../domain/cards/card.ts';
import type { Terms } from './book-limits.ts';

/** An account of the serial books. */
export type BookAccount = { balance: bigint; held: bigint; incoming: bigint };

/** A card of the serial books; `isElsewhere`: its money is at a processor, and the account has what is not settled. */
export type BookCard = { status: CardStatus; isErased: boolean; readonly isElsewhere: boolean };

/** A transfer of the serial books. */
export type BookTransfer = Terms & {
  readonly holds: boolean;
  readonly reference: string | null;
  readonly scheduledFor: number | null;
  readonly expiresAt: number | null;
  /** The time at which it was counted. */
  countedAt: number;
  status: 'scheduled' | 'pending' | 'completed' | 'canceled' | 'expired' | 'failed';
  /** Whether a processor moves its money: only what it says ends it. */
  readonly isElsewhere: boolean;
  captured: bigint;
  reversed: bigint;
  metadata: Record<string, string>;
};

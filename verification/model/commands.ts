import type { CardStatus } from '../../domain/cards/card.ts';
import type { Direction, LimitName, Limits } from '../../domain/ledger/limits.ts';
import type { AskedTransfer } from './books.ts';
import type { Switching } from './model.ts';

/** One limit to set, or to remove (null). The maximum balance has no direction. */
export type LimitChange = {
  readonly direction: Direction | null;
  readonly name: LimitName | 'maximum_balance';
  readonly value: bigint | null;
};

/** A request of a caller or an operator about a program. The program has the same name as in the model. */
export type Request = { readonly program: string } & (
  | {
      readonly does: 'create';
      readonly asked: AskedTransfer;
      /** How many seconds the caller waits for the processor. */
      readonly waits: number | null;
      /** Whether the row of the transfer contains text that PostgreSQL cannot store. */
      readonly isPoison: boolean;
    }
  | { readonly does: 'capture' | 'reverse'; readonly transfer: string; readonly amount: bigint | null }
  | { readonly does: 'cancel'; readonly transfer: string }
  | { readonly does: 'update_transfer'; readonly transfer: string; readonly name: string; readonly value: string }
  /** A null value leaves the card's value unchanged. */
  | {
      readonly does: 'update_card';
      readonly card: string;
      readonly status: CardStatus | null;
      readonly expiresOn: string | null;
      readonly balanceTo: 'funding' | null;
    }
  | { readonly does: 'limit_card'; readonly card: string; readonly limit: LimitChange }
  /** Changes one member. `limit` applies to all cards together, `cardLimit` to each card. */
  | {
      readonly does: 'update_program';
      readonly name?: string;
      readonly threshold?: bigint | null;
      readonly limit?: LimitChange;
      readonly cardLimit?: LimitChange;
    }
  | {
      readonly does: 'deposit' | 'withdraw';
      readonly currency: string;
      readonly amount: bigint;
      readonly reference: string | null;
    }
  | { readonly does: 'change_switch'; readonly setting: Switching }
  | { readonly does: 'resolve'; readonly attempt: string; readonly wasExecuted: boolean }
  /** `fromFirst` says whether the webhook gets all events from the first one. */
  | { readonly does: 'create_webhook'; readonly fromFirst: boolean }
  /** `skips` says whether the webhook skips the events that it has not received. */
  | {
      readonly does: 'update_webhook';
      readonly webhook: string;
      readonly status: 'enabled' | 'disabled';
      readonly skips: boolean;
    }
  | { readonly does: 'delete_webhook'; readonly webhook: string }
);

/** A request, or a later or earlier time. The clock of a sandbox can go back. */
export type Command = Request | { readonly does: 'wait_until'; readonly now: number };

/** The programs before the first command. The model calls a program by its number here. */
export type Opening = { readonly now: number; readonly programs: readonly OpeningProgram[] };

export type OpeningProgram = {
  readonly name: string;
  readonly zone: string;
  readonly currency: string;
  readonly limits: Limits | null;
  readonly cardLimits: Limits | null;
  readonly threshold: bigint | null;
  /** The balances of the funding accounts, by currency. */
  readonly funding: Readonly<Record<string, bigint>>;
  readonly cards: readonly OpeningCard[];
};

/** A card. If it `isElsewhere`, a processor has its money. */
export type OpeningCard = {
  readonly name: string;
  readonly currency: string;
  readonly status: CardStatus;
  readonly expiresOn: string | null;
  readonly limits: Limits | null;
  readonly balance: bigint;
  readonly isElsewhere: boolean;
};

const NO_LIMITS: Limits = { in: {}, out: {}, maximumBalance: null };

/** The limits after one of them was set or removed. */
export function withLimit(limits: Limits | null, { direction, name, value }: LimitChange): Limits {
  const before = limits ?? NO_LIMITS;
  if (direction === null) return { ...before, maximumBalance: value };
  return { ...before, [direction]: { ...before[direction], [name]: value ?? undefined } };
}

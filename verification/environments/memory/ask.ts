import type { CardStatus } from '../../../domain/cards/card.ts';

/** A caller's request. Amounts are in minor units, times in milliseconds since 1970. `transfer` is an id on the wire. */
export type Ask =
  | {
      readonly does: 'create';
      readonly program: number;
      readonly type: 'load' | 'unload' | 'card_to_card';
      readonly card: string;
      readonly destination: string | null;
      readonly amount: bigint;
      readonly holds: boolean;
      /** When its hold ends. Null means the default, which is longer than any schedule. */
      readonly expiresAt: number | null;
      readonly scheduledFor: number | null;
      readonly reference: string | null;
      /** How many seconds its caller waits for the processor. */
      readonly waits: number | null;
      /** Whether its row contains text that PostgreSQL cannot store. */
      readonly isPoison: boolean;
    }
  | {
      readonly does: 'capture' | 'cancel' | 'reverse';
      readonly program: number;
      readonly transfer: string;
      readonly amount: bigint | null;
    }
  | {
      readonly does: 'update_transfer';
      readonly program: number;
      readonly transfer: string;
      readonly name: string;
      readonly value: string;
    }
  | { readonly does: 'update_card'; readonly program: number; readonly card: string; readonly status: CardStatus }
  | {
      readonly does: 'limit_card';
      readonly program: number;
      readonly card: string;
      /** The direction and the name, such as `in daily_amount`, or `maximum_balance`. */
      readonly limit: string;
      readonly value: bigint | null;
    }
  | {
      readonly does: 'update_program';
      readonly program: number;
      readonly member: 'name' | 'limits' | 'card_limits' | 'funding_low_threshold';
      /** The same names as for a card, for `limits` and `card_limits`. */
      readonly limit: string;
      readonly value: bigint | null;
    }
  | {
      readonly does: 'deposit' | 'withdraw';
      readonly program: number;
      readonly amount: bigint;
      readonly reference: string | null;
    }
  | {
      readonly does: 'change_switch';
      readonly program: number;
      readonly scope: 'service' | 'program' | TransferType;
      readonly disabled: boolean;
      readonly until: number | null;
    }
  | {
      readonly does: 'resolve';
      readonly program: number;
      /** The id of an attempt at a processor, on the wire. */
      readonly attempt: string;
      readonly wasExecuted: boolean;
    }
  | { readonly does: 'erase'; readonly program: number; readonly card: string }
  | {
      readonly does: 'create_webhook';
      readonly program: number;
      /** Whether it gets all events from the first one. */
      readonly fromFirst: boolean;
    }
  | {
      readonly does: 'update_webhook';
      readonly program: number;
      readonly webhook: string;
      readonly status: 'enabled' | 'disabled';
      /** Whether it skips the events that it has not received. */
      readonly skips: boolean;
    }
  | { readonly does: 'delete_webhook'; readonly program: number; readonly webhook: string };

const OF_OPERATORS: ReadonlySet<Ask['does']> = new Set([
  'update_program',
  'deposit',
  'withdraw',
  'change_switch',
  'resolve',
]);

/** Whether only operators may send this request. Such requests are in the audit log. */
export function isOfOperators({ does }: Ask): boolean {
  return OF_OPERATORS.has(does) || does.endsWith('_webhook');
}

export type TransferType = 'load' | 'unload' | 'card_to_card';

const MOVES_MONEY: ReadonlySet<Ask['does']> = new Set([
  'create',
  'capture',
  'cancel',
  'reverse',
  'deposit',
  'withdraw',
  'resolve',
]);

/** Whether it may move money. If so, a failure says whether it did. */
export function movesMoney({ does }: Ask): boolean {
  return MOVES_MONEY.has(does);
}

/** Describes the request for messages. */
export function describeAsk(ask: Ask): string {
  const { does, program: _program, ...rest } = ask;
  const members = Object.values(rest).filter((value) => value !== null && value !== false);
  return [does, ...members.map((value) => String(value))].join(' ');
}

import type { CardStatus } from '../../../domain/cards/card.ts';
import type { Limits } from '../../../domain/ledger/limits.ts';
import type { AskedTransfer as AskedOfProgram } from '../../model/books.ts';
import type { Refused, Switching as SettingOfModel } from '../../model/model.ts';

export type { Refused } from '../../model/model.ts';

/** The currency of the program, and one without limits of the program. */
export const CURRENCIES = ['USD', 'EUR'] as const;

export type Currency = (typeof CURRENCIES)[number];

/** A card in its initial state. */
export type OpeningCard = {
  readonly name: string;
  readonly currency: Currency;
  readonly status: CardStatus;
  readonly expiresOn: string | null;
  readonly limits: Limits | null;
  readonly balance: bigint;
};

/** A small program in its initial state. Its currency is USD. */
export type Opening = {
  readonly zone: string;
  readonly now: number;
  readonly limits: Limits | null;
  readonly cardLimits: Limits | null;
  readonly funding: Readonly<Record<Currency, bigint>>;
  readonly cards: readonly OpeningCard[];
};

/** A requested transfer in the program of the story. */
export type AskedTransfer = Omit<AskedOfProgram, 'program'>;

/** A setting of the switch: for all programs (null), for this one, or for another that must have no effect here. */
export type Switching = Omit<SettingOfModel, 'program'> & { readonly program: 'this' | 'other' | null };

/** A change of a card. Null leaves a value unchanged. */
export type CardStep = {
  readonly does: 'update_card';
  readonly card: string;
  readonly status: CardStatus | null;
  readonly expiresOn: string | null;
  readonly limits: Limits | null;
  readonly balanceTo: 'funding' | null;
};

/**
 * A step of a story. Transfers are numbered from 0, in the order of their creation. A `put` step sets a state directly:
 * the rules must also hold in states that the service would not allow.
 */
export type Step =
  | { readonly does: 'create'; readonly asked: AskedTransfer }
  | { readonly does: 'capture' | 'reverse'; readonly transfer: number; readonly amount: bigint | null }
  | { readonly does: 'cancel' | 'expire' | 'execute'; readonly transfer: number }
  | CardStep
  | { readonly does: 'put_card_status'; readonly card: string; readonly status: CardStatus }
  | { readonly does: 'put_card_limits'; readonly card: string; readonly limits: Limits | null }
  | { readonly does: 'put_program_limits'; readonly each: boolean; readonly limits: Limits | null }
  | { readonly does: 'switch'; readonly setting: Switching }
  | { readonly does: 'deposit'; readonly currency: Currency; readonly amount: bigint }
  | { readonly does: 'wait_until'; readonly now: number };

/** The operations of both sides, the domain under test and the model. */
export interface Side {
  /** Returns null if the step was done. */
  perform(step: Step): Refused | null;
  /** Everything that a caller can read. */
  facts(): readonly Fact[];
  /** The result of get_card_limits for a card. */
  outlook(card: string): readonly Fact[];
  /** The transfers for the background loop: holds past their end, and due transfers. */
  overdue(): { readonly expired: readonly number[]; readonly due: readonly number[] };
}

/** A fact that a caller could read: its subject, and values in a fixed order. */
export type Fact = {
  readonly about: string;
  readonly values: Readonly<Record<string, string | bigint | number | null>>;
};

/** A fact about an account. `lines` is the number of its postings. */
export function accountFact(name: string, values: Readonly<Record<string, bigint>>): Fact {
  return { about: `account ${name}`, values };
}

/** A fact about a card. */
export function cardFact(name: string, values: Readonly<Record<string, string | null>>): Fact {
  return { about: `card ${name}`, values };
}

/** How much a card can load or unload, or how much its balance may still grow. */
export function outlookFact(name: string, of: string, values: Readonly<Record<string, string | bigint | null>>): Fact {
  return { about: `outlook of ${name} ${of}`, values };
}

/** A fact about a transfer. */
export function transferFact(index: number, values: Fact['values']): Fact {
  return { about: `transfer ${index}`, values };
}

/** A fact about a limit. `whose` is a card or a currency of the program. */
export function limitFact(whose: string, direction: string, values: Fact['values']): Fact {
  return { about: `limit of ${whose} ${direction}`, values };
}

/** Whether two facts are equal. Millions are compared and only a few are shown, so this builds no text. */
export function isSameFact(one: Fact, other: Fact): boolean {
  if (one.about !== other.about) return false;
  for (const name in one.values) if (one.values[name] !== other.values[name]) return false;
  return Object.keys(one.values).length === Object.keys(other.values).length;
}

/** A fact as a line of text. */
export function shownFact({ about, values }: Fact): string {
  // Amounts are bigint, so every number is a time.
  const shown = (value: Fact['values'][string]) => (typeof value === 'number' ? new Date(value).toISOString() : value);
  return `${about}: ${Object.entries(values)
    .map(([name, value]) => `${name} ${shown(value)}`)
    .join(', ')}`;
}

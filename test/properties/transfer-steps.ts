import type { CardStatus } from '../../domain/cards/card.ts';
import type { Limits } from '../../domain/ledger/limits.ts';
import type { AskedTransfer as AskedOfProgram } from '../../verification/model/books.ts';
import type { Refused, Switching as SettingOfModel } from '../../verification/model/model.ts';

export type { Refused } from '../../verification/model/model.ts';

/** The currencies of the program: its own, and one that its limits say nothing about. */
export const CURRENCIES = ['USD', 'EUR'] as const;

/** One of {@link CURRENCIES}. */
export type Currency = (typeof CURRENCIES)[number];

/** A card at the beginning. */
export type OpeningCard = {
  readonly name: string;
  readonly currency: Currency;
  readonly status: CardStatus;
  readonly expiresOn: string | null;
  readonly limits: Limits | null;
  readonly balance: bigint;
};

/** A small program as a sequence of steps finds it. Its currency is USD. */
export type Opening = {
  readonly zone: string;
  readonly now: number;
  readonly limits: Limits | null;
  readonly cardLimits: Limits | null;
  readonly funding: Readonly<Record<Currency, bigint>>;
  readonly cards: readonly OpeningCard[];
};

/** A transfer that is asked for, in the program of the story. */
export type AskedTransfer = Omit<AskedOfProgram, 'program'>;

/** A setting of the switch: for all programs (null), for this one, or for another that must not matter here. */
export type Switching = Omit<SettingOfModel, 'program'> & { readonly program: 'this' | 'other' | null };

/** What is to become of a card; null leaves a thing as it is. */
export type CardStep = {
  readonly does: 'update_card';
  readonly card: string;
  readonly status: CardStatus | null;
  readonly expiresOn: string | null;
  readonly limits: Limits | null;
  readonly balanceTo: 'funding' | null;
};

/**
 * Something that happens. Transfers are known by the order in which they were made, from 0. What is `put` is so from
 * then on, whatever it was before: rules must hold for what they find, not only for what the service itself would have
 * let come about.
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

/** What can be done, and looked at, on both sides: the domain under test and the model. */
export interface Side {
  /** Null when it was done. */
  perform(step: Step): Refused | null;
  /** All that a caller could read. */
  facts(): readonly Fact[];
  /** What get_card_limits would say of a card. */
  outlook(card: string): readonly Fact[];
  /** The transfers that the background loop would find: holds past their end, and what is due. */
  overdue(): { readonly expired: readonly number[]; readonly due: readonly number[] };
}

/** A fact that a caller could read: what it is about, and values in one order. */
export type Fact = {
  readonly about: string;
  readonly values: Readonly<Record<string, string | bigint | number | null>>;
};

/** A fact about an account. `lines` is how many postings have touched it. */
export function accountFact(name: string, values: Readonly<Record<string, bigint>>): Fact {
  return { about: `account ${name}`, values };
}

/** A fact about a card. */
export function cardFact(name: string, values: Readonly<Record<string, string | null>>): Fact {
  return { about: `card ${name}`, values };
}

/** What can be done with a card in one direction, or how much more its balance may be. */
export function outlookFact(name: string, of: string, values: Readonly<Record<string, string | bigint | null>>): Fact {
  return { about: `outlook of ${name} ${of}`, values };
}

/** A fact about a transfer. */
export function transferFact(index: number, values: Fact['values']): Fact {
  return { about: `transfer ${index}`, values };
}

/** A fact about a limit; `whose` is a card or a currency of the program. */
export function limitFact(whose: string, direction: string, values: Fact['values']): Fact {
  return { about: `limit of ${whose} ${direction}`, values };
}

/** Whether two facts say the same. Millions are compared, and few are shown: none is written out for it. */
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

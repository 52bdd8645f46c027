import type { Card } from '../../domain/cards/card.ts';
import type { Account } from '../../domain/ledger/ledger.ts';
import { NOTHING_USED, type ProgramRules } from '../../domain/ledger/limits.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { TransferInput, TransferPlan } from '../../domain/transfers/create-transfer.ts';
import { plainTerms, type TransferTerms, type TransferType } from '../../domain/transfers/transfer.ts';
import type { TransferView } from '../../domain/transfers/transfer-view.ts';
import { calendarAt } from '../../test/harness/local-time.ts';

const PROGRAM = 'program';
const DAY = 24 * 60 * 60 * 1000;

/** The time of every example: noon on a Friday. */
export const NOW = Date.UTC(2026, 0, 30, 12);

/** The amount that the examples move, in minor units. */
export const AMOUNT = 100n;

/** Accounts with enough money and with room for more. Their ids are their names in the tables. */
export const ACCOUNTS: readonly Account[] = [
  account('funding', 'funding'),
  account('card', 'card'),
  account('destination card', 'card'),
];

function account(accountId: string, kind: Account['kind']): Account {
  return {
    programId: PROGRAM,
    accountId,
    kind,
    currency: 'USD',
    balance: 1000n,
    held: 0n,
    incoming: 0n,
    floor: 0n,
    sequence: 0n,
  };
}

/** An active card with this name, in USD, without limits. */
export function card(name: string, changes: Partial<Card> = {}): Card {
  return {
    programId: PROGRAM,
    cardId: name,
    name,
    status: 'active',
    currency: 'USD',
    accountId: name,
    fundingAccountId: 'funding',
    expiresOn: null,
    limits: null,
    connectorId: null,
    ...changes,
  };
}

/** A program without limits, whose days begin at midnight UTC. */
export const RULES: ProgramRules = {
  programId: PROGRAM,
  currency: 'USD',
  today: '2026-01-30',
  calendar: calendarAt(Date.parse('2026-01-30T00:00:00Z'), 'UTC'),
  limits: null,
  cardLimits: null,
};

/** The view of a transfer that passes every check. */
export function view(changes: Partial<TransferView> = {}, accounts: readonly Account[] = ACCOUNTS): TransferView {
  return {
    programId: PROGRAM,
    now: NOW,
    rules: RULES,
    switches: [],
    card: card('card'),
    destinationCard: card('destination card'),
    connectorState: () => 'missing',
    account: (accountId) => {
      const found = accounts.find((one) => one.accountId === accountId);
      if (found === undefined) throw new Error(`the examples have no account ${accountId}`);
      return found;
    },
    usage: () => NOTHING_USED,
    referenceTakenBy: undefined,
    ...changes,
  };
}

export function terms(type: TransferType, changes: Partial<TransferTerms> = {}): TransferTerms {
  const destinationCardName = type === 'card_to_card' ? 'destination card' : null;
  return { ...plainTerms(type, AMOUNT, 'card'), destinationCardName, ...changes };
}

export function asked(type: TransferType, changes: Partial<TransferTerms> = {}): TransferInput {
  const transferId = '00000000-0000-7000-8000-000000000001';
  return {
    creation: {
      programId: PROGRAM,
      transferId,
      requestId: transferId,
      idempotencyKey: null,
      createdBy: null,
      now: NOW,
    },
    terms: terms(type, changes),
    notes: {},
  };
}

export function inDays(days: number): number {
  return NOW + days * DAY;
}

/** Returns the plan of an example. Throws if the rules refuse it, which is a mistake in the example. */
export function requirePlan<Plan extends TransferPlan>(decision: Plan | Refusal): Plan {
  if (decision instanceof Refusal) throw decision;
  return decision;
}

export function accountsAfter({ accounts }: TransferPlan, before: readonly Account[] = ACCOUNTS): readonly Account[] {
  return before.map((one) => accounts.find(({ accountId }) => accountId === one.accountId) ?? one);
}

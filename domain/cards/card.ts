import type { SharedCode } from '../error-codes.ts';
import type { Account } from '../ledger/ledger.ts';
import type { Limits } from '../ledger/limits.ts';
import { MAXIMUM_BALANCE } from '../ledger/money.ts';
import { Refusal } from '../refusal.ts';

type CardRule = {
  readonly moneyIn: boolean;
  readonly moneyOut: boolean;
  readonly code: SharedCode | null;
  readonly meaning: string;
};

/**
 * The statuses of a card and what each allows. A lost, stolen or expired card receives no more money, but its balance can be
 * unloaded to the program's funding or moved to a replacement card. A suspended card, or one suspected of fraud, keeps its
 * balance until someone decides.
 */
export const CARD_RULES = {
  preactive: { moneyIn: false, moneyOut: false, code: 'card_not_activated', meaning: 'has not been activated yet' },
  active: { moneyIn: true, moneyOut: true, code: null, meaning: 'is active' },
  inactive: { moneyIn: false, moneyOut: false, code: 'card_suspended', meaning: 'is suspended' },
  lost: { moneyIn: false, moneyOut: true, code: 'card_lost', meaning: 'was reported lost' },
  stolen: { moneyIn: false, moneyOut: true, code: 'card_lost', meaning: 'was reported stolen' },
  fraud: { moneyIn: false, moneyOut: false, code: 'card_suspected_fraud', meaning: 'is blocked for suspected fraud' },
  expired: { moneyIn: false, moneyOut: true, code: 'card_expired', meaning: 'has expired' },
  closed: { moneyIn: false, moneyOut: false, code: 'card_closed', meaning: 'is closed' },
} as const satisfies Record<string, CardRule>;

/** The status of a card in its record. The date can also make a card `expired`, without a change of the stored status. */
export type CardStatus = keyof typeof CARD_RULES;

export const CARD_STATUSES = Object.keys(CARD_RULES) as readonly CardStatus[];

/** The statuses that a card can be created with. */
export const FIRST_CARD_STATUSES = ['preactive', 'active'] as const;

/** The statuses that a card can be changed to. The date decides `expired`. */
export const SETTABLE_CARD_STATUSES = CARD_STATUSES.filter((status) => status !== 'preactive' && status !== 'expired');

/** Whether a card with the status expires after its last day. */
const EXPIRES: Readonly<Record<CardStatus, boolean>> = {
  ...{ preactive: true, active: true, inactive: true },
  ...{ lost: false, stolen: false, fraud: false, expired: false, closed: false },
};

/** The statuses that become `expired` after the card's last day. */
export const EXPIRING_CARD_STATUSES = CARD_STATUSES.filter((status) => EXPIRES[status]);

/** The error codes that refuse money because of a card's status. */
export const CARD_STATUS_CODES: readonly SharedCode[] = [
  ...new Set(CARD_STATUSES.flatMap((status) => CARD_RULES[status].code ?? [])),
];

/** A card as decisions see it: ids are the inner UUIDs, `name` is its wire id. */
export type Card = {
  readonly programId: string;
  readonly cardId: string;
  readonly name: string;
  readonly status: CardStatus;
  readonly currency: string;
  readonly accountId: string;
  readonly fundingAccountId: string;
  /** Last day on which the card can be used, as YYYY-MM-DD, or null for a card that does not expire. */
  readonly expiresOn: string | null;
  readonly limits: Limits | null;
  /** The connector of the processor that permanently has the card's money, or null if the money is in this ledger. */
  readonly connectorId: string | null;
};

/**
 * The account of a new card. It holds the card's money, or the amounts that its processor has approved and not settled. An
 * account of the second kind has no minimum, because an approval has already happened.
 */
export function newAccountOf({ programId, accountId, currency, connectorId }: Omit<Card, 'cardId'>): Account {
  const what =
    connectorId === null
      ? ({ kind: 'card', floor: 0n } as const)
      : ({ kind: 'clearing', floor: -MAXIMUM_BALANCE } as const);
  return { programId, accountId, currency, ...what, balance: 0n, held: 0n, incoming: 0n, sequence: 0n };
}

/**
 * Which statuses each status can change to. A lost card can be found again, and a suspicion of fraud cleared. A stolen card is
 * never used again, and a closed one stays closed. An expired card becomes active again if it gets a later last day.
 */
export const CARD_MOVES: Readonly<Record<CardStatus, readonly CardStatus[]>> = {
  preactive: ['active', 'inactive', 'lost', 'stolen', 'fraud', 'closed'],
  active: ['inactive', 'lost', 'stolen', 'fraud', 'closed'],
  inactive: ['active', 'lost', 'stolen', 'fraud', 'closed'],
  lost: ['active', 'inactive', 'stolen', 'fraud', 'closed'],
  stolen: ['closed'],
  fraud: ['active', 'inactive', 'stolen', 'closed'],
  expired: ['lost', 'stolen', 'fraud', 'closed'],
  closed: [],
};

/**
 * A card's status on a day (YYYY-MM-DD, in the program's time zone). An active, suspended or not yet activated card expires
 * automatically.
 */
export function cardStatusOn(card: Pick<Card, 'status' | 'expiresOn'>, today: string): CardStatus {
  return EXPIRES[card.status] && card.expiresOn !== null && card.expiresOn < today ? 'expired' : card.status;
}

/** The error code that refuses money in this direction for a status, or null if the status allows it. */
export function cardRefusal(status: CardStatus, direction: 'in' | 'out'): SharedCode | null {
  const rule: CardRule = CARD_RULES[status];
  const open = direction === 'in' ? rule.moneyIn : rule.moneyOut;
  return open ? null : rule.code;
}

/**
 * Refuses to erase the holder of a card that does not exist or is not closed. Undefined if the holder may be erased. A card in
 * use still needs its holder, and new data about the holder would be stored immediately.
 */
export function refuseErasure(cardName: string, card: Pick<Card, 'status'> | undefined): Refusal | undefined {
  if (card === undefined) {
    return new Refusal('card_not_found', `There is no card '${cardName}' in this card program.`);
  }
  if (card.status === 'closed') return undefined;
  const message =
    `The card '${cardName}' ${CARD_RULES[card.status].meaning}, and only the holder of a closed card can be erased. ` +
    'Close the card first.';
  return new Refusal('card_not_closed', message, { saw: { card_id: cardName, status: card.status } });
}

/** Refuses free text for a transfer of the card `cardName`, whose holder was erased. */
export function refuseTexts(cardName: string): Refusal {
  const message =
    `The holder of the card '${cardName}' was erased, with the texts of its transfers. ` +
    'The metadata of this transfer can no longer be set.';
  return new Refusal('card_erased', message, { field: '/metadata', saw: { card_id: cardName } });
}

type WireRecord = Readonly<Record<string, unknown>>;

/** The replacement for each field of free text about a holder after an erasure, by its name on the wire. */
const ERASED: WireRecord = { holder_reference: null, last_four: null, description: null, metadata: {} };

/** Fields of cards, transfers and reversals that can contain data about a holder, by their names on the wire. */
export const HOLDER_FIELDS: readonly string[] = Object.keys(ERASED);

/** Removes the free text about the card's holder from a record. The fields and their order stay the same. */
export function withoutHolder(record: WireRecord): WireRecord {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, Object.hasOwn(ERASED, name) ? ERASED[name] : value]),
  );
}

/** Whether a record is about a card. It names the card or, as a reversal does, only a transfer of the card. */
export function isAboutCard(record: WireRecord, cardName: string): boolean {
  if (record.reversal_id !== undefined) return true;
  return record.card_id === cardName || record.destination_card_id === cardName;
}

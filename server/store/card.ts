import type { Card, CardStatus } from '../../domain/card.ts';
import type { Account } from '../../domain/ledger.ts';
import { toAccount } from './account.ts';
import type { Row, Statement } from './database.ts';
import { plainArray } from './texts.ts';

/** A card for a decision, with the day it is in its program's time zone (YYYY-MM-DD). */
export type CardToday = { readonly card: Card; readonly today: string };

/** A card with everything its record shows. */
export type CardDetails = CardToday & {
  readonly account: Account;
  readonly holderReference: string | null;
  readonly lastFour: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
};

const DECISIVE = `card.program_id, card.card_id, card.name, card.status, card.currency, card.account_id,
  card.funding_account_id, card.expires_on::text as expires_on,
  (clock_timestamp() at time zone program.time_zone)::date::text as today`;

const DETAILS = `${DECISIVE}, card.holder_reference, card.last_four, card.created_at, card.updated_at, account.kind,
  account.balance, account.held, account.floor, account.sequence`;

/** Reads cards by the names that requests gave. Must come after their accounts were locked: a card's state changes
 * only under the lock of its account. */
export function readCards(names: readonly { readonly programId: string; readonly name: string }[]): Statement {
  return {
    name: 'read_cards',
    text: `select ${DECISIVE} from unnest($1::uuid[], $2::text[]) as named(program_id, name)
      cross join lateral (
        select * from card where card.program_id = named.program_id and card.name = named.name limit 1
      ) as card
      cross join lateral (
        select time_zone from program where program.program_id = named.program_id limit 1
      ) as program`,
    values: [plainArray(names.map((named) => named.programId)), names.map((named) => named.name)],
  };
}

/** A card from a row of {@link readCards}. */
export function toCardToday(row: Row): CardToday {
  return {
    today: row.today as string,
    card: {
      programId: row.program_id as string,
      cardId: row.card_id as string,
      name: row.name as string,
      status: row.status as CardStatus,
      currency: row.currency as string,
      accountId: row.account_id as string,
      fundingAccountId: row.funding_account_id as string,
      expiresOn: row.expires_on as string | null,
    },
  };
}

/** Reads one card by its name, with its account. */
export function readCardDetails(programId: string, name: string): Statement {
  return {
    name: 'read_card_details',
    text: `select ${DETAILS} from card join program using (program_id) join account using (program_id, account_id)
      where card.program_id = $1 and card.name = $2`,
    values: [programId, name],
  };
}

/** Reads a page of cards, newest first, that come after the card with the inner UUID `after`. */
export function listCards(programId: string, after: string | null, count: number): Statement {
  // Two texts: one that serves both cases would read all that comes before the page.
  return {
    name: after === null ? 'list_cards' : 'list_cards_after',
    text: `select ${DETAILS} from (
        select * from card where card.program_id = $1 ${after === null ? '' : 'and card.card_id < $3'}
        order by card.card_id desc limit $2
      ) as card join program using (program_id) join account using (program_id, account_id)
      order by card.card_id desc`,
    values: after === null ? [programId, count] : [programId, count, after],
  };
}

/** A card with its account from a row of {@link readCardDetails} or {@link listCards}. */
export function toCardDetails(row: Row): CardDetails {
  return {
    ...toCardToday(row),
    account: toAccount(row),
    holderReference: row.holder_reference as string | null,
    lastFour: row.last_four as string | null,
    createdAt: row.created_at as Date,
    updatedAt: row.updated_at as Date,
  };
}

/** Registers a card whose accounts exist. */
export function insertCard({
  card,
  holderReference,
  lastFour,
  createdAt,
}: Omit<CardDetails, 'account' | 'today'>): Statement {
  return {
    name: 'insert_card',
    text: `insert into card (program_id, card_id, name, status, currency, account_id, funding_account_id,
        holder_reference, last_four, expires_on, created_at, updated_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)`,
    values: [
      card.programId,
      card.cardId,
      card.name,
      card.status,
      card.currency,
      card.accountId,
      card.fundingAccountId,
      holderReference,
      lastFour,
      card.expiresOn,
      createdAt,
    ],
  };
}

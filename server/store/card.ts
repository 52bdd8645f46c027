import type { Card, CardStatus } from '../../domain/cards/card.ts';
import type { Account } from '../../domain/ledger/ledger.ts';
import type { CountedDay } from '../../domain/ledger/limits.ts';
import type { Row, Statement } from './connection/database.ts';
import { type NamedTransfer, toAccount } from './ledger/account.ts';
import { countedDays, toCountedDays } from './ledger/limit-counter.ts';
import { fromLimits, toLimits } from './ledger/limits.ts';
import { plainArray } from './texts.ts';

/** A card for a decision, with what its transfers of the last weeks came to, where anything limits them. */
export type LoadedCard = {
  readonly card: Card;
  readonly days: { readonly in: readonly CountedDay[]; readonly out: readonly CountedDay[] };
};

/** A card with everything its record shows, and the day it is in its program's time zone (YYYY-MM-DD). */
export type CardDetails = {
  readonly card: Card;
  readonly today: string;
  readonly account: Account;
  readonly holderReference: string | null;
  readonly lastFour: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
};

const DECISIVE = `card.program_id, card.card_id, card.name, card.status, card.currency, card.account_id,
  card.funding_account_id, card.expires_on::text as expires_on, card.limits`;

const USED = `case when card.limits is not null or program.card_limits is not null
  then ${countedDays('card.program_id', 'card.account_id')} end as used`;

const DETAILS = `${DECISIVE}, (service_now() at time zone program.time_zone)::date::text as today, card.holder_reference, card.last_four, card.created_at, card.updated_at, account.kind,
  account.balance, account.held, account.incoming, account.floor, account.sequence`;

const WITH_PROGRAM = `cross join lateral (
    select card_limits from program where program.program_id = card.program_id limit 1
  ) as program`;

/** Reads cards by the names that requests gave. Must come after their accounts were locked: a card and its counters
 * change only under the lock of its account. */
export function readCards(names: readonly { readonly programId: string; readonly name: string }[]): Statement {
  return {
    name: 'read_cards',
    text: `select ${DECISIVE}, ${USED} from unnest($1::uuid[], $2::text[]) as named(program_id, name)
      cross join lateral (
        select * from card where card.program_id = named.program_id and card.name = named.name limit 1
      ) as card ${WITH_PROGRAM}`,
    values: [plainArray(names.map((named) => named.programId)), names.map((named) => named.name)],
  };
}

/** Reads the cards of transfers, like {@link readCards}. */
export function readCardsOfTransfers(transfers: readonly NamedTransfer[]): Statement {
  return {
    name: 'read_cards_of_transfers',
    text: `select ${DECISIVE}, ${USED} from unnest($1::uuid[], $2::uuid[]) as named(program_id, transfer_id)
      cross join lateral (
        select card_id, destination_card_id from transfer
        where transfer.program_id = named.program_id and transfer.transfer_id = named.transfer_id limit 1
      ) as moved
      cross join lateral unnest(array[moved.card_id, moved.destination_card_id]) as of_transfer(card_id)
      cross join lateral (
        select * from card where card.program_id = named.program_id and card.card_id = of_transfer.card_id limit 1
      ) as card ${WITH_PROGRAM}`,
    values: [
      plainArray(transfers.map((named) => named.programId)),
      plainArray(transfers.map((named) => named.transferId)),
    ],
  };
}

/** A card from a row of {@link readCards} or {@link readCardsOfTransfers}. */
export function toLoadedCard(row: Row): LoadedCard {
  return { card: toCard(row), days: toCountedDays(row.used) };
}

function toCard(row: Row): Card {
  return {
    programId: row.program_id as string,
    cardId: row.card_id as string,
    name: row.name as string,
    status: row.status as CardStatus,
    currency: row.currency as string,
    accountId: row.account_id as string,
    fundingAccountId: row.funding_account_id as string,
    expiresOn: row.expires_on as string | null,
    limits: toLimits(row.limits),
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

/** Reads the account of a card, and that of its program's funding, as they are. Locks nothing: for what decides nothing. */
export function readAccountsOfCard(programId: string, name: string): Statement {
  return {
    name: 'read_accounts_of_card',
    text: `select account.* from card
      cross join lateral unnest(array[card.account_id, card.funding_account_id]) as of_card(account_id)
      cross join lateral (
        select * from account
        where account.program_id = card.program_id and account.account_id = of_card.account_id limit 1
      ) as account
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
    card: toCard(row),
    today: row.today as string,
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
        holder_reference, last_four, expires_on, limits, created_at, updated_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $12, $11, $11)`,
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
      fromLimits(card.limits),
    ],
  };
}

/** Writes what a card has become; its account must be locked. */
export function updateCard({
  card,
  holderReference,
  lastFour,
  updatedAt,
}: Omit<CardDetails, 'account' | 'today' | 'createdAt'>): Statement {
  return {
    name: 'update_card',
    text: `update card set status = $3, holder_reference = $4, last_four = $5, expires_on = $6, limits = $7,
        updated_at = $8
      where card.program_id = $1 and card.card_id = $2`,
    values: [
      card.programId,
      card.cardId,
      card.status,
      holderReference,
      lastFour,
      card.expiresOn,
      fromLimits(card.limits),
      updatedAt,
    ],
  };
}

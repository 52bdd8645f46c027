import type { Card } from '../../../domain/cards/card.ts';
import type { Account, AccountKind, Posting, PostingPurpose } from '../../../domain/ledger/ledger.ts';
import type { Row, Statement } from '../connection/database.ts';
import {
  BIGINT,
  BOOLEAN,
  CURRENCY,
  columns,
  ctidOf,
  NUMBER,
  nullable,
  rows,
  SMALLINT,
  statement,
  statementOfRows,
  TEXT,
  TIME,
  UUID,
  word,
} from '../sql.ts';

// Invariant: Every change of an account, its holds, counters, card or transfers raises the account's version
// Kept by: this file, `server/subjects/transfers/examined-accounts.ts`, and triggers for the rest
// Tested by: `test/store/chain/guards.test.ts`

export const ACCOUNT = columns({
  programId: UUID,
  accountId: UUID,
  kind: word<AccountKind>(),
  currency: CURRENCY,
  balance: BIGINT,
  held: BIGINT,
  incoming: BIGINT,
  floor: nullable(BIGINT),
  sequence: BIGINT,
  version: BIGINT,
});

/**
 * An account as stored. Every change of the account, its holds, its counters, its card or the card's transfers raises `version`.
 * So a decision that did not lock the account can be checked when it is written.
 */
export type StoredAccount = Account & { readonly version: bigint };

export function toAccount(row: Row): StoredAccount {
  return ACCOUNT.read(row);
}

/** A card, as named in a request, and whether the decision needs the funding account of its program. */
export type NamedCard = { readonly programId: string; readonly name: string; readonly withFunding: boolean };

/** A transfer in its program, by inner UUID. */
export type NamedTransfer = { readonly programId: string; readonly transferId: string };

export const NAMED_TRANSFER = columns({ programId: UUID, transferId: UUID });
export const NAMED_CARDS = columns({ programId: UUID, name: TEXT, withFunding: BOOLEAN });

const NAMED = {
  cards: rows(NAMED_CARDS),
  transfers: rows(NAMED_TRANSFER),
};

const OF_CARDS = `select found.program_id, of_card.account_id
  from :cards
  cross join lateral (
    select card.program_id, card.account_id, card.funding_account_id from card
    where card.program_id = cards.program_id and card.name = cards.name limit 1
  ) as found
  cross join lateral unnest(
    case when cards.with_funding then array[found.account_id, found.funding_account_id]
         else array[found.account_id] end
  ) as of_card(account_id)`;

/** SQL: the accounts of transfers. They never change, so they may be read before they are locked. */
const OF_TRANSFERS = `select transfers.program_id, of_card.account_id
  from :transfers
  cross join lateral (
    select transfer.type, transfer.card_id, transfer.destination_card_id from transfer
    where transfer.program_id = transfers.program_id and transfer.transfer_id = transfers.transfer_id limit 1
  ) as moved
  cross join lateral unnest(array[moved.card_id, moved.destination_card_id]) as of_transfer(card_id)
  cross join lateral (
    select card.account_id, card.funding_account_id from card
    where card.program_id = transfers.program_id and card.card_id = of_transfer.card_id limit 1
  ) as found
  cross join lateral unnest(
    case when moved.type = 'card_to_card' then array[found.account_id]
         else array[found.account_id, found.funding_account_id] end
  ) as of_card(account_id)`;

/** How accounts are read: `wait` locks all of them, `skip` locks only accounts that are free, and `unlocked` locks none. */
type AccountMode = 'wait' | 'skip' | 'unlocked';

const ENDS: Readonly<Record<AccountMode, string>> = {
  wait: 'for no key update',
  skip: 'for no key update skip locked',
  unlocked: 'limit 1',
};

const accountsText = (wanted: string, mode: AccountMode): string => `select account.* from (
    select distinct program_id, account_id from (${wanted}) as wanted order by account_id, program_id
  ) as ordered
  cross join lateral (
    select ${ACCOUNT.names} from account
    where account.program_id = ordered.program_id and account.account_id = ordered.account_id
    ${ENDS[mode]}
  ) as account`;

const { cards: CARDS } = NAMED;
const ofCards = (name: string, mode: AccountMode) =>
  statement(`${name}_of_cards`, { cards: CARDS }, accountsText(OF_CARDS, mode));
const ofBoth = (name: string, mode: AccountMode) =>
  statement(`${name}_of_cards_and_transfers`, NAMED, accountsText(`${OF_CARDS} union ${OF_TRANSFERS}`, mode));

const LOCK_ACCOUNTS = {
  wait: { ofCards: ofCards('lock_accounts', 'wait'), ofBoth: ofBoth('lock_accounts', 'wait') },
  skip: { ofCards: ofCards('lock_free_accounts', 'skip'), ofBoth: ofBoth('lock_free_accounts', 'skip') },
};
const READ_ACCOUNTS = ofBoth('read_accounts', 'unlocked');

/**
 * Locks and reads the accounts of the cards, their funding accounts if needed, and the accounts of the transfers, all in the order
 * of their ids. The returned rows are the locked rows, so they are never out of date. The locks also cover the transfers, their
 * holds, the cards and their counters, because these change only under the locks. The indexes are searched once per card: a plan
 * that reads all cards of a program would become slower with every card. With `skip`, accounts that others have locked are omitted.
 */
export function lockAccounts(
  cards: readonly NamedCard[],
  transfers: readonly NamedTransfer[],
  mode: 'wait' | 'skip' = 'wait',
): Statement {
  const lock = LOCK_ACCOUNTS[mode];
  return transfers.length === 0 ? lock.ofCards({ cards }) : lock.ofBoth({ cards, transfers });
}

/**
 * Reads the same accounts without locks, for decisions that are checked when they are written ({@link updateAccountsIfUnchanged}).
 * Must come before the accounts' data is read (cards, counters, transfers). If the version were read later, it would hide a change
 * in between.
 */
export function readAccounts(cards: readonly NamedCard[], transfers: readonly NamedTransfer[]): Statement {
  return READ_ACCOUNTS({ cards, transfers });
}

const READ_FUNDING_ACCOUNT = statement(
  'read_funding_account',
  { programId: UUID, currency: CURRENCY },
  "select account_id from account where owner_id = :programId and kind = 'funding' and currency = :currency",
);

export function readFundingAccount(programId: string, currency: string): Statement {
  return READ_FUNDING_ACCOUNT({ programId, currency });
}

const LOCK_FUNDING_ACCOUNTS = statement(
  'lock_funding_accounts',
  { programId: UUID, currency: CURRENCY },
  `select ${ACCOUNT.names} from account
    where owner_id = :programId and kind in ('funding', 'world') and currency = :currency
    order by account_id for no key update`,
);

/**
 * Locks and reads the funding and world accounts of a program in one currency. Returns two rows, or none if they do not exist yet.
 */
export function lockFundingAccounts(programId: string, currency: string): Statement {
  return LOCK_FUNDING_ACCOUNTS({ programId, currency });
}

const LOCK_ALL_FUNDING = statement(
  'lock_all_funding',
  { programId: UUID },
  `select from account where owner_id = :programId and kind = 'funding' order by account_id for no key update`,
);

/** Locks the funding accounts of a program in all currencies. A later statement must read their values. */
export function lockAllFunding(programId: string): Statement {
  return LOCK_ALL_FUNDING({ programId });
}

const RAISE_FUNDING_VERSIONS = statement(
  'raise_funding_versions',
  { programId: UUID },
  "update account set version = version + 1 where owner_id = :programId and kind = 'funding'",
);

/** Raises the versions of a program's funding accounts, which must be locked, so that pending decisions about them are repeated. */
export function raiseFundingVersions(programId: string): Statement {
  return RAISE_FUNDING_VERSIONS({ programId });
}

const CREATE_FUNDING_ACCOUNTS = statement(
  'create_funding_accounts',
  { programId: UUID, currency: CURRENCY, funding: UUID, world: UUID },
  `insert into account (program_id, account_id, kind, owner_id, currency, floor, created_at)
    values (:programId, :funding, 'funding', :programId, :currency, 0, service_now()),
      (:programId, :world, 'world', :programId, :currency, null, service_now())
    on conflict do nothing`,
);

/** Creates the funding and world accounts of a program in one currency, unless they exist. */
export function createFundingAccounts(
  programId: string,
  currency: string,
  accountIds: { readonly funding: string; readonly world: string },
): Statement {
  return CREATE_FUNDING_ACCOUNTS({ programId, currency, ...accountIds });
}

const CREATE_CARD_ACCOUNT = statement(
  'create_card_account',
  {
    programId: UUID,
    accountId: UUID,
    cardId: UUID,
    currency: CURRENCY,
    kind: word<AccountKind>(),
    floor: nullable(BIGINT),
  },
  `insert into account (program_id, account_id, kind, owner_id, currency, floor, created_at)
    values (:programId, :accountId, :kind, :cardId, :currency, :floor, service_now())`,
);

export function createCardAccount(
  { programId, accountId, cardId, currency }: Pick<Card, 'programId' | 'accountId' | 'cardId' | 'currency'>,
  { kind, floor }: Pick<Account, 'kind' | 'floor'>,
): Statement {
  return CREATE_CARD_ACCOUNT({ programId, accountId, cardId, currency, kind, floor });
}

const WRITTEN = ACCOUNT.pick('programId', 'accountId', 'balance', 'held', 'incoming', 'sequence');

const SET_WRITTEN = `balance = sent.balance, held = sent.held, incoming = sent.incoming, sequence = sent.sequence`;

/** Updates accounts, which must be locked. */
export const updateAccounts = statementOfRows(
  'update_accounts',
  WRITTEN,
  `update account set ${SET_WRITTEN}, version = account.version + 1
    from :sent
    where account.program_id = sent.program_id and account.account_id = sent.account_id`,
);

export type DecidedAccount = { readonly before: StoredAccount; readonly after: StoredAccount };

const UPDATE_IF_UNCHANGED = statement(
  'update_accounts_if_unchanged',
  {
    sent: rows(columns({ ...WRITTEN.columns, version: BIGINT, sequenceBefore: BIGINT, versionBefore: BIGINT })),
    number: NUMBER,
  },
  `with written as (
      update account set ${SET_WRITTEN}, version = sent.version
      from :sent cross join lateral (${ctidOf('account', ['program_id', 'account_id'])}) as found
      where account.ctid = found.ctid
        and account.sequence = sent.sequence_before and account.version = sent.version_before
      returning 1
    )
    select case when (select count(*) from written) <> :number then refuse_changed_accounts() end`,
);

/**
 * Locks the accounts of a decision, in the order of their ids, and updates them if none has changed since the decision. Otherwise,
 * fails with {@link ACCOUNTS_CHANGED}. If another transaction is changing one of them, waits for that transaction, and then
 * compares the resulting row.
 */
export function updateAccountsIfUnchanged(decided: readonly DecidedAccount[]): Statement {
  const sent = inLockOrder(decided).map(({ before, after }) => ({
    ...after,
    sequenceBefore: before.sequence,
    versionBefore: before.version,
  }));
  return UPDATE_IF_UNCHANGED({ sent, number: sent.length });
}

const CHECK_UNCHANGED = statement(
  'check_accounts_unchanged',
  { sent: rows(ACCOUNT.pick('programId', 'accountId', 'sequence', 'version')), number: NUMBER },
  `select case when (
      select count(*) from :sent cross join lateral (
        select from account
        where account.program_id = sent.program_id and account.account_id = sent.account_id
          and account.sequence = sent.sequence and account.version = sent.version
        limit 1
      ) as unchanged
    ) <> :number then refuse_changed_accounts() end`,
);

/** Fails with {@link ACCOUNTS_CHANGED} if an account has changed since the decision. For decisions that write nothing. */
export function checkAccountsUnchanged(decided: readonly DecidedAccount[]): Statement {
  return CHECK_UNCHANGED({ sent: inLockOrder(decided).map(({ before }) => before), number: decided.length });
}

function inLockOrder(decided: readonly DecidedAccount[]): readonly DecidedAccount[] {
  return decided.toSorted(({ before: left }, { before: right }) => (left.accountId < right.accountId ? -1 : 1));
}

/** A posting with its cause, which is the inner UUID of a transfer, a reversal or a funding movement. */
export type CausedPosting = Posting & { readonly programId: string; readonly causeId: string };

const POSTING = columns({
  programId: UUID,
  causeId: UUID,
  index: SMALLINT,
  purpose: word<PostingPurpose>(),
  sourceAccountId: UUID,
  destinationAccountId: UUID,
  amount: BIGINT,
  currency: CURRENCY,
  sourceBalance: BIGINT,
  destinationBalance: BIGINT,
  sourceSequence: BIGINT,
  destinationSequence: BIGINT,
});

const INSERT_POSTINGS = statement(
  'insert_postings',
  { postings: rows(POSTING), now: TIME },
  `insert into posting (${POSTING.names}, created_at) select postings.*, :now::timestamptz from :postings`,
);

/** Inserts postings. `now` is in milliseconds since 1970, by the database's clock. */
export function insertPostings(postings: readonly CausedPosting[], now: number): Statement {
  return INSERT_POSTINGS({ postings, now });
}

import type { Account, AccountKind } from '../../../domain/ledger/ledger.ts';
import type { Row, Statement } from '../connection/database.ts';
import { plainArray } from '../texts.ts';

const COLUMNS = 'program_id, account_id, kind, currency, balance, held, incoming, floor, sequence';

/** An account from a row with {@link COLUMNS}. */
export function toAccount(row: Row): Account {
  return {
    programId: row.program_id as string,
    accountId: row.account_id as string,
    kind: row.kind as AccountKind,
    currency: row.currency as string,
    balance: row.balance as bigint,
    held: row.held as bigint,
    incoming: row.incoming as bigint,
    floor: row.floor as bigint | null,
    sequence: row.sequence as bigint,
  };
}

/** A card as a request names it, and whether its program's funding takes part in what is decided. */
export type NamedCard = { readonly programId: string; readonly name: string; readonly withFunding: boolean };

/** A transfer by its inner UUID, within its program. */
export type NamedTransfer = { readonly programId: string; readonly transferId: string };

/** What was named, and so what is to be locked: cards, and the cards of transfers. */
const BY_CARD = `select found.program_id, taking_part.account_id
  from unnest($1::uuid[], $2::text[], $3::boolean[]) as named(program_id, name, with_funding)
  cross join lateral (
    select card.program_id, card.account_id, card.funding_account_id from card
    where card.program_id = named.program_id and card.name = named.name limit 1
  ) as found
  cross join lateral unnest(
    case when named.with_funding then array[found.account_id, found.funding_account_id]
         else array[found.account_id] end
  ) as taking_part(account_id)`;

/** Which accounts a transfer is between never changes, so it may be read before they are locked. */
const BY_TRANSFER = `select named.program_id, taking_part.account_id
  from unnest($4::uuid[], $5::uuid[]) as named(program_id, transfer_id)
  cross join lateral (
    select transfer.type, transfer.card_id, transfer.destination_card_id from transfer
    where transfer.program_id = named.program_id and transfer.transfer_id = named.transfer_id limit 1
  ) as moved
  cross join lateral unnest(array[moved.card_id, moved.destination_card_id]) as of_transfer(card_id)
  cross join lateral (
    select card.account_id, card.funding_account_id from card
    where card.program_id = named.program_id and card.card_id = of_transfer.card_id limit 1
  ) as found
  cross join lateral unnest(
    case when moved.type = 'card_to_card' then array[found.account_id]
         else array[found.account_id, found.funding_account_id] end
  ) as taking_part(account_id)`;

/**
 * Locks the accounts of the cards, and of their funding where it takes part, and those of the transfers, all in the
 * order of their ids, and reads them. The rows that come back are the locked ones, so they are never stale. The locks
 * of its accounts are also those of a transfer, of its hold, of its cards and of their counters: all of these change
 * under them only. Indexes are probed once a card: a plan that reads all cards of a program would cost more with every
 * card. With `skip`, accounts that others hold are left out.
 */
export function lockAccounts(
  cards: readonly NamedCard[],
  transfers: readonly NamedTransfer[],
  mode: 'wait' | 'skip' = 'wait',
): Statement {
  const skip = mode === 'skip';
  const withTransfers = transfers.length > 0;
  const asked = withTransfers ? `${BY_CARD} union ${BY_TRANSFER}` : BY_CARD;
  return {
    name: `lock${skip ? '_free' : ''}_accounts_of_cards${withTransfers ? '_and_transfers' : ''}`,
    text: `select account.* from (
        select distinct program_id, account_id from (${asked}) as asked order by account_id, program_id
      ) as ordered
      cross join lateral (
        select ${COLUMNS} from account
        where account.program_id = ordered.program_id and account.account_id = ordered.account_id
        for no key update ${skip ? 'skip locked' : ''}
      ) as account`,
    values: [
      cards.map((card) => card.programId),
      cards.map((card) => card.name),
      cards.map((card) => card.withFunding),
      ...(withTransfers
        ? [
            plainArray(transfers.map((transfer) => transfer.programId)),
            plainArray(transfers.map((transfer) => transfer.transferId)),
          ]
        : []),
    ],
  };
}

/** Reads the id of a program's funding account in one currency. */
export function readFundingAccount(programId: string, currency: string): Statement {
  return {
    name: 'read_funding_account',
    text: `select account_id from account
      where owner_id = $1 and kind = 'funding' and currency = $2`,
    values: [programId, currency],
  };
}

/** Locks and reads the funding and world accounts of a program in one currency (two rows, or none before the first). */
export function lockFundingAccounts(programId: string, currency: string): Statement {
  return {
    name: 'lock_funding_accounts',
    text: `select ${COLUMNS} from account
      where owner_id = $1 and kind in ('funding', 'world') and currency = $2
      order by account_id for no key update`,
    values: [programId, currency],
  };
}

/** Makes the funding and world accounts of a program in one currency where they are missing. */
export function createFundingAccounts(
  programId: string,
  currency: string,
  accountIds: { readonly funding: string; readonly world: string },
): Statement {
  return {
    name: 'create_funding_accounts',
    text: `insert into account (program_id, account_id, kind, owner_id, currency, floor, created_at)
      values ($1, $3, 'funding', $1, $2, 0, service_now()), ($1, $4, 'world', $1, $2, null, service_now())
      on conflict do nothing`,
    values: [programId, currency, accountIds.funding, accountIds.world],
  };
}

/** Makes the account of a new card. */
export function createCardAccount(programId: string, accountId: string, cardId: string, currency: string): Statement {
  return {
    name: 'create_card_account',
    text: `insert into account (program_id, account_id, kind, owner_id, currency, floor, created_at)
      values ($1, $2, 'card', $3, $4, 0, service_now())`,
    values: [programId, accountId, cardId, currency],
  };
}

/** Writes what locked accounts have become. */
export function updateAccounts(accounts: readonly Account[]): Statement {
  return {
    name: 'update_accounts',
    text: `update account set balance = changed.balance, held = changed.held, incoming = changed.incoming,
        sequence = changed.sequence
      from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
        as changed(program_id, account_id, balance, held, incoming, sequence)
      where account.program_id = changed.program_id and account.account_id = changed.account_id`,
    values: [
      plainArray(accounts.map((account) => account.programId)),
      plainArray(accounts.map((account) => account.accountId)),
      plainArray(accounts.map((account) => account.balance)),
      plainArray(accounts.map((account) => account.held)),
      plainArray(accounts.map((account) => account.incoming)),
      plainArray(accounts.map((account) => account.sequence)),
    ],
  };
}

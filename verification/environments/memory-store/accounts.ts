import { type Meanings, NOTHING } from './meaning.ts';
import { columnsOf, databaseError, type Given, type StoredRow } from './parameters.ts';
import type { Run, Transaction } from './transaction.ts';

export const ACCOUNT_COLUMNS = [
  ...(['program_id', 'account_id', 'kind', 'currency', 'balance', 'held', 'incoming', 'floor'] as const),
  ...(['sequence', 'version'] as const),
];

/** The accounts that `readAccounts` and `lockAccounts` return, in the order of their ids. */
function wantedAccounts(transaction: Transaction, { rows }: Given): readonly string[] {
  const wanted = new Set<string>();
  const add = (card: StoredRow, withFunding: boolean): void => {
    wanted.add(String(card.account_id));
    if (withFunding) wanted.add(String(card.funding_account_id));
  };
  for (const { program_id, name, with_funding } of rows('cards')) {
    for (const card of transaction.scan('card', (row) => row.program_id === program_id && row.name === name)) {
      add(card, with_funding === true);
    }
  }
  for (const { program_id, transfer_id } of rows('transfers')) {
    const transfer = transaction.find('transfer', String(transfer_id));
    if (transfer === undefined || transfer.program_id !== program_id) continue;
    for (const card of cardsOf(transaction, transfer)) add(card, transfer.type !== 'card_to_card');
  }
  return [...wanted].sort();
}

/** The existing cards of a transfer: one or two. */
export function cardsOf(transaction: Transaction, transfer: StoredRow): readonly StoredRow[] {
  const cards = [transfer.card_id, transfer.destination_card_id].map((id) => transaction.find('card', String(id)));
  return cards.filter((card) => card !== undefined);
}

/** The columns of an account that decisions read. */
export const shown = (account: StoredRow): StoredRow => columnsOf(account, ACCOUNT_COLUMNS);

function* lockAccounts(transaction: Transaction, given: Given): Run<readonly StoredRow[]> {
  return (yield* transaction.lockRows('account', wantedAccounts(transaction, given))).map(shown);
}

function lockFreeAccounts(transaction: Transaction, given: Given): readonly StoredRow[] {
  return wantedAccounts(transaction, given).flatMap((id) => {
    if (!transaction.tryLock(`account ${id}`)) return [];
    const row = transaction.newest('account', id);
    return row === undefined ? [] : [shown(row)];
  });
}

function readAccounts(transaction: Transaction, given: Given): readonly StoredRow[] {
  return wantedAccounts(transaction, given).flatMap((id) => {
    const row = transaction.find('account', id);
    return row === undefined ? [] : [shown(row)];
  });
}

/** The account after the write. Throws if it violates the CHECK of its floor. */
export function writtenAccount(before: StoredRow, sent: StoredRow, version: unknown): StoredRow {
  const { balance, held, incoming, sequence } = sent;
  const { floor } = before;
  if (floor !== null && (balance as bigint) - (held as bigint) < (floor as bigint)) {
    throw databaseError('23514', 'new row for relation "account" violates check constraint "account_floor"');
  }
  return { ...before, balance, held, incoming, sequence, version };
}

/** Raises the version of an account, like the triggers. */
export function* raiseVersion(transaction: Transaction, accountId: unknown): Run {
  yield* transaction.update('account', String(accountId), (row) => ({ ...row, version: (row.version as bigint) + 1n }));
}

/** Throws PostgreSQL's error if the accounts behind a decision have changed. */
export function refuseChanged(found: number, wanted: unknown): void {
  if (found !== Number(wanted)) throw databaseError('TS001', 'accounts have changed since they were decided on');
}

/** Accounts, postings and counters. */
export const ACCOUNT_STATEMENTS: Meanings = {
  lock_accounts_of_cards: lockAccounts,
  lock_accounts_of_cards_and_transfers: lockAccounts,
  lock_free_accounts_of_cards: lockFreeAccounts,
  lock_free_accounts_of_cards_and_transfers: lockFreeAccounts,
  read_accounts_of_cards_and_transfers: readAccounts,

  *update_accounts(transaction, { rows }) {
    for (const sent of rows('sent')) {
      yield* transaction.update('account', String(sent.account_id), (before) =>
        writtenAccount(before, sent, (before.version as bigint) + 1n),
      );
    }
    return NOTHING;
  },

  *update_accounts_if_unchanged(transaction, { rows, values: [number] }) {
    let written = 0;
    for (const sent of rows('sent')) {
      const isAsDecided = (row: StoredRow | undefined): boolean =>
        row?.sequence === sent.sequence_before && row?.version === sent.version_before;
      const key = String(sent.account_id);
      if (!isAsDecided(transaction.find('account', key))) continue;
      const isWritten = yield* transaction.update('account', key, (before) =>
        isAsDecided(before) ? writtenAccount(before, sent, sent.version) : undefined,
      );
      if (isWritten) written += 1;
    }
    refuseChanged(written, number);
    return [{ case: null }];
  },

  check_accounts_unchanged(transaction, { rows, values: [number] }) {
    const unchanged = rows('sent').filter((sent) => {
      const row = transaction.find('account', String(sent.account_id));
      return row?.sequence === sent.sequence && row?.version === sent.version;
    });
    refuseChanged(unchanged.length, number);
    return [{ case: null }];
  },

  *insert_postings(transaction, { rows, values: [now] }) {
    for (const row of rows('postings')) {
      yield* transaction.insert('posting', `${row.cause_id} ${row.index}`, { ...row, created_at: now });
    }
    return NOTHING;
  },

  *update_counters(transaction, { rows }) {
    for (const sent of rows('sent')) {
      yield* transaction.update('limit_counter', counterKey(sent), (row) => {
        const amount = (row.amount as bigint) + (sent.amount as bigint);
        const count = (row.count as bigint) + (sent.count as bigint);
        if (amount < 0n || count < 0n) {
          throw databaseError('23514', 'new row for relation "limit_counter" violates a check constraint');
        }
        return { ...row, amount, count };
      });
    }
    return NOTHING;
  },

  *insert_counters(transaction, { rows }) {
    for (const sent of rows('sent')) {
      const key = counterKey(sent);
      if (transaction.find('limit_counter', key) === undefined) yield* transaction.insert('limit_counter', key, sent);
    }
    return NOTHING;
  },
};

function counterKey({ account_id, direction, day_start }: StoredRow): string {
  return `${account_id} ${direction} ${(day_start as Date).getTime()}`;
}

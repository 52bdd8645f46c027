import { ACCOUNT_COLUMNS, raiseVersion } from './accounts.ts';
import { todayOf } from './cards.ts';
import { type Meanings, NOTHING } from './meaning.ts';
import { columnsOf, databaseError, type StoredRow } from './parameters.ts';
import type { Run, Transaction } from './transaction.ts';

const PROGRAM = [
  ...(['program_id', 'name', 'currency', 'time_zone', 'created_at', 'limits', 'card_limits'] as const),
  ...(['funding_low_threshold', 'metadata'] as const),
];

const MOVEMENT = [
  ...(['program_id', 'movement_id', 'kind', 'amount', 'currency', 'description', 'reference', 'metadata'] as const),
  ...(['actor', 'created_at'] as const),
];

/** Accounts of a program, by kind and in one currency or all, in the order of their ids. */
function fundsOf(
  transaction: Transaction,
  programId: unknown,
  kinds: readonly unknown[] = ['funding'],
  currency?: unknown,
): readonly StoredRow[] {
  const isWanted = (row: StoredRow): boolean =>
    row.owner_id === programId && kinds.includes(row.kind) && (currency === undefined || row.currency === currency);
  return transaction
    .scan('account', isWanted)
    .toSorted((one, other) => (String(one.account_id) < String(other.account_id) ? -1 : 1));
}

function lockFunds(...of: Parameters<typeof fundsOf>): Run<readonly StoredRow[]> {
  const ids = fundsOf(...of).map(({ account_id }) => String(account_id));
  return of[0].lockRows('account', ids);
}

const asJson = (text: unknown): unknown => (text === null ? null : JSON.parse(String(text)));

/** Card programs, their funds, deposits and withdrawals. */
export const PROGRAM_STATEMENTS: Meanings = {
  read_program(transaction, { values: [programId] }) {
    const program = transaction.find('program', String(programId));
    if (program === undefined) return NOTHING;
    const funding = fundsOf(transaction, programId)
      .map(({ currency, balance, held }) => ({ currency, balance: String(balance), held: String(held) }))
      .sort((one, other) => (String(one.currency) < String(other.currency) ? -1 : 1));
    return [{ ...columnsOf(program, PROGRAM), today: todayOf(transaction, programId), funding }];
  },

  *lock_program(transaction, { values: [programId] }) {
    const row = yield* transaction.lockRow('program', String(programId));
    return row === undefined ? NOTHING : [{}];
  },

  *lock_all_funding(transaction, { values: [programId] }) {
    return (yield* lockFunds(transaction, programId)).map(() => ({}));
  },

  *lock_funding_accounts(transaction, { values: [programId, currency] }) {
    const locked = yield* lockFunds(transaction, programId, ['funding', 'world'], currency);
    return locked.map((row) => columnsOf(row, ACCOUNT_COLUMNS));
  },

  read_funding_account(transaction, { values: [programId, currency] }) {
    return fundsOf(transaction, programId, ['funding'], currency).map(({ account_id }) => ({ account_id }));
  },

  *raise_funding_versions(transaction, { values: [programId] }) {
    for (const { account_id } of fundsOf(transaction, programId)) yield* raiseVersion(transaction, account_id);
    return NOTHING;
  },

  *update_program(transaction, { values }) {
    const [name, limits, card_limits, threshold, metadata, programId] = values;
    yield* transaction.update('program', String(programId), (row) => ({
      ...row,
      ...{ name, limits: asJson(limits), card_limits: asJson(card_limits), metadata: asJson(metadata) },
      funding_low_threshold: threshold === null ? null : BigInt(String(threshold)),
    }));
    return NOTHING;
  },

  read_funding_threshold(transaction, { values: [programId] }) {
    const program = transaction.find('program', String(programId));
    return program === undefined ? NOTHING : [columnsOf(program, ['funding_low_threshold'])];
  },

  read_funding_movement_reference(transaction, { values: [programId, reference] }) {
    return transaction
      .scan('funding_movement', (row) => row.program_id === programId && row.reference === reference)
      .map(({ kind, movement_id }) => ({ kind, movement_id }));
  },

  *insert_funding_movement(transaction, { values }) {
    const sent = Object.fromEntries(MOVEMENT.map((name, index) => [name, values[index]]));
    const { program_id, movement_id, reference } = sent;
    const isTaken = (row: StoredRow): boolean => row.program_id === program_id && row.reference === reference;
    const key = `${program_id} ${reference}`;
    if (reference !== null && (yield* transaction.findUnique('funding_movement', key, isTaken)) !== undefined)
      throw databaseError('23505', 'duplicate key value violates unique constraint "funding_movement_reference"');
    const row = { ...sent, amount: BigInt(String(sent.amount)), metadata: asJson(sent.metadata) };
    yield* transaction.insert('funding_movement', String(movement_id), row);
    return NOTHING;
  },
};

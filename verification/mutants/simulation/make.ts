import type { Forced } from '../../environments/memory/profile.ts';
import type { Mistake } from '../../environments/memory/schedule.ts';
import type { Meaning } from '../../environments/memory-store/meaning.ts';
import type { StoredRow } from '../../environments/memory-store/parameters.ts';
import { STATEMENTS } from '../../environments/memory-store/statements.ts';
import type { Transaction } from '../../environments/memory-store/transaction.ts';

/**
 * A mistake that the simulation must find. The schedule of `seed` once found it and is tried first. Other schedules run
 * only if that one no longer finds it.
 */
export type NamedMistake = Mistake & { readonly name: string; readonly seed: number } & Forced;

/** Replaces a method of the service. */
export function change<Of extends object, Name extends keyof Of>(
  of: Of,
  name: Name,
  changed: (before: Of[Name]) => Of[Name],
) {
  return (): (() => void) => {
    const before = of[name];
    of[name] = changed(before);
    return () => {
      of[name] = before;
    };
  };
}

/** The correct meaning of a statement. */
export function meaning(name: string): Meaning {
  const found = STATEMENTS[name];
  if (found === undefined) throw new Error(`there is no statement ${name}`);
  return found;
}

/** Runs a statement, which may wait for a lock, and returns its rows. */
export function* run(name: string, ...of: Parameters<Meaning>) {
  const found = meaning(name)(...of);
  return 'next' in found ? yield* found : found;
}

/** Returns a transaction with one method replaced. */
function withMethod<Name extends 'find' | 'scan'>(
  of: Transaction,
  changed: Name,
  method: Transaction[Name],
): Transaction {
  return new Proxy(of, {
    get(target, name: keyof Transaction) {
      const found = name === changed ? method : target[name];
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
}

/** Returns a transaction that changes the rows of a table when it reads them one by one. */
export function findingIn(transaction: Transaction, table: string, change: (row: StoredRow) => StoredRow): Transaction {
  return withMethod(transaction, 'find', (...of) => {
    const row = transaction.find(...of);
    return row === undefined || of[0] !== table ? row : change(row);
  });
}

/** Returns a transaction that changes rows when it scans. */
export function scanningWith(transaction: Transaction, change: (row: StoredRow) => StoredRow): Transaction {
  return withMethod(transaction, 'scan', (...of) => transaction.scan(...of).map(change));
}

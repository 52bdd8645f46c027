import type { Mistake } from '../schedule.ts';
import { STATEMENTS } from '../statements/statements.ts';
import type { Meaning } from '../store/meaning.ts';
import type { StoredRow } from '../store/parameters.ts';
import type { Transaction } from '../store/transaction.ts';

/**
 * A mistake that the simulation has to find. `seed` is that of a schedule that finds it, which is tried first: others are
 * only run when the simulation has changed since.
 */
export type NamedMistake = Mistake & { readonly name: string; readonly seed: number };

/** A change of a method of the service. */
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

/** What a statement means without a mistake. */
export function meaning(name: string): Meaning {
  const found = STATEMENTS[name];
  if (found === undefined) throw new Error(`there is no statement ${name}`);
  return found;
}

/** Its rows; with a lock that it waits for. */
export function* run(name: string, ...of: Parameters<Meaning>) {
  const found = meaning(name)(...of);
  return 'next' in found ? yield* found : found;
}

/** A transaction that finds other rows in a table, one by one, than there are. */
export function findingIn(transaction: Transaction, table: string, change: (row: StoredRow) => StoredRow): Transaction {
  return new Proxy(transaction, {
    get(target, name: keyof Transaction) {
      if (name === 'find') {
        return (...of: Parameters<Transaction['find']>) => {
          const row = target.find(...of);
          return row === undefined || of[0] !== table ? row : change(row);
        };
      }
      const found = target[name];
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
}

/** A transaction that finds other rows than there are. */
export function scanningWith(transaction: Transaction, change: (row: StoredRow) => StoredRow): Transaction {
  return new Proxy(transaction, {
    get(target, name: keyof Transaction) {
      if (name === 'scan') {
        return (...of: Parameters<Transaction['scan']>) => target.scan(...of).map(change);
      }
      const found = target[name];
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
}

import type { Given, StoredRow } from './parameters.ts';
import type { Run, Transaction } from './transaction.ts';

/** What a statement means, for tables in memory: its rows. A generator where it may have to wait for a lock. */
export type Meaning = (transaction: Transaction, given: Given) => Run<readonly StoredRow[]> | readonly StoredRow[];

/** What statements mean, by their names. */
export type Meanings = Readonly<Record<string, Meaning>>;

/** What a statement returns that only writes. */
export const NOTHING: readonly StoredRow[] = [];

/** The moment of a Date or null, so that rows can be compared. */
export const timeOf = (value: unknown): number => (value instanceof Date ? value.getTime() : Number.NaN);

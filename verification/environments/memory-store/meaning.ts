import type { Given, StoredRow } from './parameters.ts';
import type { Run, Transaction } from './transaction.ts';

/**
 * Executes a statement on tables in memory and returns the statement's rows. It is a generator function if it may have
 * to wait for a lock.
 */
export type Meaning = (transaction: Transaction, given: Given) => Run<readonly StoredRow[]> | readonly StoredRow[];

/** Meanings by the names of statements. */
export type Meanings = Readonly<Record<string, Meaning>>;

/** The result of a statement that only writes. */
export const NOTHING: readonly StoredRow[] = [];

/** The milliseconds of a Date, or null, so that rows can be compared. */
export const timeOf = (value: unknown): number => (value instanceof Date ? value.getTime() : Number.NaN);

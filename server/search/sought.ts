import type { Service } from '../operations/service.ts';
import type { Row, Statement } from '../store/connection/database.ts';
import type { Period } from '../store/ledger/statement.ts';
import type { Term } from './read-term.ts';

/** What is searched, and where. */
export type Sought = {
  readonly service: Service;
  readonly term: Term;
  /** The only program to look into; null for all. */
  readonly programId: string | null;
  readonly programIds: readonly string[];
  readonly period: Period;
  /** When the caller must have a response, by `performance.now()`, in milliseconds. */
  readonly deadline: number;
  readonly read: (statement: Statement) => Promise<readonly Row[]>;
};

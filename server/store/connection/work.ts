import type pg from 'pg';

/** A prepared statement with its values. Each name has one text, because PostgreSQL keeps the plan under the name. */
export type Statement = {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  /** The facts that the fence stores about the events that the statement inserts. */
  readonly events?: BatchEvents;
  /** The writes that the statement merges. Citus executes no statement that writes several tables. */
  readonly parts?: readonly Statement[];
};

/** The events of a transaction: how many each program has, and the time of all of them. */
export type BatchEvents = {
  readonly at: Date;
  /** The nil UUID for the service itself. */
  readonly programIds: readonly string[];
  readonly counts: readonly number[];
};

/**
 * The events that some statements of one transaction insert, all in one statement, which numbers them and gives them one time.
 */
export function eventsOf(statements: readonly Statement[]): BatchEvents | undefined {
  const [found, ...more] = statements.flatMap(({ events }) => events ?? []);
  if (more.length > 0) throw new Error('a transaction inserts its events with one statement');
  return found;
}

/** A row of PostgreSQL. `bigint` columns are JavaScript bigints, `timestamptz` columns Dates. */
export type Row = Record<string, unknown>;

/**
 * One transaction in two round trips: BEGIN with every statement of `load`, then every statement of the decision with COMMIT.
 * `decide` is pure and gets the rows of each load statement under its name.
 */
export type Work<Result, Name extends string = string> = Steps<Result, Name> & {
  /** Identifies the transaction. This id settles a commit whose response is lost. */
  readonly batchId: string;
};

export type Steps<Result, Name extends string = string> = {
  /** Sent in this order. Null loads no rows. */
  readonly load: { readonly [Key in Name]: Statement | null };
  readonly decide: (loaded: Loaded<Name>, batchId: string) => Decision<Result>;
};

export type Loaded<Name extends string = string> = { readonly [Key in Name]: readonly Row[] };

/**
 * The result of a decision, and the statements that write it, if it changes anything. A result without writes usually reports an
 * earlier change, like a replay, and is returned once that change is on the standby (if there is one). `readsOnly` if it reports
 * no change.
 */
export type Decision<Result> = {
  readonly result: Result;
  readonly writes: readonly Statement[];
  readonly readsOnly?: boolean;
};

/** The steps of a transaction in a chain: it decides on accounts that it has not locked. */
export type ChainedSteps<Result, Name extends string = string> = {
  readonly load: Steps<Result, Name>['load'];
  readonly decide: (loaded: Loaded<Name>, batchId: string) => ChainedDecision<Result>;
};

/** A decision based on the state that the previous transaction of the chain is about to commit. */
export type ChainedDecision<Result> = {
  readonly result: Result;
  /** Sent at once. They do not wait for locks that other transactions of the chain hold. */
  readonly early: readonly Statement[];
  /** Sent when the previous transaction is committed. The first one fails if the data that was decided on has changed. */
  readonly late: readonly Statement[];
  /** Sent instead of both if nothing is written. Fails if the data that was decided on has changed. */
  readonly check: Statement | null;
  readonly readsOnly: boolean;
};

export type ChainPlace = {
  /** Called when the decision is made, so that the next transaction may be loaded. */
  readonly onDecided: () => void;
  /** Whether the previous transaction is committed, or a promise until that is known. */
  readonly baseCommitted: () => boolean | Promise<boolean>;
  /** The error to throw, after a rollback, if it was not. */
  readonly whenBroken: () => Error;
};

export function toQuery(statement: Statement): pg.QueryConfig {
  return { name: statement.name, text: statement.text, values: statement.values as unknown[] };
}

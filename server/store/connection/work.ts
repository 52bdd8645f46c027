import type pg from 'pg';

/**
 * A prepared statement with its values. Each name must always have the same SQL, because PostgreSQL keeps the plan under the
 * name.
 */
export type Statement = {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  /** The facts about the events that the statement inserts, which the fence stores. */
  readonly events?: BatchEvents;
  /** The writes that the statement merges. They are needed because Citus executes no statement that writes to several tables. */
  readonly parts?: readonly Statement[];
};

/** The events of a transaction: the number of events of each program, and the time that they share. */
export type BatchEvents = {
  readonly at: Date;
  /** Programs as inner UUIDs. The nil UUID stands for the service itself. */
  readonly programIds: readonly string[];
  readonly counts: readonly number[];
};

/**
 * Returns the events that some statements of one transaction insert. One statement must insert them all, because it numbers them
 * and gives them the same time.
 */
export function eventsOf(statements: readonly Statement[]): BatchEvents | undefined {
  const [found, ...more] = statements.flatMap(({ events }) => events ?? []);
  if (more.length > 0) throw new Error('a transaction inserts its events with one statement');
  return found;
}

/** A row of PostgreSQL. `bigint` columns are JavaScript bigints, `timestamptz` columns Dates. */
export type Row = Record<string, unknown>;

/**
 * One transaction in two round trips: first BEGIN with every statement of `load`, then every statement of the decision with COMMIT.
 * `decide` is pure. It gets the rows of each load statement under the statement's name.
 */
export type Work<Result, Name extends string = string> = Steps<Result, Name> & {
  /** Identifies the transaction. If the response to the commit is lost, this id is used to find out the outcome. */
  readonly batchId: string;
};

export type Steps<Result, Name extends string = string> = {
  /** The statements, in the order of sending. Null loads no rows. */
  readonly load: { readonly [Key in Name]: Statement | null };
  readonly decide: (loaded: Loaded<Name>, batchId: string) => Decision<Result>;
};

export type Loaded<Name extends string = string> = { readonly [Key in Name]: readonly Row[] };

/**
 * The result of a decision, and the statements that write it, if it changes anything. A result without writes usually reports an
 * earlier change, such as a replay. It is returned only when that change is on the standby (if there is one). `readsOnly` means
 * that the result reports no change.
 */
export type Decision<Result> = {
  readonly result: Result;
  readonly writes: readonly Statement[];
  readonly readsOnly?: boolean;
};

/** The steps of a transaction in a chain. It decides about accounts that it has not locked. */
export type ChainedSteps<Result, Name extends string = string> = {
  readonly load: Steps<Result, Name>['load'];
  readonly decide: (loaded: Loaded<Name>, batchId: string) => ChainedDecision<Result>;
};

/** A decision that is based on the state that the previous transaction of the chain is about to commit. */
export type ChainedDecision<Result> = {
  readonly result: Result;
  /** Sent immediately. These statements do not wait for locks that other transactions of the chain hold. */
  readonly early: readonly Statement[];
  /** Sent when the previous transaction is committed. The first statement fails if the data has changed since the decision. */
  readonly late: readonly Statement[];
  /** Sent instead of both if nothing is written. Fails if the data has changed since the decision. */
  readonly check: Statement | null;
  readonly readsOnly: boolean;
};

export type ChainPlace = {
  /** Called when the decision is made. Then the next transaction may be loaded. */
  readonly onDecided: () => void;
  /** Whether the previous transaction is committed, or a promise if that is not known yet. */
  readonly baseCommitted: () => boolean | Promise<boolean>;
  /** Creates the error to throw after a rollback if the previous transaction was not committed. */
  readonly whenBroken: () => Error;
};

export function toQuery(statement: Statement): pg.QueryConfig {
  return { name: statement.name, text: statement.text, values: statement.values as unknown[] };
}

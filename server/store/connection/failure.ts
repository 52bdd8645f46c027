import pg from 'pg';
import { codeOf } from '../../foundation/startup-problem.ts';

type FailureFacts = { readonly sqlState: string | undefined; readonly connectionLost: boolean };

/** Reads an error of `pg`. An error with an SQLSTATE comes from the server. Any other error means a lost connection. */
export function describeFailure(error: unknown): FailureFacts {
  if (error instanceof NoWritableHost) return { sqlState: error.sqlState, connectionLost: true };
  if (error instanceof Overdue) return { sqlState: QUERY_CANCELED, connectionLost: false };
  if (!(error instanceof pg.DatabaseError)) return { sqlState: undefined, connectionLost: true };
  return { sqlState: error.code, connectionLost: isFatal(error) };
}

/** Whether the server closes the connection with this error. */
export function isFatal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.severity === 'FATAL' || error.severity === 'PANIC');
}

/** SQLSTATEs of PostgreSQL. */
export const INSUFFICIENT_PRIVILEGE = '42501';

export const LOCK_NOT_AVAILABLE = '55P03';

export const DEADLOCK_DETECTED = '40P01';

export const QUERY_CANCELED = '57014';

export const TOO_MANY_CONNECTIONS = '53300';

/** The SQLSTATE for a write to a standby or in a read-only transaction. */
export const READ_ONLY = '25006';

const NOT_NULL_VIOLATION = '23502';

export const DISK_FULL = '53100';

/** Our own SQLSTATE: an account changed between a decision and the write of that decision (`refuse_changed_accounts`). */
export const ACCOUNTS_CHANGED = 'TS001';

/** The messages of `pg` for time-outs of a response or of a new connection. */
const SILENCES: ReadonlySet<string> = new Set([
  'Query read timeout',
  'Connection terminated due to connection timeout',
]);

/**
 * After an error with one of these SQLSTATEs, the connection is closed even if it still responds, because a new one may work.
 * Some mean a read-only server (the address may already lead to a different server) or a standby (55000: recovery is in
 * progress). Others mean a backend that is out of memory, or a statement whose table has changed (0A000: the cached plan must not
 * change its type). The connection is also closed after I/O errors (class 58), internal errors (class XX) and connection
 * exceptions (class 08).
 */
const UNFIT_STATES: ReadonlySet<string> = new Set([READ_ONLY, '55000', '53200', '0A000']);
const UNFIT_CLASSES: ReadonlySet<string> = new Set(['58', 'XX', '08']);

/** Returns whether a connection must be closed after this error. */
export function isUnfit(error: unknown): boolean {
  const { sqlState, connectionLost } = describeFailure(error);
  return (
    connectionLost ||
    error instanceof Overdue ||
    UNFIT_STATES.has(sqlState ?? '') ||
    UNFIT_CLASSES.has(sqlState?.slice(0, 2) ?? '')
  );
}

/**
 * No connection was available in time. `crowded` means that other connections of this process received responses during the wait,
 * so there are too few connections. Otherwise, the database is silent. `cause` is the server's error if it refused a connection.
 */
export class NoConnection extends Error {
  override readonly name = 'NoConnection';
  readonly crowded: boolean;

  constructor(crowded: boolean, cause?: unknown) {
    super(crowded ? 'no connection became free in time' : 'the database responds on no connection', { cause });
    this.crowded = crowded;
  }
}

/** Returns whether the driver stopped waiting, for a response or for a new connection. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && SILENCES.has(error.message);
}

/**
 * Statements that were sent together took too long, one after the other. The server responded in between, so it is slow but not
 * silent. It may still execute the last statement, so its connection can no longer be used.
 */
export class Overdue extends Error {
  override readonly name = 'Overdue';

  constructor() {
    super('the statements of the request together took too long');
  }
}

/** The reason why a host of DATABASE_URL cannot be used. `cause` is the error of the connection, if there was one. */
export type HostRefusal = {
  /** The host as configured, such as `db1:5432`. */
  readonly host: string;
  readonly reason: string;
  /** Whether the host responds but does not accept writes. */
  readonly isReadOnly: boolean;
  readonly cause?: unknown;
};

/** Lists the hosts with the reasons why they cannot be used, as part of a sentence. */
export function describeRefusals(refusals: readonly HostRefusal[]): string {
  return refusals.map(({ host, reason }) => `${host} (${reason})`).join(', ');
}

/** No host of DATABASE_URL accepts writes. `cause` is the first error of a connection, if there was one. */
export class NoWritableHost extends Error {
  override readonly name = 'NoWritableHost';
  /**
   * The code for a read-only database if a host is read-only. Otherwise the code of a server's error, or undefined if there was
   * none.
   */
  readonly sqlState: string | undefined;
  /** The SQLSTATE, or Node's code for the connection error. */
  readonly code: string | undefined;

  constructor(refusals: readonly HostRefusal[]) {
    const causes = refusals.map((refusal) => refusal.cause).filter((cause) => cause !== undefined);
    super(`none of its hosts can be written to: ${describeRefusals(refusals)}`, { cause: causes[0] });
    const reported = causes.find((cause) => cause instanceof pg.DatabaseError);
    this.sqlState = refusals.some(({ isReadOnly }) => isReadOnly) ? READ_ONLY : reported?.code;
    this.code = this.sqlState ?? codeOf(causes[0]);
  }
}

/** A transaction or a read has certainly changed nothing. `cause` is the error of `pg`. */
export class StoreFailure extends Error {
  override readonly name = 'StoreFailure';
  readonly sqlState: string | undefined;
  readonly connectionLost: boolean;
  readonly unfit: boolean;

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    const facts = describeFailure(cause);
    this.unfit = isUnfit(cause);
    this.sqlState = facts.sqlState;
    this.connectionLost = facts.connectionLost;
  }

  /**
   * An open or a new connection got no response. Trying again immediately would not help, because the server hangs or packets are
   * lost.
   */
  get timedOut(): boolean {
    const { cause } = this;
    if (cause instanceof NoConnection || cause instanceof NoWritableHost) return true;
    return isSilence(cause);
  }

  /** There were too few connections. The same request may succeed later. */
  get crowded(): boolean {
    return this.sqlState === TOO_MANY_CONNECTIONS || (this.cause instanceof NoConnection && this.cause.crowded);
  }

  /** The database accepts no writes: it is a standby, or read-only. */
  get readOnly(): boolean {
    return this.sqlState === READ_ONLY || this.sqlState === '55000';
  }

  get primaryLost(): boolean {
    return this.connectionLost || this.readOnly;
  }

  /** A standby is required but not configured, so the fence refused the transaction (`round-trips.ts`). */
  get lacksStandby(): boolean {
    return lacksStandby(this);
  }

  /** The database could not write: no disk space, or an I/O error. */
  get unwritten(): boolean {
    return this.sqlState === DISK_FULL || this.sqlState?.startsWith('58') === true;
  }

  get lockTimeout(): boolean {
    return this.sqlState === LOCK_NOT_AVAILABLE;
  }

  /** A wait took too long: either for one lock, or in total, for several locks that one statement takes one after the other. */
  get waitedTooLong(): boolean {
    return this.lockTimeout || this.sqlState === QUERY_CANCELED;
  }

  /** The transaction may succeed if it is repeated: there was a deadlock, or another transaction came first. */
  get conflict(): boolean {
    return this.sqlState === '40001' || this.sqlState === '40P01' || this.sqlState === '23505';
  }

  /** Accounts that were not locked have changed since the decision. The decision must be repeated. */
  get accountsChanged(): boolean {
    return this.sqlState === ACCOUNTS_CHANGED;
  }

  /** The cause may be one row of a batch: constraint violations (23), data exceptions (22), a lock that is not available. */
  get rowAtFault(): boolean {
    if (this.lacksStandby) return false;
    return this.lockTimeout || this.sqlState?.startsWith('22') === true || this.sqlState?.startsWith('23') === true;
  }
}

/** Returns whether an error, or its cause, comes from the fence because a standby is required but none is configured. */
export function lacksStandby(error: unknown): boolean {
  const { code, table, column } = serverErrorOf(error) ?? {};
  // The error names the partition of the row instead of the table.
  return code === NOT_NULL_VIOLATION && column === 'created_at' && table?.startsWith('write_batch') === true;
}

/**
 * The reason why it is unknown whether the outcome of a transaction is durable. `response_lost`: the response to COMMIT was lost,
 * is an error, or does not prove that the commit waited for a required standby. `local`: the server warned that it could not wait
 * for its standby. `unconfirmed`: the transaction changed nothing, but the earlier result that it found may not be on the standby
 * yet.
 */
export type Doubt = 'response_lost' | 'local' | 'unconfirmed';

/**
 * The outcome of a transaction is unknown: it may have been committed, or may still be. `result` is its decision, which is valid if
 * it turns out that it was committed ({@link Database.clear}).
 */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown';
  readonly result: unknown;
  readonly doubt: Doubt;
  /** The server that has the unconfirmed rows. */
  readonly server: string | undefined;

  constructor(cause: unknown, result: unknown, doubt: Doubt, server?: string) {
    super('the outcome of a commit is not known', { cause });
    this.result = result;
    this.doubt = doubt;
    this.server = server;
  }
}

/** Returns the error that the server itself reported, from an error or its causes. Undefined if there is none. */
export function serverErrorOf(error: unknown): pg.DatabaseError | undefined {
  if (error instanceof pg.DatabaseError) return error;
  return error instanceof Error ? serverErrorOf(error.cause) : undefined;
}

/** The codes of Node and `pg` for connections that could not be opened or were lost. */
const CONNECTION_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);

/** Returns whether an error, or its cause, shows that the database can no longer be reached. */
export function isLostConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (CONNECTION_CODES.has(code) || isSilence(error)) return true;
  return error.message.startsWith('Connection terminated') || isLostConnection(error.cause);
}

/** Returns whether an error, or its cause, shows that a working connection was lost. */
export function wasCutOff(error: unknown): boolean {
  if (error instanceof CommitUnknown) return true;
  if (error instanceof StoreFailure) return error.connectionLost;
  if (error instanceof pg.DatabaseError) return isFatal(error);
  // ENOENT means that the socket of a server on this machine was removed together with the server.
  return (
    isLostConnection(error) ||
    (error instanceof Error && (('code' in error && error.code === 'ENOENT') || wasCutOff(error.cause)))
  );
}

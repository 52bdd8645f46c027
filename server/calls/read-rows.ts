import type { MoneyMoved } from '../../domain/refusal.ts';
import { READINESS } from '../../domain/service-status.ts';
import type { Database, Row, Statement } from '../store/connection/database.ts';
import { CommitUnknown, StoreFailure } from '../store/connection/failure.ts';
import { OperationFailure } from './call.ts';

// Invariant: A failure says correctly whether money moved
// Kept by: an unknown COMMIT is fenced, never guessed
// Tested by: `test/store/commit.test.ts`

/** Reads rows for an operation. A failure of the store becomes an {@link OperationFailure} that moved nothing. */
export async function readRows(database: Database, statement: Statement): Promise<readonly Row[]> {
  try {
    return await database.read(statement);
  } catch (error) {
    throw toOperationFailure(error);
  }
}

/** Reads rows with a statement that may take long. Returns undefined if it takes longer than the limit. 0 means no limit. */
export async function surveyRows(
  database: Database,
  statement: Statement,
  timeoutMilliseconds: number,
): Promise<readonly Row[] | undefined> {
  try {
    return await database.survey(statement, timeoutMilliseconds);
  } catch (error) {
    throw toOperationFailure(error);
  }
}

/** Runs one statement that writes. If it is unknown whether the commit succeeded, the failure says so. */
export async function writeRows(database: Database, statement: Statement): Promise<readonly Row[]> {
  try {
    return await database.write(statement);
  } catch (error) {
    throw toOperationFailure(error);
  }
}

/**
 * Reads the record of a stored success again, for a replay whose body is no longer stored. The first request was certainly
 * processed. So if this fails, the failure has the `moneyMoved` of the first response and is not marked as busy. `no` becomes
 * `unknown`: a hold or a scheduled transfer exists, and a caller that believes it failed would create it twice.
 */
export async function readAgain(
  database: Database,
  statement: Statement,
  moneyMoved: MoneyMoved,
): Promise<readonly Row[]> {
  try {
    return await database.read(statement);
  } catch (cause) {
    const moved = moneyMoved === 'no' ? 'unknown' : moneyMoved;
    const message = 'the record of a stored response could not be read again';
    throw new OperationFailure(message, { moneyMoved: moved, endsIn: endsIn(cause), cause });
  }
}

/**
 * If commits wait for a standby, waits until the standby is known to have the rows that prove a change to the caller. After a
 * crash, a primary may show changes that a failover undoes. The rows come from one statement. They have the column `replicated`,
 * and `updated_at` or `created_at`. This time shows whether an earlier confirmation already covers the row.
 */
export async function confirmReplicated(database: Database, deadline: number, rows: readonly Row[]): Promise<void> {
  const isOpen = ({ replicated, updated_at, created_at }: Row): boolean => {
    const changedAt = updated_at ?? created_at;
    return typeof replicated === 'string' && changedAt instanceof Date && !database.isConfirmed(changedAt, replicated);
  };
  const open = rows.find(isOpen);
  if (open === undefined || (await database.confirm(String(open.replicated), deadline))) return;
  const cause = new Error('the standby has not confirmed in time that it has the rows');
  throw new OperationFailure('a failover may still undo the result', { moneyMoved: 'unknown', cause });
}

/** Converts a failure of the store to its meaning for the caller. Any other error is returned unchanged. */
export function toOperationFailure(error: unknown, transferId?: string): unknown {
  if (error instanceof CommitUnknown) {
    return new OperationFailure('the outcome of the commit is unknown', {
      moneyMoved: 'unknown',
      endsIn: endsIn(error),
      cause: error,
      ...(transferId === undefined ? {} : { transferId }),
    });
  }
  if (!(error instanceof StoreFailure)) return error;
  if (error.lacksStandby) {
    const refused = { busy: true, readiness: 'standby_not_set', moneyMoved: 'no', cause: error } as const;
    return new OperationFailure('a standby is required, but none is configured', refused);
  }
  const message = busyMessage(error);
  return new OperationFailure(message ?? 'the database failed', {
    busy: message !== undefined,
    moneyMoved: 'no',
    endsIn: endsIn(error),
    cause: error,
  });
}

/** Returns the reason why the database responds but cannot execute the request now. Undefined for any other failure. */
function busyMessage(failure: StoreFailure): string | undefined {
  if (failure.crowded) return 'there is no database connection for the request';
  if (failure.lockTimeout || failure.conflict) return 'other transactions hold locks that the request needs';
  return failure.waitedTooLong ? 'the database took too long' : undefined;
}

/** Returns in how many milliseconds a failure may be over, or undefined if the database responds normally. */
function endsIn(error: unknown): number | undefined {
  if (error instanceof CommitUnknown) return READINESS.database_silent.retryAfterSeconds * 1000;
  // Having too few connections looks like a lost connection, but is not an outage.
  if (!(error instanceof StoreFailure) || error.crowded) return undefined;
  if (error.unwritten) return READINESS.disk_full.retryAfterSeconds * 1000;
  return error.primaryLost || error.timedOut ? READINESS.database_silent.retryAfterSeconds * 1000 : undefined;
}

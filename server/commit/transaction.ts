import { toOperationFailure } from '../calls/read-rows.ts';
import { newBatchId } from '../foundation/ids.ts';
import type { Database, Steps } from '../store/connection/database.ts';
import { QUERY_CANCELED, StoreFailure } from '../store/connection/failure.ts';
import { LIMITS } from '../store/connection/session-settings.ts';

/** Pause between two attempts, so that the conflicting transaction can end. */
const PAUSE_MILLISECONDS = 20;

/** Returns how long another attempt may take if it also fails, in milliseconds. */
export function timeOfAnotherTry({ sqlState }: StoreFailure): number {
  return sqlState === QUERY_CANCELED ? LIMITS.statement : LIMITS.lock;
}

/**
 * Runs a transaction for an operation. After a conflict, retries the transaction from its reads, with a new batch id, if there is
 * time before the deadline (`performance.now()`, milliseconds). Resolves an ambiguous commit before it returns.
 */
export async function transact<Result, Name extends string>(
  database: Database,
  deadline: number,
  load: Steps<Result, Name>['load'],
  decide: Steps<Result, Name>['decide'],
): Promise<Result> {
  for (;;) {
    try {
      return await database.transactSettled({ batchId: newBatchId(), load, decide }, deadline);
    } catch (error) {
      const again = error instanceof StoreFailure && (error.conflict || error.waitedTooLong);
      if (!again || performance.now() + timeOfAnotherTry(error) > deadline) throw toOperationFailure(error);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
    }
  }
}

import type { Database } from '../store/database.ts';
import { COUNT_OPERATOR_KEYS } from '../store/key.ts';
import { READ_SWITCH } from '../store/switch.ts';

/**
 * Makes the check whether the database answers, which never throws. Anybody may ask, without a key and without a limit:
 * those who ask while it is being found out share the one question.
 */
export function openReadiness(database: Database): () => Promise<boolean> {
  let asking: Promise<boolean> | undefined;
  const ask = async (): Promise<boolean> => {
    try {
      await database.read(READ_SWITCH);
      return true;
    } catch {
      return false;
    } finally {
      asking = undefined;
    }
  };
  return () => {
    asking ??= ask();
    return asking;
  };
}

/** Whether an operator key exists that was not revoked. */
export async function hasOperatorKey(database: Database): Promise<boolean> {
  const [row] = await database.read(COUNT_OPERATOR_KEYS);
  return row !== undefined && row.count !== 0n;
}

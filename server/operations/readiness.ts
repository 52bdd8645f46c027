import type { Database } from '../store/database.ts';
import { COUNT_OPERATOR_KEYS } from '../store/key.ts';
import { READ_SWITCH } from '../store/switch.ts';

/** Whether the database answers. Never throws. */
export async function isReady(database: Database): Promise<boolean> {
  try {
    await database.read(READ_SWITCH);
    return true;
  } catch {
    return false;
  }
}

/** Whether an operator key exists that was not revoked. */
export async function hasOperatorKey(database: Database): Promise<boolean> {
  const [row] = await database.read(COUNT_OPERATOR_KEYS);
  return row !== undefined && row.count !== 0n;
}

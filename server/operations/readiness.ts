import { COUNT_OPERATOR_KEYS } from '../store/key.ts';
import { READ_SWITCH } from '../store/switch.ts';
import type { Service } from './service.ts';

/** Whether the database answers. Never throws. */
export async function isReady(service: Service): Promise<boolean> {
  try {
    await service.database.read(READ_SWITCH);
    return true;
  } catch {
    return false;
  }
}

/** Whether an operator key exists that was not revoked. */
export async function hasOperatorKey(service: Service): Promise<boolean> {
  const [row] = await service.database.read(COUNT_OPERATOR_KEYS);
  return row !== undefined && row.count !== 0n;
}

import type { Database } from '../store/database.ts';
import { preparePartitions } from '../store/partition.ts';

/** Makes the partitions of the months ahead where they are missing. */
export function maintainPartitions(database: Database): Promise<void> {
  return preparePartitions(database, new Date());
}

import type { Database } from '../store/connection/database.ts';
import { dropOldErrors, preparePartitions } from '../store/partition.ts';

/** Makes the partitions of the months ahead where they are missing, and removes errors older than `errorDays` days. */
export async function maintainPartitions(database: Database, errorDays: number): Promise<void> {
  await preparePartitions(database);
  await dropOldErrors(database, errorDays);
}

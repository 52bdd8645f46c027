import { totalmem } from 'node:os';

/** The memory of the machine in bytes, or of the container if it may use less. */
export function machineMemory(): number {
  const total = totalmem();
  // 0 where nothing limits it, and a huge number where the limit of the group is none.
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, total) : total;
}

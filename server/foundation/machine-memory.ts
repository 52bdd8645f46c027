import { totalmem } from 'node:os';

/** Returns the memory of the machine in bytes. If a container may use less, returns the container's limit. */
export function machineMemory(): number {
  const total = totalmem();
  // 0 if no limit is known, or a huge number if there is a control group but it sets no limit.
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, total) : total;
}

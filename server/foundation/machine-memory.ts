import { totalmem } from 'node:os';

/** Returns the memory of the machine in bytes. If a container may use less, returns the container's limit. */
export function machineMemory(): number {
  const total = totalmem();
  // 0 if there is no limit. A huge number if the control group has no limit.
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, total) : total;
}

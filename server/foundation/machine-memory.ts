import { totalmem } from 'node:os';

/** The memory of the machine in bytes, or of the container if it may use less. */
export function machineMemory(): number {
  const total = totalmem();
  // 0 without a limit, and a huge number if the control group has no limit.
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, total) : total;
}

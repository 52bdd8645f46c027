import type { ProgramRecord } from '../../../sdk/client.ts';

/** Whether the available funds in the program's own currency are below its threshold. */
export function isLow({ funding, currency, funding_low_threshold: threshold }: ProgramRecord): boolean {
  if (threshold === null) return false;
  return (funding.find((account) => account.currency === currency)?.available ?? 0) < threshold;
}

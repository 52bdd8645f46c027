/**
 * Whether funding becomes low: the available amount, in minor units, was at or above the threshold `before`, and is
 * below it `after`. Without a threshold (null) it never does.
 */
export function getsLow(before: bigint, after: bigint, threshold: bigint | null): boolean {
  return threshold !== null && before >= threshold && after < threshold;
}

/**
 * Whether funding gets low: what is available, in minor units, was at or above the threshold `before`, and is below it
 * `after`. Without a threshold (null) it never is.
 */
export function getsLow(before: bigint, after: bigint, threshold: bigint | null): boolean {
  return threshold !== null && before >= threshold && after < threshold;
}

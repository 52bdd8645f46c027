/**
 * Whether the available funding, in minor units, falls below the threshold: it was not below `before` the change, and is `after`.
 * Never true without a threshold (null).
 */
export function fallsBelowThreshold(before: bigint, after: bigint, threshold: bigint | null): boolean {
  return threshold !== null && before >= threshold && after < threshold;
}

/**
 * Whether the available funding, in minor units, falls below the threshold: it was not below it `before` and is
 * `after`. Without a threshold (null) it never does.
 */
export function fallsBelowThreshold(before: bigint, after: bigint, threshold: bigint | null): boolean {
  return threshold !== null && before >= threshold && after < threshold;
}

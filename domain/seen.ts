/** How much of a limit has been used, in minor units or transfers. */
export type UsedOfLimit = { readonly used: bigint; readonly limit: bigint };

/**
 * A value that a check used. Amounts and counts are bigint. A caller's text is never a bigint, so the error log can distinguish
 * amounts from possible card numbers. A time is text in ISO 8601.
 */
export type SeenValue = string | number | boolean | null | bigint | UsedOfLimit;

/** The values that a check used, by name. */
export type Seen = Readonly<Record<string, SeenValue>>;

/** A value as explain_transfer and the error log show it. Amounts are strings, so that every reader reads them exactly. */
export function shownSeen(value: SeenValue): string | number | boolean | null {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'object' && value !== null) return `${value.used} of ${value.limit} used`;
  return value;
}

/** Whether a value consists only of numbers from the ledger. */
export function isOfLedger(value: SeenValue): value is bigint | UsedOfLimit {
  return typeof value === 'bigint' || (typeof value === 'object' && value !== null);
}

/** How many decimals a currency has: 2 for USD, 0 for JPY, 3 for KWD. */
export function decimalsOf(currency: string): number {
  try {
    return new Intl.NumberFormat('en-US', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;
  } catch {
    return 2;
  }
}

/** An amount in minor units in digits: 123456 of USD is `1,234.56`. Exact: the digits are moved, never divided. */
export function formatDigits(minorUnits: number | bigint | string, currency: string): string {
  const decimals = decimalsOf(currency);
  const text = String(minorUnits);
  const sign = text.startsWith('-') ? '−' : '';
  const digits = text.replace(/^-/, '').padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals).replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return decimals === 0 ? `${sign}${whole}` : `${sign}${whole}.${digits.slice(-decimals)}`;
}

/** An amount with its currency: `1,234.56 USD`. */
export function formatAmount(minorUnits: number | bigint | string, currency: string): string {
  return `${formatDigits(minorUnits, currency)} ${currency}`;
}

/**
 * The minor units that somebody has typed in a currency, such as `1,234.5`; undefined if it is not an amount, is zero, or
 * has more decimals than the currency: nothing is rounded.
 */
export function parseAmount(text: string, currency: string): number | undefined {
  const match = /^(\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.(\d*))?$/.exec(text.trim());
  const [, whole = '', fraction = ''] = match ?? [];
  const decimals = decimalsOf(currency);
  if (match === null || fraction.length > decimals) return undefined;
  const minorUnits = Number(whole.replaceAll(',', '') + fraction.padEnd(decimals, '0'));
  return Number.isSafeInteger(minorUnits) && minorUnits > 0 ? minorUnits : undefined;
}

/** A count with separators: `12,345`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

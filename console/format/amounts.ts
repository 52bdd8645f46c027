/**
 * The currencies whose minor unit doesn't have two decimals, according to ISO 4217. `Intl` has the decimals that people
 * usually write, such as none for HUF or IQD, so its values would make amounts wrong by a factor of 100 or more.
 */
const OTHER_DECIMALS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
    3: 'BHD IQD JOD KWD LYD OMR TND',
    4: 'CLF UYW',
  }).flatMap(([decimals, currencies]) => currencies.split(' ').map((currency) => [currency, Number(decimals)])),
);

export const DECIMALS = [0, 2, 3, 4] as const;

/** Returns the number of decimals in the minor unit of a currency: 2 for USD, 0 for JPY, 3 for KWD. */
export function decimalsOf(currency: string): number {
  return OTHER_DECIMALS.get(currency) ?? 2;
}

/** Formats the digits of an amount in minor units: 123456 of USD is `1,234.56`. This is exact, because it never divides. */
export function formatDigits(minorUnits: number | bigint | string, currency: string): string {
  const decimals = decimalsOf(currency);
  const text = String(minorUnits);
  const sign = text.startsWith('-') ? '−' : '';
  const digits = text.replace(/^-/, '').padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals).replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return decimals === 0 ? `${sign}${whole}` : `${sign}${whole}.${digits.slice(-decimals)}`;
}

/** Formats an amount with its currency: `1,234.56 USD`. */
export function formatAmount(minorUnits: number | bigint | string, currency: string): string {
  return `${formatDigits(minorUnits, currency)} ${currency}`;
}

/**
 * Returns the minor units of a typed amount, such as `1,234.5`. Nothing is rounded: returns undefined if the text is not an
 * amount, is zero, or has more decimals than the currency.
 */
export function parseAmount(text: string, currency: string): number | undefined {
  const match = /^(\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.(\d*))?$/.exec(text.trim());
  const [, whole = '', fraction = ''] = match ?? [];
  const decimals = decimalsOf(currency);
  if (match === null || fraction.length > decimals) return undefined;
  const minorUnits = Number(whole.replaceAll(',', '') + fraction.padEnd(decimals, '0'));
  return Number.isSafeInteger(minorUnits) && minorUnits > 0 ? minorUnits : undefined;
}

/** Formats a count with separators: `12,345`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

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

/** A typed amount: its whole part, which may have separators, and its decimals. */
const TYPED = /^(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d*))?$/;

/**
 * Returns the minor units of a typed amount, such as `1,234.5`. Nothing is rounded: returns undefined if the text is not an
 * amount, is below the minimum, or has more decimals than the currency.
 */
export function parseAmount(text: string, currency: string, minimum: 0 | 1 = 1): number | undefined {
  const match = TYPED.exec(text.trim());
  const [, whole = '', fraction = ''] = match ?? [];
  const decimals = decimalsOf(currency);
  if (match === null || fraction.length > decimals) return undefined;
  const minorUnits = Number(whole.replaceAll(',', '') + fraction.padEnd(decimals, '0'));
  return Number.isSafeInteger(minorUnits) && minorUnits >= minimum ? minorUnits : undefined;
}

/** Says why a typed text is not an amount. Returns undefined for an amount, and for an empty text. */
export function problemOfAmount(text: string, currency: string, minimum: 0 | 1 = 1): string | undefined {
  const typed = text.trim();
  if (typed === '' || parseAmount(typed, currency, minimum) !== undefined) return undefined;
  const decimals = decimalsOf(currency);
  const [, whole = '', fraction = ''] = TYPED.exec(typed) ?? [];
  if (whole === '') {
    return /^\d+,\d{1,2}$/.test(typed) && decimals > 0
      ? `Write the decimals after a point: ${typed.replace(',', '.')}.`
      : `Enter an amount, such as ${formatDigits(15n * 10n ** BigInt(decimals + 2), currency)}.`;
  }
  if (fraction.length > decimals) {
    return decimals === 0 ? `${currency} has no decimals.` : `${currency} has only ${decimals} decimals.`;
  }
  return /[1-9]/.test(typed) ? 'This amount is too large.' : 'Enter more than zero.';
}

/** Formats a count with separators: `12,345`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

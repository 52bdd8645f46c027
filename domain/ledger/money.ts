import { redactCardNumbers } from '../cards/card-number.ts';

const BY_EXPONENT: Readonly<Record<number, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  2:
    'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW ' +
    'CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF ' +
    'IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK ' +
    'MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP ' +
    'SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER ' +
    'ZAR ZMW ZWG',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};

/**
 * ISO 4217 currencies and the number of decimal digits of their minor unit. The table is our own: `Intl` returns the decimals
 * that a locale prints (none for IQD, HUF, COP and others), not the decimals in the standard and in card messages.
 */
export const CURRENCY_EXPONENTS: Readonly<Record<string, number>> = Object.freeze(
  Object.fromEntries(
    Object.entries(BY_EXPONENT).flatMap(([exponent, codes]) => codes.split(' ').map((code) => [code, +exponent])),
  ),
);

/** Smallest amount of a transfer, in minor units of its currency. */
export const MINIMUM_AMOUNT = 1n;

/** Largest amount of a transfer, in minor units: the twelve digits that a card message can carry. */
export const MAXIMUM_AMOUNT = 999_999_999_999n;

/** Largest absolute value of a balance, in minor units: 2^53 - 1, so that every JSON reader reads it exactly. */
export const MAXIMUM_BALANCE = 9_007_199_254_740_991n;

/** An amount as the caller wrote it: the digits of a JSON number, or the content of a JSON string. */
export type AmountAsSent = { readonly source: string; readonly quoted: boolean };

/** An amount, or the reason why it is invalid. */
export type AmountReading = { readonly amount: bigint } | { readonly problem: string };

const DIGITS = /^[0-9]{1,19}$/;

/**
 * Reads an amount in minor units (1 to 999,999,999,999) from exactly the characters that were sent. Never rounds and never
 * guesses: `85.5`, `"85.50"`, `1e3`, `-0` and `0` are problems, not amounts.
 */
export function readAmount(sent: AmountAsSent): AmountReading {
  const shown = sent.quoted ? `"${shorten(sent.source)}"` : shorten(sent.source);
  const rule = `must be a whole number of minor units (cents, for USD) from ${MINIMUM_AMOUNT} to ${MAXIMUM_AMOUNT}`;
  if (!DIGITS.test(sent.source))
    return { problem: `'amount' is ${shown}, but it ${rule}, such as 8550 for 85.50 USD.` };
  if (sent.source.length > 1 && sent.source.startsWith('0')) {
    return { problem: `'amount' is ${shown}, but it ${rule}, written without leading zeros.` };
  }
  const amount = BigInt(sent.source);
  if (amount < MINIMUM_AMOUNT || amount > MAXIMUM_AMOUNT) return { problem: `'amount' is ${shown}, but it ${rule}.` };
  return { amount };
}

/**
 * Formats an amount of minor units for people, such as `85.50 USD` or `1,200 JPY`. For messages only. Without the commas between
 * the thousands, an amount with as many digits as a card number could be taken for one and removed from the message.
 */
export function formatMoney(amount: bigint, currency: string): string {
  const exponent = CURRENCY_EXPONENTS[currency] ?? 0;
  const sign = amount < 0n ? '-' : '';
  const digits = (amount < 0n ? -amount : amount).toString().padStart(exponent + 1, '0');
  const whole = digits.slice(0, digits.length - exponent).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
  return `${sign}${whole}${exponent === 0 ? '' : '.'}${digits.slice(digits.length - exponent)} ${currency}`;
}

/** Whether `currency` is an ISO 4217 code that this service keeps accounts in. */
export function isCurrency(currency: string): boolean {
  return Object.hasOwn(CURRENCY_EXPONENTS, currency);
}

/**
 * Minor units as a JSON integer. No stored amount or balance exceeds {@link MAXIMUM_BALANCE} in either direction, so nothing is
 * lost. A larger value is a bug and throws.
 */
export function toWire(amount: bigint): number {
  if (amount > MAXIMUM_BALANCE || amount < -MAXIMUM_BALANCE) throw new RangeError('an amount passed 2^53 - 1');
  return Number(amount);
}

/**
 * A sum of amounts in minor units. Unlike a single amount it can exceed {@link MAXIMUM_BALANCE}. It is a JSON integer as long as
 * every JSON reader reads it exactly, and otherwise a string of its digits.
 */
export function toWireSum(sum: bigint): number | string {
  return sum > MAXIMUM_BALANCE || sum < -MAXIMUM_BALANCE ? sum.toString() : Number(sum);
}

/** Removes card numbers before truncation, because a truncated card number could not be recognized. */
function shorten(text: string): string {
  const shown = redactCardNumbers(text);
  return shown.length > 40 ? `${shown.slice(0, 40)}…` : shown;
}

/**
 * Whether a change takes the available funding, in minor units, below the threshold: the funding is not below the threshold
 * `before` the change, but is `after` it. Always false without a threshold (null).
 */
export function fallsBelowThreshold(before: bigint, after: bigint, threshold: bigint | null): boolean {
  return threshold !== null && before >= threshold && after < threshold;
}

import { InvalidArgumentError } from 'commander';
import { CURRENCY_EXPONENTS } from '../domain/ledger/money.ts';
import { InvalidArgument } from '../sdk/client.ts';

/** A typed amount: its minor units, and its currency if that was typed too. */
export type TypedAmount = { readonly minorUnits: string; readonly currency: string | undefined };

export const AMOUNT_HELP = 'amount: "10.00 USD", or in minor units, 1000';

const MONEY = /^(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))? ?([A-Za-z]{3})$/;

/**
 * Reads an amount: minor units, which the service validates, or an amount as people write it, with its currency and all of its
 * decimals. An ambiguous amount is refused. Digits stay text: an amount is never a floating-point number.
 */
export function readAmount(text: string): TypedAmount {
  if (/^\d+$/.test(text)) return { minorUnits: text, currency: undefined };
  const [, written, decimals = '', letters = ''] = MONEY.exec(text) ?? [];
  if (written === undefined) throw new InvalidArgumentError(refusalOf(text));
  const whole = written.replaceAll(',', '');
  const currency = letters.toUpperCase();
  const exponent = CURRENCY_EXPONENTS[currency];
  if (exponent === undefined) throw new InvalidArgumentError(`${currency} is not a currency of the service.`);
  if (decimals.length !== exponent) throw new InvalidArgumentError(wrongDecimals(whole, decimals, currency, exponent));
  return { minorUnits: `${whole}${decimals}`.replace(/^0+(?=\d)/, ''), currency };
}

/** `10.00` could be ten dollars, or a mistake for ten minor units. Only a currency makes it clear. */
function refusalOf(text: string): string {
  if (/^\d+\.\d+$/.test(text)) {
    const [whole = '', decimals = ''] = text.split('.');
    const minor = decimals.length === 2 ? `, or ${`${whole}${decimals}`.replace(/^0+(?=\d)/, '')} in minor units` : '';
    return `It has decimals and no currency: type "${text} USD" with your currency${minor}.`;
  }
  if (/^[\d.,' ]+([A-Za-z]{3})?$/.test(text) && /\d[,' .]\d/.test(text)) {
    return 'Type it with a decimal point, and with commas between thousands or none, such as "1,250.00 USD", or 125000.';
  }
  return 'It must be minor units such as 1000, or an amount with its currency such as "10.00 USD".';
}

function wrongDecimals(whole: string, decimals: string, currency: string, exponent: number): string {
  if (exponent === 0) return `${currency} has no decimals: type "${whole} ${currency}".`;
  const meant = `${whole}.${decimals.padEnd(exponent, '0')} ${currency}`;
  const rule = `${currency} has ${exponent} decimals`;
  if (decimals === '') return `${rule}: type "${meant}", or ${whole} without the currency for minor units.`;
  return decimals.length < exponent ? `${rule}: type "${meant}".` : `${rule}, and this has ${decimals.length}.`;
}

/** Returns the fields of a request for a typed amount. Throws InvalidArgument if `--currency` names a different currency. */
export function amountFields(
  typed: TypedAmount,
  currency: string | undefined,
): { readonly amount: string; readonly currency?: string } {
  if (typed.currency !== undefined && currency !== undefined && typed.currency !== currency) {
    throw new InvalidArgument(`--amount is in ${typed.currency}, and --currency is ${currency}`);
  }
  const known = typed.currency ?? currency;
  return { amount: typed.minorUnits, ...(known === undefined ? {} : { currency: known }) };
}

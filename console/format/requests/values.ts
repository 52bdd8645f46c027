import { formatAmount } from '../amounts.ts';

/** A value of a check or of a request, ready for display. */
export type ShownValue = {
  readonly name: string;
  readonly text: string;
  /** A moment is shown in the user's time zone, and a card's id as its name. Objects and arrays (`parts`) keep their lines. */
  readonly kind: 'text' | 'moment' | 'card' | 'parts';
};

/** The names of amounts in minor units: of the request, an account or a limit. */
const AMOUNT_NAMES = /(^|_)(amount|balance)$|^(available|held|incoming|captured|reversed)$/;

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

const USED_OF_LIMIT = /^(\d+) of (\d+) used$/;

/** An amount with its currency in a message, such as `1,250.00 USD`. */
const MONEY_IN_TEXT = /(?<![\d.,])\d[\d,]*(?:\.\d+)? ([A-Z]{3})\b/g;

/** The parts of an error that show the currency of its values. */
type Checked = {
  readonly code: string;
  readonly message: string;
  readonly request: Readonly<Record<string, unknown>> | null;
};

/**
 * Returns the currency of an error's amounts: from an amount in its message, or else from its request. Quoted names are
 * ignored, because they come from callers.
 */
export function currencyOfError({ code, message, request }: Checked): string | undefined {
  // The amount in this message is only an example, and may not be in the card's currency.
  const plain = code === 'invalid_amount' ? '' : message.replaceAll(/'[^']*'/g, '');
  const named = new Set([...plain.matchAll(MONEY_IN_TEXT)].map(([, currency]) => currency));
  if (named.size > 0) return named.size === 1 ? [...named][0] : undefined;
  const sent = request?.currency;
  return typeof sent === 'string' && /^[A-Z]{3}$/.test(sent) ? sent : undefined;
}

/**
 * Returns names and values for display, with amounts as money if the currency is known. Null values were not set and are left
 * out. `sent` is the currency of the request's amount, if it may differ from the card's.
 */
export function shownValues(
  values: Readonly<Record<string, unknown>>,
  currency: string | undefined,
  sent = currency,
): readonly ShownValue[] {
  return Object.entries(values)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => {
      const own = name === 'amount' ? sent : currency;
      return { name: name.replaceAll('_', ' '), ...shownValue(name, value, own) };
    });
}

function shownValue(name: string, value: unknown, currency: string | undefined): Omit<ShownValue, 'name'> {
  if (typeof value === 'boolean') return { text: value ? 'yes' : 'no', kind: 'text' };
  if (typeof value === 'object') return { text: JSON.stringify(value, null, 1), kind: 'parts' };
  const text = String(value);
  if (name === 'card_id' || name === 'destination_card_id') return { text, kind: 'card' };
  if (MOMENT.test(text)) return { text, kind: 'moment' };
  if (!AMOUNT_NAMES.test(name)) return { text, kind: 'text' };
  const [, used, limit] = USED_OF_LIMIT.exec(text) ?? [];
  if (used !== undefined && limit !== undefined) {
    return { text: `${money(used, currency)} of ${money(limit, currency)} used`, kind: 'text' };
  }
  return { text: /^-?\d+$/.test(text) ? money(text, currency) : text, kind: 'text' };
}

/** Formats an amount. Without a currency the number of decimals is unknown, so it says minor units. */
function money(minorUnits: string, currency: string | undefined): string {
  return currency === undefined ? `${minorUnits} minor units` : formatAmount(minorUnits, currency);
}

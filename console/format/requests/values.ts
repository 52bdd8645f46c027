import { formatAmount } from '../amounts.ts';

/** A value of a check or of a request as a reader sees it. */
export type ShownValue = {
  readonly name: string;
  readonly text: string;
  /** A moment is shown in the reader's time zone, the id of a card as its name; objects and arrays (`parts`) keep their lines. */
  readonly kind: 'text' | 'moment' | 'card' | 'parts';
};

/** Values that are amounts in minor units: of the request, an account or a limit. */
const AMOUNT_NAMES = /(^|_)(amount|balance)$|^(available|held|incoming|captured|reversed)$/;

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

const USED_OF_LIMIT = /^(\d+) of (\d+) used$/;

/** An amount with its currency in a message, such as `1,250.00 USD`. */
const MONEY_IN_TEXT = /(?<![\d.,])\d[\d,]*(?:\.\d+)? ([A-Z]{3})\b/g;

/** The parts of an error that say in which currency its values are. */
type Checked = {
  readonly code: string;
  readonly message: string;
  readonly request: Readonly<Record<string, unknown>> | null;
};

/** The currency of an error's amounts: of the money in its message, or else of its request. Quoted names come from callers, and are ignored. */
export function currencyOfError({ code, message, request }: Checked): string | undefined {
  // The money in this message is an example, whatever the currency of the card.
  const plain = code === 'invalid_amount' ? '' : message.replaceAll(/'[^']*'/g, '');
  const named = new Set([...plain.matchAll(MONEY_IN_TEXT)].map(([, currency]) => currency));
  if (named.size > 0) return named.size === 1 ? [...named][0] : undefined;
  const sent = request?.currency;
  return typeof sent === 'string' && /^[A-Z]{3}$/.test(sent) ? sent : undefined;
}

/**
 * Names and values for people: amounts as money if the currency is known. Null values, which were not set, are omitted.
 * `sent` is the currency of the amount of the request, if it may be another than that of the card.
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

/** Without a currency the number of decimals is unknown, so the amount is labelled as minor units. */
function money(minorUnits: string, currency: string | undefined): string {
  return currency === undefined ? `${minorUnits} minor units` : formatAmount(minorUnits, currency);
}

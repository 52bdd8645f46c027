import { money } from '../../output.ts';
import { plainTime } from '../../times.ts';

/** An amount with its currency in a message, such as `1,250.00 USD`. */
const MONEY_IN_TEXT = /(?<![\d.,])\d[\d,]*(?:\.\d+)? ([A-Z]{3})\b/g;

const QUOTED = /'[^']*'/g;

/** Values that are amounts in minor units: of the request, the account or a limit. */
const AMOUNT_NAMES = /(^|_)(amount|balance)$|^(available|held|incoming|captured|reversed)$/;

/** Milliseconds since 1970, which services of earlier versions show. */
const MILLISECONDS = /^\d{13}$/;

const TIME_NAMES = /^(now|until)$|_(at|for)$/;

const USED_OF_LIMIT = /^(\d+) of (\d+) used$/;

type Checked = {
  readonly message?: string;
  readonly request?: Readonly<Record<string, unknown>> | null;
  readonly checks?: Readonly<Record<string, unknown>> | null;
};

/** Returns the values of a failed check as people read them: times in words, and amounts as money if the currency is known. */
export function shownChecks(error: Checked): Readonly<Record<string, unknown>> | null {
  const { checks } = error;
  if (checks === null || checks === undefined) return null;
  const currency = currencyOf(error);
  return Object.fromEntries(
    Object.entries(checks).map(([name, value]) => [name, shownValue(name, value, currency)] as const),
  );
}

function shownValue(name: string, value: unknown, currency: string | undefined): unknown {
  if (TIME_NAMES.test(name) && MILLISECONDS.test(String(value)))
    return plainTime(new Date(Number(value)).toISOString());
  if (currency === undefined || !AMOUNT_NAMES.test(name)) return value;
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const text = String(value);
  const [, used, limit] = USED_OF_LIMIT.exec(text) ?? [];
  if (used !== undefined && limit !== undefined) {
    return `${money(used, currency)} of ${money(limit, currency)} used`;
  }
  return /^-?\d+$/.test(text) ? money(text, currency) : value;
}

/** Returns the currency in the message, or else the request's. Quoted names are ignored, because they come from callers. */
function currencyOf({ message = '', request }: Checked): string | undefined {
  const named = new Set([...message.replaceAll(QUOTED, '').matchAll(MONEY_IN_TEXT)].map(([, currency]) => currency));
  if (named.size > 0) return named.size === 1 ? [...named][0] : undefined;
  return typeof request?.currency === 'string' ? request.currency : undefined;
}

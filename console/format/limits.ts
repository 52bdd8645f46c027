import { LIMIT_NAMES } from '../../sdk/client.ts';
import { formatDigits, parseAmount, problemOfAmount } from './amounts.ts';

export type LimitName = (typeof LIMIT_NAMES)[number];

/** The limits of both directions, in the format of the API. */
export type Limits = {
  readonly in?: Readonly<Partial<Record<LimitName, number>>>;
  readonly out?: Readonly<Partial<Record<LimitName, number>>>;
  readonly maximum_balance?: number;
};

/** The values of a form for limits, by field: `in.daily_amount`. An empty field means no limit. */
export type LimitFields = Readonly<Record<string, string>>;

const DIRECTIONS = ['in', 'out'] as const;

/** Returns a limit in words: `daily amount`. */
export function limitText(name: string): string {
  return name.replaceAll('_', ' ');
}

/** Formats a limit for a form: an amount in the currency, or a count. */
export function limitValue(name: string, value: number, currency: string): string {
  return name.endsWith('_count') ? String(value) : formatDigits(value, currency);
}

export function toFields(limits: Limits | null, currency: string, hasBalance: boolean): LimitFields {
  const both = DIRECTIONS.flatMap((direction) =>
    LIMIT_NAMES.map((name) => {
      const value = limits?.[direction]?.[name];
      return [`${direction}.${name}`, value === undefined ? '' : limitValue(name, value, currency)] as const;
    }),
  );
  const balance = limits?.maximum_balance;
  const most = balance === undefined ? '' : formatDigits(balance, currency);
  return Object.fromEntries([...both, ...(hasBalance ? [['maximum_balance', most] as const] : [])]);
}

/** A change of limits. A number sets a limit, null removes it, and missing limits are unchanged. */
export type LimitsChange = {
  in?: Partial<Record<LimitName, number | null>>;
  out?: Partial<Record<LimitName, number | null>>;
  maximum_balance?: number | null;
};

/** Returns the change from one form to another, or the problems of its fields. */
export function readChange(
  before: LimitFields,
  after: LimitFields,
  currency: string,
): { readonly change: LimitsChange; readonly problems: Readonly<Record<string, string>> } {
  const change: LimitsChange = {};
  const problems: Record<string, string> = {};
  for (const [field, text] of Object.entries(after)) {
    if (text.trim() === (before[field] ?? '')) continue;
    const value = text.trim() === '' ? null : readLimit(field, text, currency);
    if (value === undefined) {
      problems[field] = field.endsWith('_count')
        ? 'Enter a whole number, such as 5, or nothing for no limit.'
        : (problemOfAmount(text, currency, 0) ?? '');
      continue;
    }
    const [direction, name] = field.split('.');
    if (name === undefined) change.maximum_balance = value;
    else if (direction === 'in' || direction === 'out') {
      change[direction] = { ...change[direction], [name as LimitName]: value };
    }
  }
  return { change, problems };
}

/** Returns minor units or a count, or undefined for any other text. Zero is a limit: it allows nothing. */
function readLimit(field: string, text: string, currency: string): number | undefined {
  if (!field.endsWith('_count')) return parseAmount(text, currency, 0);
  return /^\d{1,12}$/.test(text.trim()) ? Number(text.trim()) : undefined;
}

export function rowsOf(
  limits: Limits | null,
): readonly { readonly direction: string; readonly name: string; readonly value: number }[] {
  const rows = DIRECTIONS.flatMap((direction) =>
    LIMIT_NAMES.flatMap((name) => {
      const value = limits?.[direction]?.[name];
      return value === undefined ? [] : [{ direction, name, value }];
    }),
  );
  const balance = limits?.maximum_balance;
  return balance === undefined ? rows : [...rows, { direction: '', name: 'maximum_balance', value: balance }];
}

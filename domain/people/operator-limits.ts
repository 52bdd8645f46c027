import { CURRENCY_EXPONENTS, formatMoney, isCurrency, MAXIMUM_BALANCE } from '../ledger/money.ts';
import { Refusal } from '../refusal.ts';

// Invariant: The sum of one person's withdrawals and reversals in a day never exceeds OPERATOR_DAILY_LIMITS
// Kept by: `countMovement`, under the lock of the person's name
// Tested by: `domain/people/operator-limits.test.ts`, `test/api/operator-limits.test.ts`

/** The maximum that one person may withdraw and reverse in a day, in minor units by currency. Other currencies have no limit. */
export type OperatorLimits = ReadonlyMap<string, bigint>;

/**
 * Reads the setting OPERATOR_DAILY_LIMITS, such as `USD 50000.00, JPY 4000000`. Returns the problem as a sentence if the setting
 * is invalid.
 */
export function readOperatorLimits(text: string): OperatorLimits | string {
  const limits = new Map<string, bigint>();
  for (const entry of text.split(',').map((part) => part.trim())) {
    const [, currency, whole = '', decimals = ''] = /^([A-Z]{3}) +(\d{1,16})(?:\.(\d{1,4}))?$/.exec(entry) ?? [];
    if (currency === undefined)
      return `The entry '${entry}' is not a currency code, a space and an amount without commas.`;
    const exponent = CURRENCY_EXPONENTS[currency] ?? 0;
    if (!isCurrency(currency)) return `The currency '${currency}' is not in ISO 4217.`;
    if (decimals !== '' && decimals.length !== exponent) {
      return `The amount of '${entry}' has ${decimals.length} decimal${decimals.length === 1 ? '' : 's'}, and ${currency} has ${exponent}.`;
    }
    if (limits.has(currency)) return `The currency ${currency} has two limits.`;
    const limit = BigInt(whole + decimals.padEnd(exponent, '0'));
    if (limit > MAXIMUM_BALANCE) return `The amount of '${entry}' is above ${formatMoney(MAXIMUM_BALANCE, currency)}.`;
    limits.set(currency, limit);
  }
  return limits;
}

/** Formats limits as the setting has them. */
export function operatorLimitsText(limits: OperatorLimits): string {
  return [...limits]
    .map(([currency, limit]) => {
      const [amount = ''] = formatMoney(limit, currency).split(' ');
      return `${currency} ${amount.replaceAll(',', '')}`;
    })
    .join(', ');
}

/** The total of one person's withdrawals and reversals in one currency, on the last day that had any. */
export type CountedMovement = {
  /** The person, as the audit log names them. */
  readonly actor: string;
  readonly currency: string;
  /** When the day began in UTC, in milliseconds since 1970. */
  readonly dayStart: number;
  /** In minor units. */
  readonly amount: bigint;
};

/** A withdrawal or a reversal by a person. The amount is in minor units, the time in milliseconds since 1970. */
export type OperatorMovement = Pick<CountedMovement, 'actor' | 'currency' | 'amount'> & {
  readonly kind: 'withdrawal' | 'reversal';
  readonly now: number;
};

const DAY = 24 * 60 * 60 * 1000;

/**
 * Returns the person's total with one more movement, or the refusal `operator_limit_exceeded`. Undefined if the currency has no
 * limit, so that nothing is counted. `before` is the stored total, which may be of an earlier day.
 */
export function countMovement(
  limits: OperatorLimits,
  before: CountedMovement | undefined,
  { actor, currency, amount, kind, now }: OperatorMovement,
): CountedMovement | Refusal | undefined {
  const limit = limits.get(currency);
  if (limit === undefined) return undefined;
  const dayStart = now - (now % DAY);
  const used = before?.dayStart === dayStart ? before.amount : 0n;
  const left = limit > used ? limit - used : 0n;
  if (amount <= left) return { actor, currency, dayStart, amount: used + amount };
  const money = (value: bigint): string => formatMoney(value, currency);
  const ends = new Date(dayStart + DAY).toISOString().replace('.000Z', 'Z');
  const message =
    `You may withdraw and reverse ${money(limit)} per day: ${money(used)} used, ${money(left)} left; this ${kind} is for ` +
    `${money(amount)}. The limit is the setting OPERATOR_DAILY_LIMITS and resets at ${ends}.`;
  const saw = { amount, operator_daily_limit: { used, limit } };
  return new Refusal('operator_limit_exceeded', message, { field: '/amount', saw });
}

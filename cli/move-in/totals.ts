import { StatedTotal as StatedTotalSchema } from '../../contract/move-ins.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/reading/json.ts';
import { type Problem, readFields } from '../../contract/reading/read-fields.ts';
import { isCurrency } from '../../domain/ledger/money.ts';
import type { MoveInTotals } from '../../domain/move-in.ts';
import type { CreateMoveInBody as SentMoveIn } from '../../sdk/client.ts';

/** The sums of a currency, as a line of the file states them. */
export type StatedTotal = NonNullable<SentMoveIn['totals']>[number];

/** The fields of a line that states the sums of a currency, in addition to its kind. */
export const TOTAL_FIELDS: readonly string[] = Object.keys(StatedTotalSchema.properties);

/** Whether a line states the sums of a currency. */
export function isTotal(value: JsonValue): value is JsonObject {
  return isJsonObject(value) && value.kind === 'total';
}

/** Reads a line with the sums of a currency, or returns its problem. `before` has the sums of the earlier lines. */
export function readTotal(
  { kind: _, ...sent }: JsonObject,
  before: readonly StatedTotal[],
): StatedTotal | { readonly problem: Problem } {
  const reading = readFields(StatedTotalSchema, sent, 'body');
  if ('problem' in reading) return reading;
  const { currency } = reading.fields;
  const problem = (message: string) => ({ problem: { field: '/currency', message } });
  if (!isCurrency(currency)) {
    return problem(`'currency' is '${currency}', which is not an ISO 4217 currency code, such as USD, EUR or JPY.`);
  }
  if (before.some((total) => total.currency === currency)) {
    return problem(`The file states the sums of ${currency} twice.`);
  }
  return reading.fields;
}

/** The stated sums by currency. */
export function byCurrency(totals: readonly (Omit<StatedTotal, 'balance' | 'held'> & Sums)[]): MoveInTotals {
  return Object.fromEntries(
    totals.map(({ currency, cards, balance, holds, held }) => [
      currency,
      { cards, balance: String(balance), holds, held: String(held) },
    ]),
  );
}

type Sums = { readonly balance: number | string; readonly held: number | string };

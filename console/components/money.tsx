import { formatDigits } from '../format/amounts.ts';

/** Shows an amount in minor units, with its currency. `signed` shows incoming amounts with a plus. */
export function Money({
  amount,
  currency,
  signed = false,
}: {
  readonly amount: number | bigint | string | null | undefined;
  readonly currency: string;
  readonly signed?: boolean;
}) {
  if (amount === null || amount === undefined) return <span class="quiet none">–</span>;
  const plus = signed && !String(amount).startsWith('-') && String(amount) !== '0' ? '+' : '';
  return (
    <span class="money">
      {plus}
      {formatDigits(amount, currency)} <span class="currency">{currency}</span>
    </span>
  );
}

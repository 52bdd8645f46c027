/** What a failed call says about the money, in one sentence. */
export function moneySentence(moneyMoved: 'no' | 'yes' | 'unknown'): string {
  if (moneyMoved === 'no') return 'No money moved.';
  if (moneyMoved === 'yes') return 'Money moved.';
  return 'It is not known whether money moved. Send the same request again: with the same idempotency key it moves money at most once.';
}

/** A range of card numbers that issuers use: the first and last six-digit prefix, and the lengths in use. */
type IssuerRange = { readonly from: string; readonly to: string; readonly lengths: readonly number[] };

const FROM_13 = [13, 14, 15, 16, 17, 18, 19];
const FROM_14 = [14, 15, 16, 17, 18, 19];
const FROM_16 = [16, 17, 18, 19];

/**
 * Issuer identification numbers (ISO/IEC 7812) as the networks publish them. A range that several networks share is wide,
 * because a card number outside every range is stored. No range starts with 1 or 20. Milliseconds since 1970 and dates start that
 * way, alone or followed by a counter, and are common in keys and references. As a result the travel accounts of airlines (UATP)
 * are missed: they start with 1, but are rare.
 */
const ISSUER_RANGES: readonly IssuerRange[] = [
  // The old JCB.
  { from: '213100', to: '213199', lengths: [15] },
  // Mir and the adjacent ranges, then Mastercard's second series.
  { from: '220000', to: '220599', lengths: FROM_16 },
  { from: '222100', to: '272099', lengths: [16] },
  // Diners Club, American Express, JCB.
  { from: '300000', to: '305999', lengths: FROM_14 },
  { from: '309500', to: '309599', lengths: FROM_14 },
  { from: '340000', to: '349999', lengths: [15] },
  { from: '352800', to: '358999', lengths: FROM_16 },
  { from: '360000', to: '369999', lengths: FROM_14 },
  { from: '370000', to: '379999', lengths: [15] },
  { from: '380000', to: '399999', lengths: FROM_14 },
  // Visa.
  { from: '400000', to: '499999', lengths: [13, 16, 19] },
  // Maestro and national cards on either side of Mastercard.
  { from: '500000', to: '509999', lengths: FROM_13 },
  { from: '510000', to: '559999', lengths: [16] },
  { from: '560000', to: '589999', lengths: FROM_13 },
  // Maestro, Discover, UnionPay, RuPay, Elo, Hipercard, Verve, Troy.
  { from: '600000', to: '699999', lengths: FROM_13 },
  // RuPay, UnionPay, UzCard.
  { from: '810000', to: '829999', lengths: FROM_16 },
  { from: '860000', to: '860099', lengths: [16] },
  // mada, Napas, Troy, Humo.
  { from: '968200', to: '968299', lengths: [16] },
  { from: '970400', to: '970499', lengths: [16, 19] },
  { from: '979200', to: '979299', lengths: [16] },
  { from: '986000', to: '986099', lengths: [16] },
];

/** First digits of the ranges. No range spans two of them. */
const FIRST_DIGITS: ReadonlySet<string> = new Set(ISSUER_RANGES.map(({ from }) => from.charAt(0)));

/** Whether any issuer's numbers start with this digit. Checked first, because it rules out most texts. */
export function isFirstIssuerDigit(digit: string): boolean {
  return FIRST_DIGITS.has(digit);
}

/** Whether an issuer uses numbers of this length that start with these six digits. */
export function isInIssuerRange(firstSix: string, length: number): boolean {
  return ISSUER_RANGES.some(({ from, to, lengths }) => firstSix >= from && firstSix <= to && lengths.includes(length));
}

/** At least 12 digits with only spaces and punctuation between them, as people write card numbers. */
const RUN = /[0-9](?:[^0-9A-Za-z]{0,3}[0-9]){11,}/g;

/**
 * Whether some text contains a card number. The console never sends such text: the service would refuse it, but only after it has
 * crossed the network. Ids of the service contain long runs of digits but are not card numbers.
 */
export function hasCardNumber(text: string): boolean {
  const plain = text.normalize('NFKC').replaceAll(/\b[a-z]+_[0-9a-f]{32}\b/g, '');
  return (plain.match(RUN) ?? []).some((run) => {
    const digits = run.replaceAll(/[^0-9]/g, '');
    if (digits.length <= 19) return isCardNumber(digits);
    return [...digits].some((_, at) => [15, 16].some((length) => isCardNumber(digits.slice(at, at + length))));
  });
}

/** The same patterns as in `server/foundation/redaction.ts`: keys, even part of one, and webhook secrets. */
const KEY = /(?<![0-9a-z])ts_(?:[^\s"'\\/?&,;<>]{16,}|[0-9a-f]{6,})|whsec_[\w+/=-]{8,}/i;

/** Whether some text contains an API key, even a mistyped or truncated one, or a webhook secret. */
export function hasKey(text: string): boolean {
  return KEY.test(text);
}

/** Whether there are 12 to 19 digits, from an industry that issues cards, with a valid check digit. */
function isCardNumber(digits: string): boolean {
  if (!/^[1-9][0-9]{11,18}$/.test(digits)) return false;
  let sum = 0;
  for (const [at, digit] of [...digits].reverse().entries()) {
    const value = Number(digit) * (at % 2 === 1 ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}

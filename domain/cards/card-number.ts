/** A range of characters: `start` is its first character, `end` the first one after it. */
export type Span = { readonly start: number; readonly end: number };

export const REDACTED = '[redacted]';

/** Minimum and maximum number of digits of a card number (ISO/IEC 7812). */
const MIN_DIGITS = 13;
const MAX_DIGITS = 19;

/** Maximum number of characters between two groups of digits: "4111 - 1111" is still read as one number. */
const MAX_SEPARATORS = 3;

/** Separators between two digits of one number, once {@link withPlainDigits} has normalized blanks, dashes and dots. */
const SEPARATORS = '\\t\\n\\r .\\-';

/**
 * A quick test before the search: thirteen digits with only separators between them. From any position it matches or fails within
 * about fifty characters, so the search takes linear time.
 */
const CANDIDATE = new RegExp(`(?<![0-9a-z])[0-9](?:[${SEPARATORS}]{0,${MAX_SEPARATORS}}[0-9]){${MIN_DIGITS - 1}}`, 'i');

/** Thirteen digits of any kind, anywhere. Most non-ASCII text has fewer. */
const DIGITS_OF_ANY_KIND = /(?:[\p{Nd}\p{No}][^\p{Nd}\p{No}]*){13}/u;

/** A number with an exponent, such as 4111111111111111e0. The bounds keep the search linear. */
const WITH_EXPONENT = /(?<![0-9a-z.])([0-9]{1,40})(?:\.([0-9]{1,40}))?e([+-]?[0-9]{1,3})(?![0-9a-z])/gi;

/** Minimum number of digits before an exponent: one more than a group of a UUID can have before an `e`. */
const MIN_MANTISSA_DIGITS = 11;

/** A UUID never counts as a card number, even if all its digits fit. */
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-z])/iy;
const UUID_LENGTH = 36;

/** Maximum number of digits of an international telephone number (E.164). */
const MAX_TELEPHONE_DIGITS = 15;

/** The possible form of a printed bank account number: country, check digits, and groups of four (ISO 13616). */
const PRINTED_IBAN = /(?<![0-9a-z])[a-z]{2}[0-9]{2}(?: [0-9a-z]{1,4}){3,8}/gi;

/**
 * Finds text that looks like a card number: 13 to 19 digits with a valid check digit (Luhn), in one piece or in groups separated
 * by blanks, dashes or dots. No letter or digit may touch it, so ids of this service (a prefix and 32 hex digits) and UUIDs never
 * match. Takes time linear in the length of the text.
 */
export function findCardNumbers(written: string): readonly Span[] {
  const plain = readPlainly(written);
  if (plain === undefined) return [];
  const { text, startOf, endOf } = plain;
  const found: Span[] = [];
  for (const groups of groupsIn(text)) addNumbers(text, groups, found);
  for (const { span, digits } of exponentsIn(text)) {
    if (hasCardNumber(digits)) insertSpan(found, span);
  }
  return found.map(({ start, end }) => ({ start: startOf(start), end: endOf(end - 1) }));
}

/** The text to search. Undefined if it cannot contain a card number, which is the usual case. */
function readPlainly(written: string): PlainText | undefined {
  if (written.length < MIN_DIGITS) return undefined;
  const isCandidate = isAsciiCandidate(written);
  if (isCandidate === false || (isCandidate === undefined && !DIGITS_OF_ANY_KIND.test(written))) return undefined;
  const plain = withPlainDigits(written);
  WITH_EXPONENT.lastIndex = 0;
  return CANDIDATE.test(plain.text) || WITH_EXPONENT.test(plain.text) ? plain : undefined;
}

/** How much of a mantissa of {@link WITH_EXPONENT} has been read: nothing, its digits, or digits after its point. */
type Mantissa = 'none' | 'digits' | 'point';

/**
 * Whether ASCII text has thirteen digits and contains anything that {@link CANDIDATE} or {@link WITH_EXPONENT} could match.
 * Undefined for non-ASCII text. This loop is several times faster than those expressions, and it runs for every id, key and field
 * name of a request.
 */
function isAsciiCandidate(text: string): boolean | undefined {
  let digits = 0;
  let row = 0;
  let longestRow = 0;
  let separators = 0;
  let mantissa = 'none' as Mantissa;
  let isWithinToken = false;
  let hasExponent = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) return undefined;
    if (isDigit(code)) {
      digits += 1;
      row += 1;
      separators = 0;
      if (row > longestRow) longestRow = row;
      if (!isWithinToken) mantissa = 'digits';
      isWithinToken = true;
    } else if (isSeparator(code)) {
      separators += 1;
      if (separators > MAX_SEPARATORS) row = 0;
      mantissa = code === POINT && mantissa === 'digits' ? 'point' : 'none';
      isWithinToken = code === POINT;
    } else {
      row = 0;
      // The letter e, small or capital.
      if ((code | 0x20) === 0x65 && mantissa !== 'none') hasExponent = true;
      mantissa = 'none';
      isWithinToken = isAlphanumeric(code);
    }
  }
  return digits >= MIN_DIGITS && (longestRow >= MIN_DIGITS || hasExponent);
}

const POINT = 0x2e;

/**
 * Whether some text certainly contains a card number: a match of {@link findCardNumbers} in a range that an issuer uses, but not
 * a telephone number after its plus sign, and not part of a printed bank account number. Such text is refused. Text that only
 * looks like a card number is stored, but never shown in a message or a log. Takes time linear in the length of the text.
 */
export function readsAsCardNumber(written: string): boolean {
  const text = readPlainly(written)?.text;
  if (text === undefined) return false;
  if (exponentsIn(text).some(({ digits }) => readsAsCardNumber(digits))) return true;
  let accounts: readonly Span[] | undefined;
  // Runs and accounts are both sorted by position, so an account that ends before a run cannot contain a later run.
  let at = 0;
  for (const groups of groupsIn(text)) {
    for (const run of numbersOf(text, groups)) {
      if (!isIssued(text, run)) continue;
      accounts ??= printedAccounts(text);
      while ((accounts[at]?.end ?? Number.POSITIVE_INFINITY) <= run.start) at += 1;
      const account = accounts[at];
      if (account === undefined || run.start < account.start || account.end < run.end) return true;
    }
  }
  return false;
}

/** The ways to print a card number: in one piece, or in groups of 4-4-4-4 (or more digits), 4-6-5 or 4-6-4. */
const PRINTED = /^"?([0-9]{13,19}|[0-9]{4}(?:([ .-])[0-9]{4}){2,3}\2[0-9]{1,7}|[0-9]{4}([ .-])[0-9]{6}\3[0-9]{4,5})"?$/;

/** A number that ends in milliseconds since 1970, from 2017 to 2033, like many keys that applications generate. */
const ENDS_IN_TIME = /^[0-9]+1[5-9][0-9]{11}$/;

/**
 * Whether an idempotency key is only a card number, in printed groups or in one piece. A counter followed by milliseconds since
 * 1970 is not one, although it can have the same form.
 */
export function isCardNumberAlone(key: string): boolean {
  return PRINTED.test(key) && !ENDS_IN_TIME.test(key) && readsAsCardNumber(key);
}

function* groupsIn(text: string): Generator<readonly Span[]> {
  let at = 0;
  while (at < text.length) {
    if (!isAlphanumeric(text.charCodeAt(at))) {
      at += 1;
      continue;
    }
    if (isUuidAt(text, at)) {
      at += UUID_LENGTH;
      continue;
    }
    const groups = groupsFrom(text, at);
    if (groups.length > 0) yield groups;
    at = groups.at(-1)?.end ?? endOfToken(text, at);
  }
}

/** Whether some text contains what looks like a card number (see {@link findCardNumbers}). */
export function containsCardNumber(text: string): boolean {
  return findCardNumbers(text).length > 0;
}

/** Replaces all text that looks like a card number by {@link REDACTED}. */
export function redactCardNumbers(text: string): string {
  const found = findCardNumbers(text);
  if (found.length === 0) return text;
  let result = '';
  let copied = 0;
  for (const { start, end } of found) {
    result += text.slice(copied, start) + REDACTED;
    copied = end;
  }
  return result + text.slice(copied);
}

/**
 * The groups of digits, with separators between them, that start at a position, or none if a letter touches the first group. A UUID
 * after a separator ends the list.
 */
function groupsFrom(text: string, start: number): readonly Span[] {
  const groups: Span[] = [];
  let at = start;
  for (;;) {
    const end = endOfDigits(text, at);
    if (end === at || isAlphanumeric(text.charCodeAt(end))) return groups;
    groups.push({ start: at, end });
    const next = endOfSeparator(text, end);
    if (next === end || isUuidAt(text, next)) return groups;
    at = next;
  }
}

type Run = Span & { readonly digits: number };

/** Digits after doubling, as in the Luhn algorithm: 16 counts as 1 + 6. */
const DOUBLED = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9];

/**
 * Yields the runs of whole groups that have as many digits as a card number and a valid check digit (Luhn). For each group, the
 * shortest run comes first. For each group that a run can start with, every digit is added only once, so that a megabyte of
 * one-digit groups does not block the process.
 */
function* numbersOf(text: string, groups: readonly Span[]): Generator<Run> {
  for (const [first, { start }] of groups.entries()) {
    let digits = 0;
    // Only the end of the run decides whether the digits at even or at odd positions are doubled.
    let evenDoubled = 0;
    let oddDoubled = 0;
    for (let last = first; last < groups.length; last += 1) {
      const group = groups[last];
      if (group === undefined || digits + group.end - group.start > MAX_DIGITS) break;
      for (let at = group.start; at < group.end; at += 1) {
        const digit = text.charCodeAt(at) - 0x30;
        const doubled = DOUBLED[digit] ?? 0;
        evenDoubled += digits % 2 === 0 ? doubled : digit;
        oddDoubled += digits % 2 === 0 ? digit : doubled;
        digits += 1;
      }
      const sum = digits % 2 === 0 ? evenDoubled : oddDoubled;
      if (digits >= MIN_DIGITS && sum % 10 === 0) yield { start, end: group.end, digits };
    }
  }
}

/** Adds each run of whole groups that is a card number. Overlapping runs become one span. */
function addNumbers(text: string, groups: readonly Span[], found: Span[]): void {
  for (const { start, end } of numbersOf(text, groups)) {
    const before = found.at(-1);
    if (before === undefined || before.end <= start) found.push({ start, end });
    else if (end > before.end) found[found.length - 1] = { start: before.start, end };
  }
}

function isIssued(text: string, { start, digits }: Run): boolean {
  if (!isFirstIssuerDigit(text.charAt(start))) return false;
  if (digits <= MAX_TELEPHONE_DIGITS && text.charAt(start - 1) === '+') return false;
  let firstSix = '';
  for (let at = start; firstSix.length < 6; at += 1) if (isDigit(text.charCodeAt(at))) firstSix += text.charAt(at);
  return isInIssuerRange(firstSix, digits);
}

/** A range of card numbers that issuers use: the first and last six-digit prefix, and the lengths in use. */
type IssuerRange = { readonly from: string; readonly to: string; readonly lengths: readonly number[] };

const FROM_13 = [13, 14, 15, 16, 17, 18, 19];
const FROM_14 = [14, 15, 16, 17, 18, 19];
const FROM_16 = [16, 17, 18, 19];

/**
 * Issuer identification numbers (ISO/IEC 7812) as the networks publish them. Ranges that several networks share are wide on
 * purpose, because a card number outside every range is not recognized and would be stored. No range starts with 1 or 20:
 * milliseconds since 1970 and dates start that way, alone or followed by a counter, and are common in keys and references. As a
 * result, the travel accounts of airlines (UATP) are missed. They start with 1, but are rare.
 */
const ISSUER_RANGES: readonly IssuerRange[] = [
  // A former range of JCB.
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

/** Whether any issuer's numbers start with this digit. Checked first, because it rules out most candidates. */
function isFirstIssuerDigit(digit: string): boolean {
  return FIRST_DIGITS.has(digit);
}

/** Whether an issuer uses numbers of this length that start with these six digits. */
function isInIssuerRange(firstSix: string, length: number): boolean {
  return ISSUER_RANGES.some(({ from, to, lengths }) => firstSix >= from && firstSix <= to && lengths.includes(length));
}

/** The positions of printed bank account numbers with valid check digits. */
function printedAccounts(text: string): readonly Span[] {
  return [...text.matchAll(PRINTED_IBAN)].flatMap(({ 0: printed, index }) => {
    const length = accountLength(printed);
    return length === 0 ? [] : [{ start: index, end: index + length }];
  });
}

/** The number of leading characters that form a bank account number (its remainder modulo 97 is 1), or 0 if none do. */
function accountLength(printed: string): number {
  const [head = '', ...groups] = printed.toUpperCase().split(' ');
  let length = head.length;
  let body = '';
  let found = 0;
  for (const group of groups) {
    body += group;
    length += 1 + group.length;
    if (remainderBy97(body + head) === 1) found = length;
  }
  return found;
}

function remainderBy97(characters: string): number {
  let remainder = 0;
  for (let at = 0; at < characters.length; at += 1) {
    const code = characters.charCodeAt(at);
    // A letter represents two digits: A is 10.
    remainder = isDigit(code) ? (remainder * 10 + code - 0x30) % 97 : (remainder * 100 + code - 0x37) % 97;
  }
  return remainder;
}

function isUuidAt(text: string, at: number): boolean {
  if (text.charCodeAt(at + 8) !== 0x2d) return false;
  UUID.lastIndex = at;
  return UUID.test(text);
}

function endOfDigits(text: string, start: number): number {
  let at = start;
  while (isDigit(text.charCodeAt(at))) at += 1;
  return at;
}

/** The end of a separator, or its start if there is none or it is too long to join two groups. */
function endOfSeparator(text: string, start: number): number {
  let at = start;
  while (isSeparator(text.charCodeAt(at))) {
    if (at - start === MAX_SEPARATORS) return start;
    at += 1;
  }
  return at;
}

function endOfToken(text: string, start: number): number {
  let at = start;
  while (isAlphanumeric(text.charCodeAt(at))) at += 1;
  return at;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isAlphanumeric(code: number): boolean {
  return isDigit(code) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
}

function isSeparator(code: number): boolean {
  return code === 0x20 || code === 0x2d || code === 0x2e || code === 0x09 || code === 0x0a || code === 0x0d;
}

/** The whole numbers written with an exponent, as plain digits: 4.111111111111111e15 is 4111111111111111. */
function exponentsIn(text: string): readonly { readonly span: Span; readonly digits: string }[] {
  return [...text.matchAll(WITH_EXPONENT)].flatMap(
    ({ 0: number, 1: whole = '', 2: fraction = '', 3: power, index }) => {
      const shift = BigInt(power ?? '0') - BigInt(fraction.length);
      const mantissa = (whole + fraction).replace(/^0+/, '');
      const zeros = /0*$/.exec(mantissa)?.[0].length ?? 0;
      if (whole.length + fraction.length < MIN_MANTISSA_DIGITS) return [];
      // A fraction remains, or there are more digits than a card number has.
      if (shift < -BigInt(zeros) || BigInt(mantissa.length) + shift > BigInt(MAX_DIGITS)) return [];
      let digits = mantissa;
      for (let place = shift; place > 0n; place -= 1n) digits += '0';
      for (let place = shift; place < 0n; place += 1n) digits = digits.slice(0, -1);
      return [{ span: { start: index, end: index + number.length }, digits }];
    },
  );
}

function hasCardNumber(digits: string): boolean {
  return !numbersOf(digits, [{ start: 0, end: digits.length }]).next().done;
}

/** Inserts a span in order and replaces the spans that it overlaps. */
function insertSpan(found: Span[], { start, end }: Span): void {
  const first = found.findIndex((one) => one.end > start);
  if (first === -1) {
    found.push({ start, end });
    return;
  }
  let count = 0;
  let union = { start, end };
  for (let next = found[first]; next !== undefined && next.start < end; next = found[first + count]) {
    union = {
      start: next.start < union.start ? next.start : union.start,
      end: next.end > union.end ? next.end : union.end,
    };
    count += 1;
  }
  found.splice(first, count, union);
}

/** Text whose digits are all ASCII, and the position of each of its characters in the original text. */
type PlainText = {
  readonly text: string;
  /** Start and end, in the original text, of the character at an index of `text`. */
  readonly startOf: (index: number) => number;
  readonly endOf: (index: number) => number;
};

const NOT_ASCII = /[^\0-\x7f]/;

/** Characters that are not displayed, and marks over the character before them (a keycap, a strike-through). */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Mn}\p{Me}]/u;
const DECIMAL_DIGIT = /\p{Nd}/u;
const OTHER_NUMBER = /\p{No}/u;
const BLANK = /[\p{Z}\p{Cc}]/u;
const DASH = /[\p{Pd}\u2212]/u;
const DOT = /[\u00b7\u2022\u2024\u2027\u30fb\uff0e]/u;

/** Circled digits that Unicode gives no compatibility mapping. Each run is 1 to 9. */
const CIRCLED_ONES = [0x24f5, 0x2776, 0x2780, 0x278a];
const CIRCLED_ZEROS: ReadonlySet<number> = new Set([0x24ff, 0x1f10b, 0x1f10c]);

/** Replaces every character that is not a digit, an ASCII letter or a separator. */
const OTHER = '\ufffd';

/**
 * Text as people read it. Digits of every script and style (Arabic, mathematical, subscript, circled) become ASCII digits.
 * Blanks, dashes and dots of every kind become ' ', '-' and '.'. Invisible characters are removed. Takes time linear in the
 * length of the text. ASCII text is returned unchanged.
 */
function withPlainDigits(written: string): PlainText {
  if (!NOT_ASCII.test(written)) return { text: written, startOf: (index) => index, endOf: (index) => index + 1 };
  const starts: number[] = [];
  const ends: number[] = [];
  let text = '';
  let at = 0;
  for (const character of written) {
    const plain = plainOf(character);
    if (plain !== '') {
      text += plain;
      starts.push(at);
      ends.push(at + character.length);
    }
    at += character.length;
  }
  return { text, startOf: (index) => starts[index] ?? at, endOf: (index) => ends[index] ?? at };
}

/** Cache of characters, since most text uses few different ones. Cleared when full, at about 100 KB. */
const known = new Map<string, string>();
const KNOWN_MAX = 4_096;

/** One UTF-16 unit, or an empty string for an invisible character. */
function plainOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return character;
  const found = known.get(character);
  if (found !== undefined) return found;
  const plain = classify(character, code);
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(character, plain);
  return plain;
}

function classify(character: string, code: number): string {
  if (INVISIBLE.test(character)) return '';
  if (DECIMAL_DIGIT.test(character)) return decimalDigit(code);
  if (OTHER_NUMBER.test(character)) return otherDigit(character, code);
  if (BLANK.test(character)) return ' ';
  if (DASH.test(character)) return '-';
  if (DOT.test(character)) return '.';
  const compatible = character.normalize('NFKC');
  return /^[a-z]$/i.test(compatible) ? compatible : OTHER;
}

/** The ASCII digit for a decimal digit of any script. Unicode keeps these in runs of ten, from 0 to 9. Some runs are adjacent. */
function decimalDigit(code: number): string {
  let first = code;
  while (DECIMAL_DIGIT.test(String.fromCodePoint(first - 1))) first -= 1;
  return String((code - first) % 10);
}

function otherDigit(character: string, code: number): string {
  if (CIRCLED_ZEROS.has(code)) return '0';
  const one = CIRCLED_ONES.find((first) => code >= first && code < first + 9);
  if (one !== undefined) return String(code - one + 1);
  const compatible = character.normalize('NFKC');
  return /^[0-9]$/.test(compatible) ? compatible : OTHER;
}

/** A percent sign that was encoded, perhaps several times: %25, %2525. */
const ENCODED_PERCENT = /%(?:25)+/g;

/** One character in percent-encoded UTF-8. An invalid sequence stays unchanged, and hides nothing next to it. */
const ENCODED_CHARACTER =
  /%[0-7][0-9a-f]|%[cd][0-9a-f]%[89ab][0-9a-f]|%e[0-9a-f](?:%[89ab][0-9a-f]){2}|%f[0-4](?:%[89ab][0-9a-f]){3}/gi;

/** A plus sign within a number. Before a number it marks a telephone number. */
const PLUS_WITHIN = /(?<=\p{Nd}[ .+-]{0,3})\+(?=[ .+-]{0,3}\p{Nd})/gu;

/**
 * Decodes a URL, or part of one, fully: removes percent-encoding as often as it was applied, and turns a plus sign between
 * digits into a blank. The result is for searching the URL, not for sending it.
 */
export function withoutUrlEncoding(text: string): string {
  let plain = text;
  for (let before = ''; plain !== before && plain.includes('%'); ) {
    before = plain;
    plain = plain.replaceAll(ENCODED_PERCENT, '%').replaceAll(ENCODED_CHARACTER, decoded);
  }
  return plain.includes('+') ? plain.replaceAll(PLUS_WITHIN, ' ') : plain;
}

function decoded(character: string): string {
  try {
    return decodeURIComponent(character);
  } catch {
    return character;
  }
}

/** Whether a URL, or part of one, contains a match of {@link readsAsCardNumber} in any encoding. */
export function urlReadsAsCardNumber(text: string): boolean {
  return readsAsCardNumber(text) || (/[%+]/.test(text) && readsAsCardNumber(withoutUrlEncoding(text)));
}

import { isFirstOfAnIssuer, isOfAnIssuer } from './card-issuers.ts';

/** A stretch of a text: from the character at `start` up to, and without, the one at `end`. */
export type Stretch = { readonly start: number; readonly end: number };

/** What stands in a text where a card number stood. */
export const REDACTED = '[redacted]';

/** Digits of a card number, at least and at most (ISO/IEC 7812). */
const DIGITS_LEAST = 13;
const DIGITS_MOST = 19;

/** Characters between two groups of digits, at most: "4111 - 1111" is still one number to whoever reads it. */
const SEPARATOR_MOST = 3;

/** Digits of other scripts that keyboards write: Arabic, Persian, Devanagari, Bengali, Thai, and full width. */
const OTHER_DIGITS = '\\u0660-\\u0669\\u06f0-\\u06f9\\u0966-\\u096f\\u09e6-\\u09ef\\u0e50-\\u0e59\\uff10-\\uff19';
const OTHER_DIGIT = new RegExp(`[${OTHER_DIGITS}]`, 'g');
const OTHER_ZEROS = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0xff10];

/** What stands between two digits of one number, beside nothing: see {@link isSeparator}. */
const SEPARATORS =
  '\\t\\n\\r .\\-\\u00a0\\u00ad\\u2000-\\u2015\\u2028-\\u202f\\u2060-\\u2069\\u2212\\u3000\\ufeff\\uff0d\\uff0e';

/**
 * Where it is worth looking: thirteen digits that nothing but separators parts. It comes to its end within some fifty
 * characters of wherever it begins, so that looking takes linear time, too.
 */
const CANDIDATE = new RegExp(
  `(?<![0-9a-z])[0-9${OTHER_DIGITS}](?:[${SEPARATORS}]{0,${SEPARATOR_MOST}}[0-9${OTHER_DIGITS}]){${DIGITS_LEAST - 1}}`,
  'i',
);

const OTHER_SEPARATORS: ReadonlySet<number> = new Set([0xa0, 0xad, 0x2212, 0x3000, 0xfeff, 0xff0d, 0xff0e]);

/** A UUID is not taken for a card number, whatever its digits are. */
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-z])/iy;
const UUID_LENGTH = 36;

/** Digits of an international telephone number, at most (E.164). */
const TELEPHONE_DIGITS_MOST = 15;

/** What can be a bank account's number as it is printed: country, check digits, and groups of four (ISO 13616). */
const PRINTED_IBAN = /(?<![0-9a-z])[a-z]{2}[0-9]{2}(?: [0-9a-z]{1,4}){3,8}/gi;

/**
 * Finds what looks like a card number: 13 to 19 digits with a valid check digit (Luhn), alone or in groups between
 * which stand blanks, dashes or dots. It begins and ends where no letter or digit adjoins, so that neither an id of
 * this service (a prefix and 32 hex digits) nor a UUID is ever one. Takes time linear in the length of the text.
 */
export function findCardNumbers(written: string): readonly Stretch[] {
  // Nearly every text is done with here.
  if (!CANDIDATE.test(written)) return [];
  const text = withPlainDigits(written);
  const found: Stretch[] = [];
  for (const groups of groupsIn(text)) addNumbers(text, groups, found);
  return found;
}

/**
 * Whether a text holds what nobody would take for anything but a card number: what {@link findCardNumbers} finds, in
 * one of the ranges that issuers give out, and neither a telephone number after its plus sign nor part of the printed
 * number of a bank account. Such a text is refused; what only looks like a card number is kept, but never shown in a
 * message or a log. Takes time linear in the length of the text.
 */
export function readsAsCardNumber(written: string): boolean {
  if (written.length < DIGITS_LEAST || !CANDIDATE.test(written)) return false;
  const text = withPlainDigits(written);
  let accounts: readonly Stretch[] | undefined;
  // Runs and accounts both come from the left: an account that ends before a run is of no more use to those that follow.
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

/** Every row of groups of digits that a text holds, from the left. */
function* groupsIn(text: string): Generator<readonly Stretch[]> {
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

/** Whether a text holds what looks like a card number (see {@link findCardNumbers}). */
export function containsCardNumber(text: string): boolean {
  return findCardNumbers(text).length > 0;
}

/** The text with {@link REDACTED} in the place of everything that looks like a card number. */
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
 * The groups of digits that begin at a place and go on over separators. None when a letter adjoins the first. A UUID
 * after a separator ends them.
 */
function groupsFrom(text: string, start: number): readonly Stretch[] {
  const groups: Stretch[] = [];
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

type Run = Stretch & { readonly digits: number };

/** A digit doubled as Luhn's formula doubles it: 16 counts 1 + 6. */
const DOUBLED = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9];

/**
 * The runs of whole groups that have as many digits as a card number and end in the check digit that Luhn's formula
 * gives; from each group, the shortest first. Each digit is added once for each group that a run can begin with, since a
 * megabyte of groups of one digit must not hold everybody up.
 */
function* numbersOf(text: string, groups: readonly Stretch[]): Generator<Run> {
  for (const [first, { start }] of groups.entries()) {
    let digits = 0;
    // Whether digits at even or at odd places are doubled is known only where the run ends.
    let evenDoubled = 0;
    let oddDoubled = 0;
    for (let last = first; last < groups.length; last += 1) {
      const group = groups[last];
      if (group === undefined || digits + group.end - group.start > DIGITS_MOST) break;
      for (let at = group.start; at < group.end; at += 1) {
        const digit = text.charCodeAt(at) - 0x30;
        const doubled = DOUBLED[digit] ?? 0;
        evenDoubled += digits % 2 === 0 ? doubled : digit;
        oddDoubled += digits % 2 === 0 ? digit : doubled;
        digits += 1;
      }
      // The last digit is never doubled.
      const sum = digits % 2 === 0 ? evenDoubled : oddDoubled;
      if (digits >= DIGITS_LEAST && sum % 10 === 0) yield { start, end: group.end, digits };
    }
  }
}

/** Adds each run of whole groups that is a card number; runs that overlap become one stretch. */
function addNumbers(text: string, groups: readonly Stretch[], found: Stretch[]): void {
  for (const { start, end } of numbersOf(text, groups)) {
    const before = found.at(-1);
    if (before === undefined || before.end <= start) found.push({ start, end });
    else if (end > before.end) found[found.length - 1] = { start: before.start, end };
  }
}

function isIssued(text: string, { start, digits }: Run): boolean {
  if (!isFirstOfAnIssuer(text.charAt(start))) return false;
  if (digits <= TELEPHONE_DIGITS_MOST && text.charAt(start - 1) === '+') return false;
  let firstSix = '';
  for (let at = start; firstSix.length < 6; at += 1) if (isDigit(text.charCodeAt(at))) firstSix += text.charAt(at);
  return isOfAnIssuer(firstSix, digits);
}

/** Where the printed numbers of bank accounts stand, known by their check digits. */
function printedAccounts(text: string): readonly Stretch[] {
  return [...text.matchAll(PRINTED_IBAN)].flatMap(({ 0: printed, index }) => {
    const length = accountLength(printed);
    return length === 0 ? [] : [{ start: index, end: index + length }];
  });
}

/** How many characters, from the first, are the number of an account (the remainder by 97 is 1); 0 for none. */
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
    // A letter stands for two digits: A is 10.
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

/** Where a separator ends; its own start when there is none, or it is too long to hold a number together. */
function endOfSeparator(text: string, start: number): number {
  let at = start;
  while (isSeparator(text.charCodeAt(at))) {
    if (at - start === SEPARATOR_MOST) return start;
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

/** The text with digits of other scripts as plain ones, each in its place: whoever reads it reads the same number. */
function withPlainDigits(text: string): string {
  return text.replaceAll(OTHER_DIGIT, (digit) => {
    const code = digit.charCodeAt(0);
    return String(code - (OTHER_ZEROS.findLast((zero) => zero <= code) ?? code));
  });
}

/**
 * Blanks of every width, line breaks, dot, hyphen, minus, the dashes that word processors make of them, and what nobody
 * sees: soft hyphens, joiners, marks of direction, which come along when a number is copied.
 */
function isSeparator(code: number): boolean {
  if (code < 0x80) {
    return code === 0x20 || code === 0x2d || code === 0x2e || code === 0x09 || code === 0x0a || code === 0x0d;
  }
  if ((code >= 0x2000 && code <= 0x2015) || (code >= 0x2028 && code <= 0x202f)) return true;
  return (code >= 0x2060 && code <= 0x2069) || OTHER_SEPARATORS.has(code);
}

import { isOfAnIssuer } from './card-issuers.ts';

/** A stretch of a text: from the character at `start` up to, and without, the one at `end`. */
export type Stretch = { readonly start: number; readonly end: number };

/** What stands in a text where a card number stood. */
export const REDACTED = '[redacted]';

/** Digits of a card number, at least and at most (ISO/IEC 7812). */
const DIGITS_LEAST = 13;
const DIGITS_MOST = 19;

/** Characters between two groups of digits, at most: "4111 - 1111" is still one number to whoever reads it. */
const SEPARATOR_MOST = 3;

/**
 * Where it is worth looking: thirteen digits that nothing but separators parts. It comes to its end within some fifty
 * characters of wherever it begins, so that looking takes linear time, too.
 */
const CANDIDATE = /(?<![0-9a-z])[0-9](?:[\t .\-\u00a0\u2000-\u200b\u2010-\u2015\u202f\u2212]{0,3}[0-9]){12}/i;

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
export function findCardNumbers(text: string): readonly Stretch[] {
  // Nearly every text is done with here.
  if (!CANDIDATE.test(text)) return [];
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
export function readsAsCardNumber(text: string): boolean {
  if (text.length < DIGITS_LEAST || !CANDIDATE.test(text)) return false;
  let accounts: readonly Stretch[] | undefined;
  for (const groups of groupsIn(text)) {
    for (const run of runsOf(groups)) {
      if (!isIssued(text, run)) continue;
      accounts ??= printedAccounts(text);
      if (!accounts.some(({ start, end }) => start <= run.start && run.end <= end)) return true;
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

/** The runs of whole groups that have as many digits as a card number; from each group, the shortest first. */
function* runsOf(groups: readonly Stretch[]): Generator<Run> {
  for (const [first, { start }] of groups.entries()) {
    let digits = 0;
    for (let last = first; last < groups.length; last += 1) {
      const group = groups[last];
      if (group === undefined) break;
      digits += group.end - group.start;
      if (digits > DIGITS_MOST) break;
      if (digits >= DIGITS_LEAST) yield { start, end: group.end, digits };
    }
  }
}

/** Adds each run of whole groups that is a card number; runs that overlap become one stretch. */
function addNumbers(text: string, groups: readonly Stretch[], found: Stretch[]): void {
  for (const { start, end } of runsOf(groups)) {
    if (!hasCheckDigit(text, start, end)) continue;
    const before = found.at(-1);
    if (before === undefined || before.end <= start) found.push({ start, end });
    else if (end > before.end) found[found.length - 1] = { start: before.start, end };
  }
}

function isIssued(text: string, { start, end, digits }: Run): boolean {
  if (!hasCheckDigit(text, start, end)) return false;
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

/** Whether the digits of a stretch end in the check digit that Luhn's formula gives. */
function hasCheckDigit(text: string, start: number, end: number): boolean {
  let sum = 0;
  let doubled = false;
  for (let at = end - 1; at >= start; at -= 1) {
    const code = text.charCodeAt(at);
    if (!isDigit(code)) continue;
    const digit = code - 0x30;
    const weighted = doubled ? digit * 2 : digit;
    sum += weighted > 9 ? weighted - 9 : weighted;
    doubled = !doubled;
  }
  return sum % 10 === 0;
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

/** Tab, blanks of every width, dot, hyphen, minus, and the dashes that word processors make of them. */
function isSeparator(code: number): boolean {
  if (code < 0x80) return code === 0x20 || code === 0x2d || code === 0x2e || code === 0x09;
  if (code === 0xa0 || code === 0x202f || code === 0x2212) return true;
  return (code >= 0x2000 && code <= 0x200b) || (code >= 0x2010 && code <= 0x2015);
}

/** Text whose digits are all ASCII, and the position of each of its characters in the original text. */
export type PlainText = {
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
export function withPlainDigits(written: string): PlainText {
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

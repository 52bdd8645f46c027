import { randomUUID, randomUUIDv7 } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isThorough } from '../../test/harness/run/ring.ts';
import { toWireId } from '../identifier.ts';
import {
  containsCardNumber,
  findCardNumbers,
  isCardNumberAlone,
  REDACTED,
  readsAsCardNumber,
  redactCardNumbers,
  urlReadsAsCardNumber,
  withoutUrlEncoding,
} from './card-number.ts';

/** The number of cases of each kind. It exceeds the number of scripts and of invisible characters. */
const MANY = isThorough ? 100_000 : 10_000;

/** Computes Luhn's check digit in a different way than the code under test: from the left, by table. */
function checkDigit(payload: string): string {
  const doubled = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9];
  const sum = [...payload].reduce((total, character, index) => {
    const digit = Number(character);
    const fromRight = payload.length - index;
    return total + (fromRight % 2 === 1 ? (doubled[digit] ?? 0) : digit);
  }, 0);
  return String((10 - (sum % 10)) % 10);
}

const digits = (least: number, most: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: least, maxLength: most }).map((list) => list.join(''));

const cardNumber = digits(12, 18).map((payload) => payload + checkDigit(payload));

/** Generates a number as people write it: in groups of at least two digits, with separators of one to three characters. */
const written = fc
  .tuple(cardNumber, fc.array(fc.integer({ min: 2, max: 6 }), { maxLength: 6 }), fc.constantFrom(' ', '-', '.', ' - '))
  .map(([number, sizes, separator]) => {
    const groups: string[] = [];
    let rest = number;
    for (const size of sizes) {
      if (rest.length <= size) break;
      groups.push(rest.slice(0, size));
      rest = rest.slice(size);
    }
    return [...groups, rest].join(separator);
  });

/** Words around a number. Their letters and digits do not touch the number. */
const before = fc.constantFrom('', 'card ', 'pan=', '"', '(', 'é', '/card_', 'number: ', '1 ', 'a1 ', '99-', '2030.');
const after = fc.constantFrom('', ' and so on', '"', ')', '&x=1', '_', '.', ', 5', ' 12', '-7', '\n');

describe('text that looks like a card number', () => {
  test.each([
    '4111111111111111',
    '4111 1111 1111 1111',
    '4111-1111-1111-1111',
    '4111.1111.1111.1111',
    '4111 - 1111 - 1111 - 1111',
    '4111\u00a01111\u00a01111\u00a01111',
    '378282246310005',
    '3782 822463 10005',
    '4222222222222',
    '6304000000000000000',
  ])('%s is found and redacted', (number) => {
    expect(redactCardNumbers(`pay ${number}, please`)).toBe(`pay ${REDACTED}, please`);
  });

  test('is found in any grouping and context', () => {
    fc.assert(
      fc.property(before, written, after, (left, number, right) => {
        const redacted = redactCardNumbers(`${left}${number}${right}`);
        expect(redacted).not.toContain(number);
        expect(redacted).toContain(REDACTED);
      }),
    );
  });

  test('is found within any other text, and the other text stays unchanged', () => {
    const noDigits = fc.string({ maxLength: 40 }).map((text) => `${text.replaceAll(/[0-9]/g, '')}|`);
    fc.assert(
      fc.property(noDigits, cardNumber, noDigits, (left, number, right) => {
        expect(redactCardNumbers(`${left}${number}|${right}`)).toBe(`${left}${REDACTED}|${right}`);
      }),
    );
  });

  test('is not found after redaction', () => {
    const pieces = fc.oneof(written, fc.string({ maxLength: 5 }), digits(1, 9), fc.constantFrom(' ', '-', '.', ' 1 '));
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        expect(containsCardNumber(redactCardNumbers(parts.join('')))).toBe(false);
      }),
    );
  });
});

describe('text that does not look like a card number', () => {
  test.each([
    ['a wrong check digit', '4111111111111112'],
    ['twelve digits', '411111111116'],
    ['twenty digits', '41111111111111111111'],
    ['a letter before it', 'x4111111111111111'],
    ['a letter after it', '4111111111111111x'],
    ['an amount in minor units', '999999999999'],
    ['a moment', '2030-01-31T12:00:00.000Z'],
    ['digits far apart', '4111    1111    1111    1111'],
    ['the inner id of the demo program', '01900000-0000-7000-8000-0000000000de'],
    ['an id with only digits', 'tr_41111111111111114111111111111111'],
  ])('is neither found nor redacted: %s, %s', (_, text) => {
    expect(findCardNumbers(text)).toEqual([]);
    expect(redactCardNumbers(text)).toBe(text);
  });

  test('is neither found nor redacted: UUIDs and ids of this service with any digits', () => {
    const hexDigits = fc.array(fc.constantFrom(...'0123456789012345678901234567890123456789abcdef'), {
      minLength: 32,
      maxLength: 32,
    });
    fc.assert(
      fc.property(hexDigits, fc.constantFrom('', ' ', 'id: ', '"', '-'), (list, left) => {
        const hex = list.join('');
        const uuid = [0, 8, 12, 16, 20].map((from, index) => hex.slice(from, [8, 12, 16, 20, 32][index])).join('-');
        for (const text of [`${left}${uuid}.`, `${left}${toWireId('tr', uuid)} `, `${left}${toWireId('req', uuid)}`]) {
          expect(redactCardNumbers(text)).toBe(text);
        }
      }),
      { numRuns: 2000 },
    );
    for (let count = 0; count < 2000; count += 1) {
      const text = `${randomUUIDv7()} ${randomUUID()} ${toWireId('card', randomUUIDv7())}`;
      expect(redactCardNumbers(text)).toBe(text);
    }
  });
});

describe('a refused number', () => {
  const ISSUED: readonly (readonly [network: string, beginning: string, length: number])[] = [
    ['Visa', '4111', 16],
    ['old Visa', '4222', 13],
    ['Visa', '4917', 19],
    ['Mastercard', '5105', 16],
    ['Mastercard', '2221', 16],
    ['Mastercard', '2720', 16],
    ['American Express', '34', 15],
    ['American Express', '37', 15],
    ['Diners Club', '300', 14],
    ['Diners Club', '36', 14],
    ['Discover', '6011', 16],
    ['Discover', '65', 19],
    ['JCB', '3528', 16],
    ['UnionPay', '62', 17],
    ['UnionPay', '81', 19],
    ['Maestro', '5018', 13],
    ['Maestro', '6759', 18],
    ['Mir', '2200', 16],
    ['RuPay', '82', 16],
    ['Humo', '9860', 16],
    ['UzCard', '8600', 16],
    ['Troy', '9792', 16],
    ['Napas', '9704', 19],
    ['mada', '9682', 16],
  ];
  const between = fc.constantFrom('', ' ', '-', '.', ' - ', '\u00a0', '\u2009', '\u202f', '\t', '\u2013', '\u2212');

  test.each(ISSUED)(
    'is a number of %s, %s… of %i digits, in groups of four with any separator',
    (_, beginning, length) => {
      const rest = digits(length - 1 - beginning.length, length - 1 - beginning.length);
      fc.assert(
        fc.property(rest, between, before, after, (middle, separator, left, right) => {
          const payload = beginning + middle;
          const number = (payload + checkDigit(payload)).match(/.{1,4}/g)?.join(separator) ?? '';
          expect(readsAsCardNumber(`${left}${number}${right}`)).toBe(true);
          expect(containsCardNumber(`${left}${number}${right}`)).toBe(true);
        }),
      );
    },
  );

  test.each([
    ['line breaks', '4111\r\n1111\n1111\n1111'],
    ['a line separator', '4111\u20281111\u20281111\u20281111'],
    ['ideographic blanks', '4111\u30001111\u30001111\u30001111'],
    ['full-width hyphens', '4111\uff0d1111\uff0d1111\uff0d1111'],
    ['soft hyphens', '4111\u00ad1111\u00ad1111\u00ad1111'],
    ['joiners and non-joiners', '4111\u200d1111\u200c1111\u20601111'],
    ['byte order marks', '4111\ufeff1111\ufeff1111\ufeff1111'],
    ['marks of direction', '\u202a4111\u200e1111\u20681111\u20691111\u202c'],
    ['invisible characters between any two digits', [...'4111111111111111'].join('\u2060')],
    ['full-width digits', '４１１１１１１１１１１１１１１１'],
    ['Arabic digits', '٤١١١ ١١١١ ١١١١ ١١١١'],
    ['Persian digits', '۴۱۱۱-۱۱۱۱-۱۱۱۱-۱۱۱۱'],
    ['Devanagari digits', '४१११११११११११११११'],
    ['Bengali digits', '৪১১১১১১১১১১১১১১১'],
    ['Thai digits', '๔๑๑๑ ๑๑๑๑ ๑๑๑๑ ๑๑๑๑'],
    ['digits of two scripts', '4111 1111 １１１１ 1111'],
  ])('is also refused with %s, and redacted in logs', (_, number) => {
    expect(readsAsCardNumber(`pan: ${number}.`)).toBe(true);
    expect(redactCardNumbers(`pan: (${number})`)).toContain(REDACTED);
    expect(redactCardNumbers(`pan: (${number})`)).not.toMatch(/[0-9\u0660-\uffef]{4}/);
  });

  test('is also redacted wherever it is refused', () => {
    const pieces = fc.oneof(
      written,
      fc.string({ maxLength: 5 }),
      digits(1, 9),
      fc.constantFrom(' ', '-', '.', '+', 'DE'),
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
        const text = parts.join('');
        if (readsAsCardNumber(text)) expect(containsCardNumber(text)).toBe(true);
      }),
    );
  });

  test.each([
    ['milliseconds since 1970', (at: number) => String(1_600_000_000_000 + at * 7_919_113)],
    ['microseconds since 1970', (at: number) => String(1_600_000_000_000_000 + at * 7_919_113_003)],
    ['milliseconds and a counter', (at: number) => `need-${1_600_000_000_000 + at * 7_919_113}-${at}`],
    ['a date and a clock', (at: number) => new Date(1.6e12 + at * 86_413_000).toISOString().replaceAll(/[^0-9]/g, '')],
    [
      'a written date and clock',
      (at: number) => new Date(1.6e12 + at * 86_413_000).toISOString().replaceAll(/[T:]/g, ' '),
    ],
    ['an amount', (at: number) => String(999_999_999_999 - at)],
    ['an invoice number with a date', (at: number) => `INV-20261121-${String(at).padStart(6, '0')}`],
    ['a telephone number', (at: number) => `+49 151 ${String(10_000_000 + at * 7919)}`],
    ['a UUID', () => randomUUIDv7()],
    ['an id from the service', () => toWireId('tr', randomUUIDv7())],
    ['the address of a machine', (at: number) => `192.168.${at % 256}.${(at * 7) % 256}`],
  ])('is never %s', (_, make) => {
    const refused = Array.from({ length: 5_000 }, (__, at) => make(at)).filter(readsAsCardNumber);
    expect(refused).toEqual([]);
  });

  test.each([
    'DE89 3704 0044 0532 0130 00',
    'to DE12 5001 0517 0648 4898 90 at once',
    'FR14 2004 1010 0505 0001 3M02 606',
    'PL61 1090 1014 0000 0712 1981 2874',
    'GB82 WEST 1234 5698 7654 32',
  ])('is never part of the printed number of a bank account: %s', (text) => {
    expect(readsAsCardNumber(text)).toBe(false);
  });

  test('is a card number between the printed numbers of bank accounts', () => {
    const account = 'DE03 4000 0000 0000 6';
    expect(readsAsCardNumber(`${account}; ${account}; ${account}`)).toBe(false);
    expect(readsAsCardNumber(`${account}; 4111 1111 1111 1111; ${account}`)).toBe(true);
    expect(readsAsCardNumber(`4111 1111 1111 1111; ${account}`)).toBe(true);
    expect(readsAsCardNumber(`${account}; 4111 1111 1111 1111`)).toBe(true);
  });

  test('is a card number after text that only looks like a bank account number', () => {
    expect(readsAsCardNumber('DE00 4111 1111 1111 1111')).toBe(true);
  });
});

describe('a card number in disguise', () => {
  /** Every kind of decimal digit that Unicode has, by the character for zero. */
  const ZEROS = Array.from({ length: 0x20000 }, (_, code) => code).filter((code) => {
    const isDigit = (at: number): boolean => /\p{Nd}/u.test(String.fromCodePoint(at));
    // The mathematical digits are five runs of ten without a gap.
    return (
      isDigit(code) && (!isDigit(code - 1) || (code > 0x1d7ce && (code - 0x1d7ce) % 10 === 0 && isDigit(code - 10)))
    );
  });
  const OTHER_STYLES: readonly string[] = ['₀₁₂₃₄₅₆₇₈₉', '⁰¹²³⁴⁵⁶⁷⁸⁹', '⓪①②③④⑤⑥⑦⑧⑨', '⓿❶❷❸❹❺❻❼❽❾', '🄋➀➁➂➃➄➅➆➇➈'];
  const SCRIPTS: readonly (readonly string[])[] = [
    ...ZEROS.map((zero) => Array.from({ length: 10 }, (_, digit) => String.fromCodePoint(zero + digit))),
    ...OTHER_STYLES.map((style) => [...style]),
  ];
  /** Every character that is not displayed, and also the keycap and the strike-through, which are drawn over a digit. */
  const INVISIBLE = [
    ...Array.from({ length: 0xe1000 }, (_, code) => code)
      .filter((code) => /\p{Default_Ignorable_Code_Point}/u.test(String.fromCodePoint(code)))
      .map((code) => String.fromCodePoint(code)),
    '\ufe0f\u20e3',
    '\u0336',
  ];

  test('covers about seventy scripts', () => {
    expect(SCRIPTS.length).toBeGreaterThan(70);
    expect(INVISIBLE.length).toBeGreaterThan(4000);
  });

  const numberAt = (at: number): string => {
    const [beginning, length] = (
      [
        ['4', 16],
        ['52', 16],
        ['37', 15],
        ['62', 19],
      ] as const
    )[at % 4] ?? ['4', 16];
    const payload = (beginning + String((at * 7_919_113_003) % 1e15).padStart(15, '0')).padEnd(18, '7');
    return payload.slice(0, length - 1) + checkDigit(payload.slice(0, length - 1));
  };
  const NUMBERS = Array.from({ length: MANY }, (_, at) => numberAt(at));

  test.each<readonly [string, (number: string, at: number) => string]>([
    [
      'in digits of any script',
      (number, at) => [...number].map((digit) => SCRIPTS[at % SCRIPTS.length]?.[Number(digit)]).join(''),
    ],
    [
      'in digits of several scripts',
      (number, at) =>
        [...number].map((digit, place) => SCRIPTS[(at + place) % SCRIPTS.length]?.[Number(digit)]).join(''),
    ],
    [
      'with an invisible character between any two digits',
      (number, at) => [...number].join(INVISIBLE[at % INVISIBLE.length]),
    ],
    [
      'with twenty invisible characters in one place',
      (number, at) => number.slice(0, 5) + (INVISIBLE[at % INVISIBLE.length] ?? '').repeat(20) + number.slice(5),
    ],
    ['with an exponent', (number) => `${number}e0`],
    ['as a fraction with an exponent', (number) => `${number.slice(0, 3)}.${number.slice(3)}E+${number.length - 3}`],
    ['with zeros that the exponent removes', (number) => `${number}000e-3`],
  ])(`%s is refused and redacted, ${MANY} of ${MANY}`, (_, disguise) => {
    const missed = NUMBERS.filter((number, at) => {
      const text = disguise(number, at);
      const left = redactCardNumbers(`pan ${text} end`);
      return !readsAsCardNumber(`pan ${text} end`) || !/^pan \[redacted\]\P{Nd}* end$/u.test(left);
    });
    expect(missed).toEqual([]);
  });
});

describe('an idempotency key', () => {
  const time = (at: number): number => 1_763_750_000_000 + at * 977;
  const hex = (at: number): string =>
    [1, 2, 3, 4].map((part) => ((at * 2_654_435_761 * part) % 2 ** 32).toString(16).padStart(8, '0')).join('');

  test.each<readonly [string, (at: number) => string]>([
    ['a name, a counter and the time', (at) => `name${at % 10}-${at}${time(at)}`],
    ['a counter and the time', (at) => `${at}${time(at)}`],
    ['a counter, a hyphen and the time', (at) => `${at}-${time(at)}`],
    ['the time and a counter', (at) => `${time(at)}-${at}`],
    ['seconds and a counter', (at) => `order-${at}-${Math.floor(time(at) / 1000)}`],
    ['a UUID without hyphens', hex],
    ['a UUID without hyphens, as one number of digits', (at) => hex(at).replaceAll(/[a-f]/g, '7')],
    ['a UUID', () => randomUUID()],
    ['an order number', (at) => `ORD-2026-${String(at).padStart(9, '0')}`],
    [
      'an order number of a shop',
      (at) => `${300 + (at % 200)}-${String(1_000_000 + at * 83)}-${String(9_000_000 - at * 61)}`,
    ],
    ['an order number of sixteen digits with a prefix', (at) => `order_${4_000_000_000_000_000 + at * 7_919_113}`],
    ['a date and a counter', (at) => `20261121${String(at).padStart(8, '0')}`],
    ['a counter', (at) => String(at)],
  ])(`%s is accepted, ${MANY} of ${MANY}`, (_, make) => {
    const refused = Array.from({ length: MANY }, (__, at) => make(at)).filter(isCardNumberAlone);
    expect(refused).toEqual([]);
  });

  test.each([
    '4111111111111111',
    '4111-1111-1111-1111',
    '4111.1111.1111.1111',
    '378282246310005',
    '3782-822463-10005',
    '3056-930902-5904',
    '6205-5000-0000-0000-004',
    '"4111111111111111"',
  ])('that is only a card number is refused: %s', (key) => {
    expect(isCardNumberAlone(key)).toBe(true);
  });
});

test('looks for card numbers in linear time, even in adversarial input', () => {
  const hostile = [
    '1',
    '1 ',
    '11-',
    '4111111111111112 ',
    '41111111-1111-',
    '0.',
    '1   ',
    'a1',
    '00000000-0000-0000-',
    'DE12 4111 1111 ',
    '٤١١١ ',
    '4\u2060\n',
  ];
  for (const piece of hostile) {
    const text = piece.repeat(Math.ceil(300_000 / piece.length));
    const begun = process.cpuUsage();
    findCardNumbers(text);
    readsAsCardNumber(text);
    // Hundreds of times the usual duration. A quadratic search would take minutes.
    expect(processorTimeSince(begun), piece).toBeLessThan(20_000_000);
  }
});

/** Returns processor time in microseconds, so that other load on the machine does not count. */
function processorTimeSince(begun: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(begun);
  return user + system;
}

test('looks for bank accounts in linear time', () => {
  const timeOf = (accounts: number): number => {
    const text = 'DE03 4000 0000 0000 6;'.repeat(accounts);
    const times = [1, 2, 3].map(() => {
      const begun = process.cpuUsage();
      expect(readsAsCardNumber(text)).toBe(false);
      return processorTimeSince(begun);
    });
    return Math.min(...times);
  };
  timeOf(1_000);
  // If each number were looked for in all accounts, input that is 64 times as long would take 4,096 times as long. Noise in the
  // measurement stays far below that.
  expect(timeOf(128_000) / timeOf(2_000)).toBeLessThan(512);
});

describe('ASCII text', () => {
  // ASCII text is handled by a loop that runs before the search. An invisible character makes the text skip this loop.
  const besideInvisible = (text: string): string => `\u200b${text}`;
  const pieces = fc.constantFrom(
    ...[
      '4111',
      '1111',
      '4111111111111111',
      '411111111111111',
      '37828224631000',
      '5',
      '0',
      '12',
      '4.111111111111111e15',
    ],
    ...[
      '41111111111111110e-1',
      'e',
      'E',
      'e+',
      'e-3',
      'e15',
      '.',
      '..',
      ' ',
      '   ',
      '-',
      ' - ',
      '    ',
      '\t',
      '\n',
      'a',
      'Z',
    ],
    ...['_', '"', '+', '/', 'tr_', '01234567-89ab-7def-8123-456789abcdef'],
  );
  const texts = fc.oneof(
    fc.array(pieces, { maxLength: 12 }).map((list) => list.join('')),
    written,
    cardNumber,
  );

  test('gives the same result as the same text with a non-ASCII character', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(readsAsCardNumber(text)).toBe(readsAsCardNumber(besideInvisible(text)));
        expect(findCardNumbers(text)).toEqual(
          findCardNumbers(besideInvisible(text)).map(({ start, end }) => ({ start: start - 1, end: end - 1 })),
        );
      }),
      { numRuns: 5000 },
    );
  });
});

const NUMBER = '4532015112830366';
const everyDigit = [...NUMBER].map((digit) => `%3${digit}`).join('');

describe('a card number in a URL is found', () => {
  test.each([
    ['unencoded', `https://a.example/${NUMBER}`],
    ['in quotes', `https://a.example/?card=%22${NUMBER}%22`],
    ['with encoded spaces', 'https://a.example/4532%200151%201283%200366'],
    ['with a plus for each space', 'https://a.example/?card=4532+0151+1283+0366'],
    ['with encoded pluses', 'https://a.example/?card=4532%2B0151%2B1283%2B0366'],
    ['with encoded dashes', 'https://a.example/4532%2D0151%2d1283%2D0366'],
    ['with spaces that are encoded twice', 'https://a.example/4532%25200151%25201283%25200366'],
    ['with spaces that are encoded three times', 'https://a.example/4532%2525200151%2525201283%2525200366'],
    ['with encoded digits', `https://a.example/${everyDigit}`],
    ['with digits whose escapes are encoded', `https://a.example/${everyDigit.replaceAll('3', '%33')}`],
    ['with full-width digits', `https://a.example/${encodeURIComponent('４５３２０１５１１２８３０３６６')}`],
    ['next to invalid encodings', `https://a.example/%zz%ff%c3?a=%&card=%20${NUMBER}%e2%82`],
    ['in the host', 'https://%34532015112830366.example/'],
  ])('%s', (_, url) => expect(urlReadsAsCardNumber(url)).toBe(true));
});

test.each([
  'https://a.example/%22hook%22?a=1+1',
  // The last digit of this number fails the check.
  'https://a.example/4532%200151%201283%200367',
  'https://a.example/?phone=%2B4915112345674',
  'https://a.example/tr_0190f5c2d9a97c05b8e1647f2d3a9c40?x=100%25',
])('%s has no card number', (url) => expect(urlReadsAsCardNumber(url)).toBe(false));

test('keeps invalid encodings, even long ones, without delay', () => {
  expect(withoutUrlEncoding('100% of %zz, %c3%28')).toBe('100% of %zz, %c3(');
  expect(withoutUrlEncoding(`%${'25'.repeat(100_000)}34`)).toBe('4');
});

import { randomUUID, randomUUIDv7 } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { containsCardNumber, findCardNumbers, REDACTED, redactCardNumbers } from '../../domain/card-number.ts';
import { toWireId } from '../../domain/identifier.ts';

/** Luhn's check digit, written another way than the code under test: from the left, by table. */
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

/** A number as people write it: in groups of at least two digits, with separators of one to three characters. */
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

/** Words around a number that do not adjoin it with a letter or a digit. */
const before = fc.constantFrom('', 'card ', 'pan=', '"', '(', 'é', '/card_', 'number: ', '1 ', 'a1 ', '99-', '2030.');
const after = fc.constantFrom('', ' and so on', '"', ')', '&x=1', '_', '.', ', 5', ' 12', '-7', '\n');

describe('what looks like a card number', () => {
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
  ])('%s is found, and nothing of it is left', (number) => {
    expect(redactCardNumbers(`pay ${number}, please`)).toBe(`pay ${REDACTED}, please`);
  });

  test('is found however it is written and whatever stands around it', () => {
    fc.assert(
      fc.property(before, written, after, (left, number, right) => {
        const redacted = redactCardNumbers(`${left}${number}${right}`);
        expect(redacted).not.toContain(number);
        expect(redacted).toContain(REDACTED);
      }),
    );
  });

  test('is found between any other text, and the rest of the text stays', () => {
    const noDigits = fc.string({ maxLength: 40 }).map((text) => `${text.replaceAll(/[0-9]/g, '')}|`);
    fc.assert(
      fc.property(noDigits, cardNumber, noDigits, (left, number, right) => {
        expect(redactCardNumbers(`${left}${number}|${right}`)).toBe(`${left}${REDACTED}|${right}`);
      }),
    );
  });

  test('after redaction nothing is left that looks like one', () => {
    const pieces = fc.oneof(written, fc.string({ maxLength: 5 }), digits(1, 9), fc.constantFrom(' ', '-', '.', ' 1 '));
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        expect(containsCardNumber(redactCardNumbers(parts.join('')))).toBe(false);
      }),
    );
  });
});

describe('what does not', () => {
  test.each([
    ['a wrong check digit', '4111111111111112'],
    ['twelve digits', '411111111116'],
    ['twenty digits', '41111111111111111111'],
    ['a letter before it', 'x4111111111111111'],
    ['a letter after it', '4111111111111111x'],
    ['an amount of minor units', '999999999999'],
    ['a moment', '2030-01-31T12:00:00.000Z'],
    ['digits far apart', '4111    1111    1111    1111'],
    ['the inner id of the demo program', '01900000-0000-7000-8000-0000000000de'],
    ['an id of digits only', 'tr_41111111111111114111111111111111'],
  ])('%s: %s', (_, text) => {
    expect(findCardNumbers(text)).toEqual([]);
    expect(redactCardNumbers(text)).toBe(text);
  });

  test('no UUID and no id of this service, whatever their digits are', () => {
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

test('takes time linear in the length of the text, also for what is made to be slow', () => {
  const hostile = ['1', '1 ', '11-', '4111111111111112 ', '41111111-1111-', '0.', '1   ', 'a1', '00000000-0000-0000-'];
  for (const piece of hostile) {
    const text = piece.repeat(Math.ceil(300_000 / piece.length));
    const started = performance.now();
    findCardNumbers(text);
    // A hundred times what it takes; a quadratic search would take minutes.
    expect(performance.now() - started, piece).toBeLessThan(5_000);
  }
});

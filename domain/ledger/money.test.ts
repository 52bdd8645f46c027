import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CURRENCY_EXPONENTS,
  formatMoney,
  MAXIMUM_AMOUNT,
  MAXIMUM_BALANCE,
  readAmount,
  toWire,
  toWireSum,
} from './money.ts';

describe('amounts', () => {
  test('reads every whole number of minor units within the bounds exactly, quoted or not', () => {
    fc.assert(
      fc.property(fc.bigInt(1n, MAXIMUM_AMOUNT), fc.boolean(), (amount, quoted) => {
        expect(readAmount({ source: amount.toString(), quoted })).toEqual({ amount });
      }),
    );
  });

  test.each([
    '0',
    '-0',
    '-1',
    '85.5',
    '85.50',
    '1e3',
    '1E3',
    '1e999',
    '1.0',
    '00',
    '01',
    '+1',
    ' 1',
    '1 ',
    '1_000',
    '1,000',
    '0x10',
    '1000000000000',
    '9007199254740993',
    'NaN',
    'Infinity',
    '',
    '١',
  ])('refuses %j with a message that explains minor units', (source) => {
    const reading = readAmount({ source, quoted: true });
    expect(reading).toHaveProperty('problem');
    expect('problem' in reading && reading.problem).toContain('minor units');
  });

  test('reads any value as an amount within the bounds or a problem, and never throws', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (source) => {
        const reading = readAmount({ source, quoted: true });
        if ('amount' in reading) {
          expect(reading.amount.toString()).toBe(source);
          expect(reading.amount >= 1n && reading.amount <= MAXIMUM_AMOUNT).toBe(true);
        }
      }),
    );
  });
});

describe('currencies', () => {
  test.each([
    ['USD', 8550n, '85.50 USD'],
    ['JPY', 1200n, '1,200 JPY'],
    ['KWD', 1n, '0.001 KWD'],
    ['UYW', 12345n, '1.2345 UYW'],
    ['IQD', 1000n, '1.000 IQD'],
    ['HUF', 100n, '1.00 HUF'],
    ['EUR', -5n, '-0.05 EUR'],
    ['USD', 999_999_999_999n, '9,999,999,999.99 USD'],
    ['USD', 1_000_000_000_000n, '10,000,000,000.00 USD'],
    ['USD', -MAXIMUM_BALANCE, '-90,071,992,547,409.91 USD'],
    ['JPY', 4_111_111_111_111_111n, '4,111,111,111,111,111 JPY'],
    ['UYW', 4_111_111_111_111_111n, '411,111,111,111.1111 UYW'],
  ])('%s: %d minor units are shown as %s', (currency, amount, text) => {
    expect(formatMoney(amount, currency)).toBe(text);
  });

  test('has codes of three capital letters, and the exponents from ISO 4217', () => {
    expect(Object.keys(CURRENCY_EXPONENTS).length).toBeGreaterThan(150);
    for (const [code, exponent] of Object.entries(CURRENCY_EXPONENTS)) {
      expect(code).toMatch(/^[A-Z]{3}$/);
      expect([0, 2, 3, 4]).toContain(exponent);
    }
  });
});

test('writes a balance as exact JSON, and throws above 2^53 - 1', () => {
  expect(toWire(MAXIMUM_BALANCE)).toBe(Number.MAX_SAFE_INTEGER);
  expect(() => toWire(MAXIMUM_BALANCE + 1n)).toThrow(RangeError);
});

test('writes a sum as an integer up to 2^53 - 1, and as a string above', () => {
  expect([toWireSum(0n), toWireSum(-MAXIMUM_BALANCE)]).toEqual([0, -Number.MAX_SAFE_INTEGER]);
  expect([toWireSum(MAXIMUM_BALANCE + 2n), toWireSum(-MAXIMUM_BALANCE - 2n)]).toEqual([
    '9007199254740993',
    '-9007199254740993',
  ]);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decimalsOf, formatAmount, formatDigits, parseAmount, problemOfAmount } from './amounts.ts';

test('shows amounts exactly, with the decimals of their currency', () => {
  expect(formatAmount(123456, 'USD')).toBe('1,234.56 USD');
  expect(formatAmount(5, 'USD')).toBe('0.05 USD');
  expect(formatAmount(-123456789, 'USD')).toBe('−1,234,567.89 USD');
  expect(formatAmount(1234, 'JPY')).toBe('1,234 JPY');
  expect(formatAmount(1234, 'KWD')).toBe('1.234 KWD');
  expect(formatDigits(999_999_999_999n, 'USD')).toBe('9,999,999,999.99');
  expect(formatAmount(0, 'not a currency')).toBe('0.00 not a currency');
});

test('reads typed amounts without rounding', () => {
  expect(parseAmount('12.34', 'USD')).toBe(1234);
  expect(parseAmount(' 1,234.5 ', 'USD')).toBe(123450);
  expect(parseAmount('7', 'USD')).toBe(700);
  expect(parseAmount('7', 'JPY')).toBe(7);
  expect(parseAmount('0.07', 'USD')).toBe(7);
  for (const text of ['', '0', '1.234', '-5', '1e3', '12,34', '1 000', '.5', '99999999999999999999']) {
    expect(parseAmount(text, 'USD'), text).toBeUndefined();
  }
  expect(parseAmount('7.5', 'JPY')).toBeUndefined();
});

const CURRENCIES = fc.constantFrom('USD', 'JPY', 'KWD', 'CLF', 'EUR', 'HUF', 'XXX');

test('reads every shown amount back, exactly', () => {
  fc.assert(
    fc.property(CURRENCIES, fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (currency, amount) => {
      const text = formatDigits(amount, currency);
      expect(parseAmount(text, currency)).toBe(amount);
      expect(parseAmount(text.replaceAll(',', ''), currency)).toBe(amount);
      expect(problemOfAmount(text, currency)).toBeUndefined();
    }),
  );
});

test('reads typed digits as whole numbers of minor units, or says what is wrong with them', () => {
  const digits = (maxLength: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${maxLength}}$`));
  fc.assert(
    fc.property(CURRENCIES, digits(18), fc.option(digits(6), { nil: '' }), (currency, whole, fraction) => {
      const decimals = decimalsOf(currency);
      const text = fraction === '' ? whole : `${whole}.${fraction}`;
      const exact = BigInt(whole + fraction.padEnd(decimals, '0'));
      const isAmount = fraction.length <= decimals && exact > 0n && exact <= BigInt(Number.MAX_SAFE_INTEGER);
      expect(parseAmount(text, currency)).toBe(isAmount ? Number(exact) : undefined);
      expect(problemOfAmount(text, currency) === undefined).toBe(isAmount);
    }),
  );
});

test('any text is either an amount or has a problem', () => {
  fc.assert(
    fc.property(CURRENCIES, fc.constantFrom<0 | 1>(0, 1), fc.string(), (currency, minimum, text) => {
      const isRead = parseAmount(text, currency, minimum) !== undefined || text.trim() === '';
      expect(problemOfAmount(text, currency, minimum) === undefined).toBe(isRead);
    }),
  );
});

test.each([
  ['1.234', 'USD', 'USD has only 2 decimals.'],
  ['7.5', 'JPY', 'JPY has no decimals.'],
  ['12,5', 'USD', 'Write the decimals after a point: 12.5.'],
  ['12,5', 'JPY', 'Enter an amount, such as 1,500.'],
  ['a lot', 'KWD', 'Enter an amount, such as 1,500.000.'],
  ['0.00', 'USD', 'Enter more than zero.'],
  ['99999999999999999999', 'USD', 'This amount is too large.'],
])('says what is wrong with %s in %s', (text, currency, problem) => {
  expect(problemOfAmount(text, currency)).toBe(problem);
});

test('zero is an amount only where it is allowed', () => {
  expect([parseAmount('0', 'USD', 0), parseAmount('0', 'USD')]).toEqual([0, undefined]);
});

import { expect, test } from 'vitest';
import { formatAmount, formatDigits, parseAmount } from './amounts.ts';

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

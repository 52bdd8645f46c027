import { expect, test } from 'vitest';
import { amountFields, readAmount } from './amount.ts';

test.each<[string, string, string | undefined]>([
  ['1000', '1000', undefined],
  ['10.00 USD', '1000', 'USD'],
  ['10.00USD', '1000', 'USD'],
  ['0.05 eur', '5', 'EUR'],
  ['1200 JPY', '1200', 'JPY'],
  ['1.250 KWD', '1250', 'KWD'],
  ['1,250.00 USD', '125000', 'USD'],
  ['12,345,678 JPY', '12345678', 'JPY'],
  // Too large for an exact floating-point number.
  ['90071992547409.93 USD', '9007199254740993', 'USD'],
  // Minor units are not checked here, because the service validates them.
  ['0', '0', undefined],
  ['007', '007', undefined],
])('reads %s as %s in minor units of %s', (text, minorUnits, currency) => {
  expect(readAmount(text)).toEqual({ minorUnits, currency });
});

test.each([
  ['10.00', 'It has decimals and no currency: type "10.00 USD" with your currency, or 1000 in minor units.'],
  ['10.5', 'It has decimals and no currency: type "10.5 USD" with your currency.'],
  ['1000 USD', 'USD has 2 decimals: type "1000.00 USD", or 1000 without the currency for minor units.'],
  ['10.5 USD', 'USD has 2 decimals: type "10.50 USD".'],
  ['10.005 USD', 'USD has 2 decimals, and this has 3.'],
  ['10.00 JPY', 'JPY has no decimals: type "10 JPY".'],
  ['10.00 XXQ', 'XXQ is not a currency of the service.'],
  ['1,250 KWD', 'KWD has 3 decimals: type "1250.000 KWD", or 1250 without the currency for minor units.'],
  ['12,50.00 USD', 'Type it with a decimal point, and with commas between thousands or none'],
  ['1.250,00 EUR', 'Type it with a decimal point'],
  ['10,00 EUR', 'Type it with a decimal point'],
  ['-5', 'It must be minor units such as 1000, or an amount with its currency'],
  ['1e3', 'It must be minor units such as 1000'],
  ['ten', 'It must be minor units such as 1000'],
  ['USD 10.00', 'It must be minor units such as 1000'],
])('refuses %s', (text, message) => {
  expect(() => readAmount(text)).toThrow(message);
});

test('sends the currency of an amount, which must match --currency', () => {
  const typed = readAmount('10.00 USD');
  expect(amountFields(typed, undefined)).toEqual({ amount: '1000', currency: 'USD' });
  expect(amountFields(typed, 'USD')).toEqual({ amount: '1000', currency: 'USD' });
  expect(amountFields(readAmount('1000'), 'EUR')).toEqual({ amount: '1000', currency: 'EUR' });
  expect(amountFields(readAmount('1000'), undefined)).toEqual({ amount: '1000' });
  expect(() => amountFields(typed, 'EUR')).toThrow('--amount is in USD, and --currency is EUR');
});

import { describe, expect, test } from 'vitest';
import { readTerm } from './read-term.ts';

const HEX = '0196f5c2d9a17b40a5d2c08e6f1b3a97';
const UUID = '0196f5c2-d9a1-7b40-a5d2-c08e6f1b3a97';

describe('readTerm', () => {
  test.each(['tr', 'rev', 'req', 'case', 'inc', 'prog', 'evt', 'key', 'per', 'apr', 'wh', 'dep', 'wd', 'aud'] as const)(
    'reads an id with %s_',
    (prefix) => {
      const term = readTerm(` ${prefix}_${HEX}\n`);
      expect(term).toMatchObject({ text: `${prefix}_${HEX}`, id: { prefix, inner: UUID }, cardName: undefined });
    },
  );

  test('reads the id of a card as a card name', () => {
    expect(readTerm(`card_${HEX}`)).toMatchObject({ id: undefined, cardName: `card_${HEX}` });
    expect(readTerm('employee-7').cardName).toBe('employee-7');
  });

  test.each([`tr_${HEX.slice(1)}`, `tr_${HEX.toUpperCase()}`, 'tr_', 'TR_1'])('does not read %s as an id', (text) => {
    expect(readTerm(text)).toMatchObject({ id: undefined, cardName: text });
  });

  test('does not read a term with spaces or non-ASCII letters as a card name', () => {
    for (const text of ['employee 7', 'Zoë']) expect(readTerm(text).cardName).toBeUndefined();
  });

  test('reads four digits as the end of a card number', () => {
    expect(readTerm('4242').lastFour).toBe('4242');
    for (const text of ['424', '42424', '42.2', 'x4242']) expect(readTerm(text).lastFour).toBeUndefined();
  });

  const amountIn = (text: string, currency: string) =>
    readTerm(text).amounts.find(({ currencies }) => currencies.includes(currency))?.amount;

  test.each([
    ['12.34', 1234, undefined, 12340],
    ['12.30', 1230, undefined, 12300],
    ['12.00', 1200, 12, 12000],
    ['12', 1200, 12, 12000],
    ['0.01', 1, undefined, 10],
    ['0012.34', 1234, undefined, 12340],
    ['12.345', undefined, undefined, 12345],
    ['12.34 usd', 1234, undefined, undefined],
    ['USD 12.34', 1234, undefined, undefined],
    ['12 JPY', undefined, 12, undefined],
    ['1,234.56', 123_456, undefined, 1_234_560],
    ['1,234,567', 123_456_700, 1_234_567, 1_234_567_000],
    ['$75', 7500, undefined, undefined],
    ['75 $', 7500, undefined, undefined],
    ['¥ 1,200', undefined, 1200, undefined],
    ['9999999999.99', 999_999_999_999, undefined, undefined],
    ['10000000000', undefined, 10_000_000_000, undefined],
  ])('reads %s as an amount', (text, usd, jpy, kwd) => {
    expect([amountIn(text, 'USD'), amountIn(text, 'JPY'), amountIn(text, 'KWD')]).toEqual([usd, jpy, kwd]);
  });

  test.each([
    ['Priya 75', 'Priya', 7500],
    ['Priya Raman $1,200.50', 'Priya Raman', 120_050],
    ['75 USD  Priya', 'Priya', 7500],
    ['Priya 75 USD', 'Priya', 7500],
    ['employee 7', 'employee', 700],
  ])('reads %s as a name and an amount', (text, part, usd) => {
    const { ofHolder, amounts } = readTerm(text);
    expect(amounts).toEqual([]);
    expect(ofHolder?.part).toBe(part);
    expect(ofHolder?.amounts.find(({ currencies }) => currencies.includes('USD'))?.amount).toBe(usd);
  });

  test.each(['Priya', '75', '75 USD', 'ab 75', 'Priya Raman', 'Priya 1e3', `tr_${HEX}`])(
    'does not read %s as a name with an amount',
    (text) => {
      expect(readTerm(text).ofHolder).toBeUndefined();
    },
  );

  test.each([
    '0',
    '0.00',
    '-1',
    '1e3',
    '1.',
    '.5',
    '12.34 XX',
    'USD 1 USD',
    '12,34',
    '1,23,456',
    '€1€',
    '$USD 1',
    '',
    'XXX 1',
    '1234567890123',
  ])('does not read %s as an amount', (text) => {
    expect(readTerm(text).amounts).toEqual([]);
  });
});

import { expect, test } from 'vitest';
import { currencyOfError, shownValues } from './values.ts';

const shown = (values: Readonly<Record<string, unknown>>, currency?: string) =>
  shownValues(values, currency).map(({ name, text }) => [name, text]);

test('shows amounts in the currency, or as minor units if it is unknown', () => {
  const values = { account: 'card', available: '65968', amount: 1250, card_in_daily_amount: '100 of 5000 used' };
  expect(shown(values, 'USD')).toEqual([
    ['account', 'card'],
    ['available', '659.68 USD'],
    ['amount', '12.50 USD'],
    ['card in daily amount', '1.00 USD of 50.00 USD used'],
  ]);
  expect(shown({ amount: '7' }, 'JPY')).toEqual([['amount', '7 JPY']]);
  expect(shown({ amount: '7', card_in_daily_count: '2 of 5 used' })).toEqual([
    ['amount', '7 minor units'],
    ['card in daily count', '2 of 5 used'],
  ]);
});

test('shows sent values unchanged, shows objects and arrays as JSON, and leaves out null', () => {
  expect(shown({ amount: 'ten', card_id: '<b>', capture: null, disabled: false, metadata: { a: [1] } }, 'USD')).toEqual(
    [
      ['amount', 'ten'],
      ['card id', '<b>'],
      ['disabled', 'no'],
      ['metadata', '{\n "a": [\n  1\n ]\n}'],
    ],
  );
  expect(shownValues({ now: '2026-01-31T09:30:00.000Z' }, undefined)).toMatchObject([{ kind: 'moment' }]);
});

test('takes the currency from the message, or else from the request', () => {
  const request = { currency: 'EUR' };
  expect(currencyOfError({ code: 'card_lost', message: "The card 'a 7 JPY' has 0.00 USD available.", request })).toBe(
    'USD',
  );
  expect(currencyOfError({ code: 'card_lost', message: 'It is lost.', request })).toBe('EUR');
  expect(currencyOfError({ code: 'card_lost', message: '1 JPY is not 1.00 USD', request })).toBeUndefined();
  expect(currencyOfError({ code: 'card_lost', message: 'It is lost.', request: { currency: 'euro' } })).toBeUndefined();
  const example = "'amount' is 85.5, but it must be a whole number, such as 8550 for 85.50 USD.";
  expect(currencyOfError({ code: 'invalid_amount', message: example, request: { amount: 85.5 } })).toBeUndefined();
});

test("shows the request's amount in its currency, and the card's money in the card's currency", () => {
  const values = { amount: 1250, available: 65968 };
  expect(shownValues(values, 'USD', 'JPY').map(({ text }) => text)).toEqual(['1,250 JPY', '659.68 USD']);
});

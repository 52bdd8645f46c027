import { expect, test } from 'vitest';
import { EMPTY_FORM, problemsOf, toExplainBody, typedAmountOf } from './explain-form.ts';

test("omits empty fields, and sends the amount in the card's currency", () => {
  const form = { ...EMPTY_FORM, card_id: ' card_1 ', amount: '12.5' };
  expect(toExplainBody(form, 'USD')).toEqual({ card_id: 'card_1', amount: 1250 });
  expect(toExplainBody(form, 'KWD')).toEqual({ card_id: 'card_1', amount: 12_500 });
  expect(toExplainBody(form, 'JPY')).toBeUndefined();
  expect(problemsOf(form)).toEqual({});
  expect(problemsOf(form, 'JPY')).toEqual({ amount: 'Enter an amount in JPY, such as 125.' });
  expect(
    toExplainBody(
      {
        ...EMPTY_FORM,
        type: 'card_to_card',
        card_id: 'card_1',
        destination_card_id: 'card_2',
        amount: '1,200',
        currency: 'JPY',
        capture: 'manual',
        reference: 'order 1',
      },
      'JPY',
    ),
  ).toEqual({
    type: 'card_to_card',
    card_id: 'card_1',
    destination_card_id: 'card_2',
    amount: 1200,
    currency: 'JPY',
    capture: 'manual',
    reference: 'order 1',
  });
});

test("shows the minor units given in the page's link as an amount once the currency is known", () => {
  const form = { ...EMPTY_FORM, card_id: 'a', minor_units: '1250' };
  expect(typedAmountOf(form, undefined)).toBe('');
  expect(typedAmountOf(form, 'USD')).toBe('12.50');
  expect(typedAmountOf({ ...form, amount: '3' }, 'USD')).toBe('3');
  expect(problemsOf(form)).toEqual({});
  expect(toExplainBody(form, 'JPY')).toEqual({ card_id: 'a', amount: 1250 });
});

test('omits the receiving card unless the type needs one', () => {
  const form = { ...EMPTY_FORM, card_id: 'a', destination_card_id: 'b', amount: '1', type: 'unload' };
  expect(toExplainBody(form, 'USD')).toEqual({ card_id: 'a', amount: 100, type: 'unload' });
});

test('sends nothing while a field is missing or wrong, and says why next to each field', () => {
  expect(Object.keys(problemsOf(EMPTY_FORM))).toEqual(['card_id', 'amount']);
  expect(toExplainBody(EMPTY_FORM, 'USD')).toBeUndefined();
  const wrong = { ...EMPTY_FORM, card_id: 'a', type: 'card_to_card', amount: 'ten' };
  expect(Object.keys(problemsOf(wrong))).toEqual(['destination_card_id', 'amount']);
});

import { expect, test } from 'vitest';
import { EMPTY_FORM, problemsOf, toExplainBody } from './explain-form.ts';

test('what is left out is not sent', () => {
  expect(toExplainBody({ ...EMPTY_FORM, card_id: ' card_1 ', minor_units: '1250' })).toEqual({
    card_id: 'card_1',
    amount: 1250,
  });
  expect(
    toExplainBody({
      ...EMPTY_FORM,
      type: 'card_to_card',
      card_id: 'card_1',
      destination_card_id: 'card_2',
      minor_units: '0',
      currency: 'JPY',
      capture: 'manual',
      reference: 'order 1',
    }),
  ).toEqual({
    type: 'card_to_card',
    card_id: 'card_1',
    destination_card_id: 'card_2',
    amount: 0,
    currency: 'JPY',
    capture: 'manual',
    reference: 'order 1',
  });
});

test('a receiving card of another type is not sent', () => {
  const form = { ...EMPTY_FORM, card_id: 'a', destination_card_id: 'b', minor_units: '1', type: 'unload' };
  expect(toExplainBody(form)).toEqual({ card_id: 'a', amount: 1, type: 'unload' });
});

test('nothing is sent while a field is missing or wrong, and each says why', () => {
  expect(Object.keys(problemsOf(EMPTY_FORM))).toEqual(['card_id', 'minor_units']);
  expect(toExplainBody(EMPTY_FORM)).toBeUndefined();
  const wrong = { ...EMPTY_FORM, card_id: 'a', type: 'card_to_card', minor_units: '1.5', scheduled_for: 'soon' };
  expect(Object.keys(problemsOf(wrong))).toEqual(['destination_card_id', 'minor_units', 'scheduled_for']);
});

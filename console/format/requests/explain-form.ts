import type { CreateTransferBody } from '../../../sdk/client.ts';
import { decimalsOf, formatDigits, parseAmount } from '../amounts.ts';

/** The fields of the form, as in the URL. Missing fields are empty. */
export type ExplainForm = { readonly [Name in keyof typeof EMPTY_FORM]: string };

/** An empty form: a load in the card's currency, captured automatically. */
export const EMPTY_FORM = {
  type: '',
  card_id: '',
  destination_card_id: '',
  /** As people write it, in the card's currency: `12.50`. */
  amount: '',
  /** The same amount in minor units, for links from screens that don't know the card's currency. */
  minor_units: '',
  currency: '',
  capture: '',
  /** ISO 8601. */
  scheduled_for: '',
  reference: '',
};

/** Returns the body of explain_transfer for a card in this currency, or undefined while a required field is empty or wrong. */
export function toExplainBody(form: ExplainForm, currency: string): CreateTransferBody | undefined {
  const amount = amountOf(form, currency);
  if (amount === undefined || Object.keys(problemsOf(form)).length > 0) return undefined;
  const { type, card_id, destination_card_id, capture, scheduled_for, reference } = form;
  return {
    card_id: card_id.trim(),
    amount,
    ...(type === 'unload' || type === 'card_to_card' ? { type } : {}),
    ...(type === 'card_to_card' ? { destination_card_id: destination_card_id.trim() } : {}),
    ...(form.currency === '' ? {} : { currency: form.currency }),
    ...(capture === 'manual' ? { capture } : {}),
    ...(scheduled_for === '' ? {} : { scheduled_for }),
    ...(reference === '' ? {} : { reference }),
  };
}

function amountOf({ amount, minor_units: sent }: ExplainForm, currency: string): number | undefined {
  return amount === '' && MINOR_UNITS.test(sent) ? Number(sent) : parseAmount(amount, currency);
}

/** Returns the text of the amount field, once the currency is known. */
export function typedAmountOf({ amount, minor_units: sent }: ExplainForm, currency: string | undefined): string {
  return amount === '' && currency !== undefined && MINOR_UNITS.test(sent) ? formatDigits(sent, currency) : amount;
}

const MINOR_UNITS = /^\d{1,15}$/;

/** An amount as people write it, in any currency. */
const WRITTEN = /^\s*(\d{1,3}(,\d{3})+|\d{1,15})(\.\d*)?\s*$/;

/** Returns the problems of the form by field, except for problems that the service explains. */
export function problemsOf(form: ExplainForm, currency?: string): { readonly [Name in keyof ExplainForm]?: string } {
  const problems: { -readonly [Name in keyof ExplainForm]?: string } = {};
  if (form.card_id.trim() === '') problems.card_id = 'Enter the id of a card.';
  if (form.type === 'card_to_card' && form.destination_card_id.trim() === '') {
    problems.destination_card_id = 'Enter the id of the card that receives the money.';
  }
  const isWritten = currency === undefined ? WRITTEN.test(form.amount) : amountOf(form, currency) !== undefined;
  if (!isWritten && !(form.amount === '' && MINOR_UNITS.test(form.minor_units))) {
    problems.amount = `Enter an amount${currency === undefined ? '' : ` in ${currency}`}, such as ${exampleOf(currency)}.`;
  }
  return problems;
}

function exampleOf(currency = 'USD'): string {
  return formatDigits(125n * 10n ** BigInt(decimalsOf(currency)), currency);
}

import type { CreateTransferBody } from '../../../sdk/client.ts';
import { toIso } from '../times.ts';

/** What the form of a transfer has, as it is in the URL: empty for what is left out. */
export type ExplainForm = { readonly [Name in keyof typeof EMPTY_FORM]: string };

/** Nothing filled in: a load of the card's currency, captured at once. */
export const EMPTY_FORM = {
  type: '',
  card_id: '',
  destination_card_id: '',
  /** The amount in minor units, as in the API: its decimals depend on the card's currency, which may not be known. */
  minor_units: '',
  currency: '',
  capture: '',
  /** In the time zone of the reader, as date fields have it. */
  scheduled_for: '',
  reference: '',
};

/** The body of explain_transfer; undefined while a field that it needs is empty or wrong. */
export function toExplainBody(form: ExplainForm): CreateTransferBody | undefined {
  if (Object.keys(problemsOf(form)).length > 0) return undefined;
  const { type, card_id, destination_card_id, minor_units, currency, capture, scheduled_for, reference } = form;
  const moment = toIso(scheduled_for);
  return {
    card_id: card_id.trim(),
    amount: Number(minor_units),
    ...(type === 'unload' || type === 'card_to_card' ? { type } : {}),
    ...(type === 'card_to_card' ? { destination_card_id: destination_card_id.trim() } : {}),
    ...(currency === '' ? {} : { currency }),
    ...(capture === 'manual' ? { capture } : {}),
    ...(moment === undefined ? {} : { scheduled_for: moment }),
    ...(reference === '' ? {} : { reference }),
  };
}

/** What is wrong with the form, by field; what the service itself explains is left to it. */
export function problemsOf(form: ExplainForm): { readonly [Name in keyof ExplainForm]?: string } {
  const problems: { -readonly [Name in keyof ExplainForm]?: string } = {};
  if (form.card_id.trim() === '') problems.card_id = 'Type the id of a card.';
  if (form.type === 'card_to_card' && form.destination_card_id.trim() === '') {
    problems.destination_card_id = 'Type the id of the card that receives the money.';
  }
  if (!/^\d{1,15}$/.test(form.minor_units)) problems.minor_units = 'Type a whole number, such as 1250 for 12.50 USD.';
  if (form.scheduled_for !== '' && toIso(form.scheduled_for) === undefined) {
    problems.scheduled_for = 'Type a date and a time.';
  }
  return problems;
}

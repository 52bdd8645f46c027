import type { CardRecord, WebhookRecord } from '../../sdk/client.ts';

/** What people call a card: `employee 7 ··4242`; undefined if only its id is known. */
export function nameOfCard({
  holder_reference: holder,
  last_four: digits,
}: Pick<CardRecord, 'holder_reference' | 'last_four'>): string | undefined {
  const known = [holder, digits === null ? null : `··${digits}`].filter((part) => part !== null);
  return known.length === 0 ? undefined : known.join(' ');
}

/** What people call a webhook: its description, else where it sends, without the scheme and the query. */
export function nameOfWebhook({ description, url }: Pick<WebhookRecord, 'description' | 'url'>): string {
  return description ?? url.replace(/^[a-z]+:\/\//i, '').replace(/[?#].*$/s, '');
}

/** The names of actors of the audit log without a key. */
const ACTORS: ReadonlyMap<string, string> = new Map([
  ['sandbox', 'A local caller'],
  ['host', 'A command on the host'],
  ['anonymous', 'An unknown caller'],
]);

/** The name of an actor without a key; undefined for the id of a key. */
export function nameOfActor(actor: string): string | undefined {
  return ACTORS.get(actor);
}

/** A text with a capital letter at its beginning. */
export function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

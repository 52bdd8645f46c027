import type { CardRecord, WebhookRecord } from '../../sdk/client.ts';

/** Returns the name of a card: `employee 7 ··4242`. Undefined if only its id is known. */
export function nameOfCard({
  holder_reference: holder,
  last_four: digits,
}: Pick<CardRecord, 'holder_reference' | 'last_four'>): string | undefined {
  const known = [holder, digits === null ? null : `··${digits}`].filter((part) => part !== null);
  return known.length === 0 ? undefined : known.join(' ');
}

/** Returns the name of a webhook: its description, or else its URL without scheme and query. */
export function nameOfWebhook({ description, url }: Pick<WebhookRecord, 'description' | 'url'>): string {
  return description ?? url.replace(/^[a-z]+:\/\//i, '').replace(/[?#].*$/s, '');
}

/** The names of actors in the audit log that have no key. */
const ACTORS: ReadonlyMap<string, string> = new Map([
  ['sandbox', 'A local caller'],
  ['host', 'A command on the host'],
  ['service', 'The service'],
  ['anonymous', 'An unknown caller'],
]);

/** Returns the name of an actor without a key, or undefined for the id of a key. */
export function nameOfActor(actor: string): string | undefined {
  return ACTORS.get(actor);
}

/** Capitalizes the first letter. */
export function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

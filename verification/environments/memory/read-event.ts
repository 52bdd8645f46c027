import { payloadOf } from '../../../test/fixtures/stored-events.ts';
import type { StoredRow } from '../memory-store/parameters.ts';

/** An event with its parsed payload. */
export type ReadEvent = { readonly event: StoredRow; readonly record: Readonly<Record<string, unknown>> };

/**
 * Whether an event, or an entry of the audit log, is about a webhook. Operators change webhooks, so each change has
 * both.
 */
export function isOfWebhook({ event }: ReadEvent): boolean {
  return String(event.type ?? event.action).includes('webhook');
}

/** An entry of the audit log, in the form of an event. */
export function readEntry(event: StoredRow): ReadEvent {
  return { event, record: JSON.parse(String(event.details)) };
}

export function read(event: StoredRow): ReadEvent {
  return { event, record: JSON.parse(payloadOf(event)) };
}

/** Whether an event shows a program and its funds correctly. */
export function showsProgram({ record }: ReadEvent, program: StoredRow, funds: readonly StoredRow[]): boolean {
  const { name, funding_low_threshold: threshold } = program;
  const funding = funds
    .map(({ currency, balance, held }) => {
      const available = (balance as bigint) - (held as bigint);
      return { currency, balance: Number(balance), available: Number(available) };
    })
    .sort((one, other) => (String(one.currency) < String(other.currency) ? -1 : 1));
  return (
    record.name === name &&
    record.funding_low_threshold === (threshold === null ? null : Number(threshold)) &&
    JSON.stringify(record.funding) === JSON.stringify(funding) &&
    sameLimits(record.limits, program.limits) &&
    sameLimits(record.card_limits, program.card_limits)
  );
}

/** Compares the limits of an event with the stored ones. Null and an empty set are equal. */
function sameLimits(shown: unknown, stored: unknown): boolean {
  const plain = (limits: unknown): string =>
    JSON.stringify(
      Object.entries(limits ?? {})
        .map(([name, value]) => [name, sorted(value)])
        .filter(([, value]) => value !== '[]')
        .sort(),
    );
  return plain(shown) === plain(stored);
}

/** A value as text, with the members of objects sorted. */
export function sorted(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return JSON.stringify(Object.entries(value).sort());
}

import { isTypeOrGroup } from '../../../domain/event.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type CallContext, schemaRefusal } from '../../calls/call.ts';
import type { AddressRules } from './addresses.ts';

/** Refuses a URL to which nothing may be sent. */
export function checkUrl({ findUrlProblem }: AddressRules, url: string): void {
  const problem = findUrlProblem(url);
  if (problem !== undefined) throw new Refusal('webhook_url_refused', problem, { field: '/url' });
}

/** The types and groups of a request, each once. Refuses what is neither. */
export function readTypes(call: CallContext, types: readonly unknown[]): readonly string[] {
  const unknown = types.findIndex((type) => typeof type !== 'string' || !isTypeOrGroup(type));
  if (unknown === -1) return [...new Set(types as readonly string[])];
  const message =
    `Item ${unknown + 1} of 'types' is neither a type of event nor a group of types such as 'transfer.*'. ` +
    'All types are at /events.';
  throw schemaRefusal(call, message, `/types/${unknown}`);
}

import { Refusal } from '../../domain/refusal.ts';
import type { Period } from '../store/ledger/statement.ts';
import type { Call } from './call.ts';

/** The time that a query asks for, or the refusal of one in which nothing can be. */
export function readPeriod(
  call: Call,
  query: { readonly created_from?: string; readonly created_to?: string },
): Period {
  const { created_from: from, created_to: to } = query;
  if (from !== undefined && to !== undefined && Date.parse(from) >= Date.parse(to)) {
    const message = `'created_to' must be later than 'created_from', but it is '${to}', and 'created_from' is '${from}'.`;
    throw new Refusal(`${call.operation}_schema`, message, { field: '/created_to' });
  }
  return { from: toDate(from), to: toDate(to) };
}

function toDate(text: string | undefined): Date | null {
  return text === undefined ? null : new Date(text);
}

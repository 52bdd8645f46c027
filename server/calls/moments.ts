import type { Period } from '../store/ledger/statement.ts';
import { type CallContext, schemaRefusal } from './call.ts';

/** A moment in the body that must be in the future; null if it was omitted. */
export function readFuture(call: CallContext, name: string, sent: string | undefined, now: number): Date | null {
  if (sent === undefined) return null;
  const moment = Date.parse(sent);
  if (moment > now) return new Date(moment);
  throw schemaRefusal(call, `'${name}' is '${sent}', which is not in the future.`, `/${name}`);
}

/** The period of a query. An empty one is refused. */
export function readPeriod(
  call: CallContext,
  query: { readonly created_from?: string; readonly created_to?: string },
): Period {
  const { created_from: from, created_to: to } = query;
  if (from !== undefined && to !== undefined && Date.parse(from) >= Date.parse(to)) {
    const message = `'created_to' must be later than 'created_from', but it is '${to}', and 'created_from' is '${from}'.`;
    throw schemaRefusal(call, message, '/created_to');
  }
  return { from: toDate(from), to: toDate(to) };
}

function toDate(text: string | undefined): Date | null {
  return text === undefined ? null : new Date(text);
}

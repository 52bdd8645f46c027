import { Refusal } from '../../domain/refusal.ts';
import type { Call } from './call.ts';

/** A moment that a member of the body names and that must not have come yet; null where it is left out. */
export function readFuture(call: Call, name: string, sent: string | undefined, now: number): Date | null {
  if (sent === undefined) return null;
  const moment = Date.parse(sent);
  if (moment > now) return new Date(moment);
  const message = `'${name}' is '${sent}', which is not in the future.`;
  throw new Refusal(`${call.operation}_schema`, message, { field: `/${name}` });
}

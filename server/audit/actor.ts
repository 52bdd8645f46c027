import { toWireId } from '../../domain/identifier.ts';
import type { Caller } from '../operations/call.ts';

/** The operator that asks for something, as {@link actorOf} names them; null when a card program does, or nobody. */
export function operatorOf(caller: Caller): string | null {
  return caller.kind === 'operator_key' ? actorOf(caller) : null;
}

/** Who did something, as it is recorded with what was done. */
export function actorOf(caller: Caller): string {
  return caller.kind === 'sandbox' || caller.kind === 'host' ? caller.kind : toWireId('key', caller.keyId);
}

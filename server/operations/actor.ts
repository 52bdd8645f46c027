import { toWireId } from '../../domain/identifier.ts';
import type { Caller } from './call.ts';

/** Who did something, as it is recorded with what was done. */
export function actorOf(caller: Caller): string {
  return caller.kind === 'sandbox' || caller.kind === 'host' ? caller.kind : toWireId('key', caller.keyId);
}

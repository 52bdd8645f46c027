import { fromWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import { findEvent, type StoredEvent } from '../store/events/read-events.ts';
import { toOperationFailure } from './read-rows.ts';
import type { Service } from './service.ts';

/** The event with an id on the wire, of one card program or, without one, any. Throws `event_not_found`. */
export async function loadEvent({ database }: Service, sentId: string, programId?: string): Promise<StoredEvent> {
  const eventId = fromWireId('evt', sentId);
  const event =
    eventId === undefined
      ? undefined
      : await findEvent(database, eventId, programId).catch((error) => Promise.reject(toOperationFailure(error)));
  if (event !== undefined) return event;
  const hint = eventId === undefined ? ' An event id is evt_ and 32 hex digits.' : '';
  const where = programId === undefined ? '' : ' in this card program';
  throw new Refusal('event_not_found', `There is no event with the id '${sentId}'${where}.${hint}`);
}

import { fromWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import { toOperationFailure } from '../commit/transaction.ts';
import type { Call, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { findEvent, type StoredEvent } from '../store/events/read-events.ts';
import { writeEvent } from './event-text.ts';

/** get_event: an event of the card program. Events of other programs, or of the service, are `event_not_found`. */
export async function getEvent(service: Service, call: Call<'get_event'>): Promise<Reply<'get_event'>> {
  return { json: writeEvent(await loadEvent(service, call.params.event_id, call.programId)) };
}

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
